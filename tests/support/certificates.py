"""Certificates made by openssl."""

import contextlib
import ssl
import subprocess
from pathlib import Path

from support.environment import TIMEOUT


def openssl(*arguments):
    subprocess.run(["openssl", *map(str, arguments)], capture_output=True, timeout=TIMEOUT, check=True)


class Authority:
    """Signs certificates for localhost and 127.0.0.1: files NAME.pem and NAME.key in a folder."""

    def __init__(self, folder, name="ca"):
        self.folder = Path(folder)
        self.certificate = self.folder / f"{name}.pem"
        self.key = self.folder / f"{name}.key"
        self._new_key(self.key)
        openssl("req", "-x509", "-new", "-key", self.key, "-out", self.certificate, "-days", "2", "-subj", f"/CN={name}")

    def issue(self, name, subject="/CN=localhost"):
        """Returns certificate and key. Replaces files of that name, each by a rename."""
        certificate, key = self.folder / f"{name}.pem", self.folder / f"{name}.key"
        request, names = self.folder / f"{name}.csr", self.folder / f"{name}.ext"
        names.write_text("subjectAltName = DNS:localhost, IP:127.0.0.1\n", encoding="utf-8")
        new_key, new_certificate = key.with_suffix(".key.new"), certificate.with_suffix(".pem.new")
        self._new_key(new_key)
        openssl("req", "-new", "-key", new_key, "-out", request, "-subj", subject)
        openssl("x509", "-req", "-in", request, "-CA", self.certificate, "-CAkey", self.key, "-CAcreateserial",
                "-extfile", names, "-out", new_certificate, "-days", "2")  # fmt: skip
        new_key.rename(key)
        new_certificate.rename(certificate)
        return certificate, key

    @staticmethod
    def _new_key(path):
        openssl("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", path)


def tls_flags(certificate, key, *protocols):
    """Flags for TLS listeners of the server, on free ports."""
    flags = []
    for protocol in protocols:
        flags += [f"--{protocol}-tls", "127.0.0.1:0", f"--{protocol}-tls-certificate", certificate]
        flags += [f"--{protocol}-tls-key", key]
    return flags


def client_hello():
    """The first bytes that a TLS client sends."""
    outgoing = ssl.MemoryBIO()
    client = ssl.create_default_context().wrap_bio(ssl.MemoryBIO(), outgoing, server_hostname="localhost")
    with contextlib.suppress(ssl.SSLWantReadError):
        client.do_handshake()
    return outgoing.read()
