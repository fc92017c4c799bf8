"""Makes the container image of a release build, without a container engine.

build.py --build BUILD --out FOLDER   writes sluice-VERSION-image-amd64.tar (an OCI layout, also for `docker load`) and
                                      sluice-VERSION-image-amd64.spdx.json to FOLDER
build.py --build BUILD --root FOLDER  writes the root file system to FOLDER: for the Dockerfile

SOURCE_DATE_EPOCH is the time of everything in the image; by default that of the last commit, else 0."""

import argparse
import datetime
import os
import platform
import re
import subprocess
from pathlib import Path

import debian
import oci
import rootfs
import sbom

SBOM = "usr/share/doc/sluice/sbom.spdx.json"
PORTS = (8080, 6380, 8081)


def git(*arguments):
    """The output of git; empty: this is no repository, or there is no git."""
    try:
        command = ["git", "-C", rootfs.ROOT, *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def labels(version, created):
    values = {
        "title": "sluice",
        "description": "A distributed rate limiter",
        "version": version,
        "created": created,
        "licenses": "MIT",
        "revision": os.environ.get("SLUICE_REVISION") or git("rev-parse", "HEAD"),
    }
    return {f"org.opencontainers.image.{name}": value for name, value in values.items() if value}


def config(version, created):
    return {
        "architecture": "amd64",
        "os": "linux",
        "created": created,
        "config": {
            "User": f"{rootfs.USER}:{rootfs.USER}",
            "Env": [
                "PATH=/usr/bin",
                f"SSL_CERT_FILE=/{rootfs.CERTIFICATES}",
                "SLUICE_CONFIG=/etc/sluice/sluice.yaml",
            ],
            "Entrypoint": ["/usr/bin/sluice"],
            "Cmd": ["serve"],
            "WorkingDir": "/",
            "ExposedPorts": {f"{port}/tcp": {} for port in PORTS},
            "Volumes": {"/var/lib/sluice": {}},
            "StopSignal": "SIGTERM",
            "Labels": labels(version, created),
        },
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, required=True, help="a build directory of the preset release")
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument("--out", type=Path, help="the folder of the image")
    where.add_argument("--root", type=Path, help="an empty folder for the root file system")
    arguments = parser.parse_args()
    if platform.machine() != "x86_64":
        parser.error("the image is for amd64, and is made on such a machine")
    binary = arguments.build / "bin/sluice"
    version = debian.run(binary, "--version").split()[1]
    if not re.fullmatch(r"\d+\.\d+\.\d+\S*", version):
        parser.error(f"{binary}: unexpected version {version!r}")
    epoch = int(os.environ.get("SOURCE_DATE_EPOCH") or git("log", "-1", "--format=%ct") or 0)
    created = datetime.datetime.fromtimestamp(epoch, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")

    base, own = rootfs.debian_tree(binary), rootfs.sluice_tree(binary)
    archives = sbom.linked_archives(arguments.build)
    bill = sbom.document(version, created, [*base.sorted(), *own.sorted()], archives)
    own.add(rootfs.Entry(SBOM, bill))
    if arguments.root:
        arguments.root.mkdir(parents=True, exist_ok=True)
        if any(arguments.root.iterdir()):
            parser.error(f"{arguments.root} is not empty")
        base.write(arguments.root)
        own.write(arguments.root)
        return
    layout = oci.Layout()
    layers = (("Debian packages", base.sorted()), (f"sluice {version}", own.sorted()))
    digest = layout.image("sluice", version, layers, config(version, created), labels(version, created), epoch)
    arguments.out.mkdir(parents=True, exist_ok=True)
    path = arguments.out / f"sluice-{version}-image-amd64.tar"
    path.write_bytes(layout.archive(epoch))
    path.with_suffix(".spdx.json").write_bytes(bill)
    print(f"{path}\n{path.with_suffix('.spdx.json')}\n{digest}")


if __name__ == "__main__":
    main()
