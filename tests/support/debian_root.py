"""Clean Debian systems in directories, for tests of packages: needs root, mmdebstrap and systemd-nspawn."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from support.environment import wait_until

TREE = Path(__file__).resolve().parents[2]
PACKAGES = TREE / "build/packages"
_DOWNLOADED = TREE / "build/roots"  # Archives of clean roots, made once.
_TIMEOUT = 3600  # Downloads and compilations on a busy machine.


def reason_to_skip():
    """Why there can be no roots here; None: there can."""
    if os.geteuid() != 0:
        return "clean Debian roots need root"
    missing = [tool for tool in ("mmdebstrap", "systemd-nspawn", "nsenter") if not shutil.which(tool)]
    return f"not installed: {', '.join(missing)}" if missing else None


def package(pattern):
    """The one package that matches the pattern, as a path."""
    [path] = PACKAGES.glob(pattern)
    return path


def clean_archive(release):
    """An archive of a clean system of a release, made once."""
    archive = _DOWNLOADED / f"{release}.tar"
    if not archive.exists():
        _DOWNLOADED.mkdir(parents=True, exist_ok=True)
        made = archive.with_suffix(".part.tar")
        subprocess.run(
            ["mmdebstrap", "--variant=apt", "--include=systemd-sysv,dbus,ca-certificates,curl", release, made],
            check=True, timeout=_TIMEOUT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        made.rename(archive)
    return archive


class DebianRoot:
    """A clean system of a release ("bookworm"), with systemd and curl, until it is closed."""

    def __init__(self, release):
        archive = clean_archive(release)
        self.path = Path(tempfile.mkdtemp(prefix=f"{release}-", dir=_DOWNLOADED))
        subprocess.run(["tar", "-xf", archive, "-C", self.path], check=True, timeout=_TIMEOUT)
        self._nspawn = ["systemd-nspawn", "--quiet", "--register=no", "--keep-unit", "--timezone=off"]
        self._nspawn.append(f"--directory={self.path}")
        self._system = None  # The nspawn process of a system that was booted.
        self._first = None  # Its process 1.

    def close(self):
        if self._system:
            self._system.terminate()  # Shuts it down in order.
            self._system.wait(_TIMEOUT)
        shutil.rmtree(self.path)

    def copy(self, file, to="/root"):
        shutil.copy(file, self.path / to.lstrip("/"))

    def boot(self):
        """Starts systemd, in a network of its own: ports of this machine don't matter."""
        with open(self.path / "root/boot.log", "w", encoding="utf-8") as log:
            self._system = subprocess.Popen(
                [*self._nspawn, "--private-network", "--boot"], stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        wait_until(self._is_up, "systemd does not start")

    def _is_up(self):
        children = Path(f"/proc/{self._system.pid}/task/{self._system.pid}/children").read_text(encoding="utf-8").split()
        if not children:
            return False
        self._first = children[0]  # At first it is a process that only prepares the root.
        return self.run("systemctl", "is-system-running", check=False).stdout.strip() in ("running", "degraded")

    def run(self, *command, check=True, options=(), **more):
        """The CompletedProcess of a command in this system, with its output as text. Without systemd it has the network of this
        machine."""
        enter = [*self._nspawn, "--resolv-conf=replace-host", "--pipe", *options, "--"]
        if self._system:
            enter = ["nsenter", f"--target={self._first}", "--mount", "--uts", "--ipc", "--net", "--pid", "--root", "--wd"]
        done = subprocess.run(
            [*enter, "/usr/bin/env", "DEBIAN_FRONTEND=noninteractive", "LC_ALL=C.UTF-8", "PATH=/usr/local/bin:/usr/sbin:/usr/bin", *command],
            capture_output=True, text=True, check=False, timeout=_TIMEOUT, stdin=subprocess.DEVNULL, **more,
        )  # fmt: skip
        if check and done.returncode != 0:
            raise AssertionError(f"{' '.join(command)}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
        return done
