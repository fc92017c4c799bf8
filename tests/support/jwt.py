"""Tokens (JWT) as an identity provider signs them."""

import base64
import json
import subprocess
from pathlib import Path

from support.certificates import openssl
from support.environment import TIMEOUT


def _encode(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=")


class Issuer:
    """Signs with RS256. `public`: the file of its public key."""

    def __init__(self, folder, name):
        self.key, self.public = Path(folder) / f"{name}.key", Path(folder) / f"{name}.pem"
        openssl("genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048", "-out", self.key)
        openssl("pkey", "-in", self.key, "-pubout", "-out", self.public)

    def sign(self, claims):
        text = _encode(b'{"alg":"RS256","typ":"JWT"}') + b"." + _encode(json.dumps(claims).encode())
        signature = subprocess.run(
            ["openssl", "dgst", "-sha256", "-sign", str(self.key)], input=text, capture_output=True, timeout=TIMEOUT, check=True
        ).stdout
        return (text + b"." + _encode(signature)).decode()
