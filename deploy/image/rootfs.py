"""The root file system of the image: the binary, what it needs of Debian packages, and its settings."""

import hashlib
import os
import re
import stat
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

import debian

USER = 65532
ROOT = Path(__file__).resolve().parents[2]
CERTIFICATES = "etc/ssl/certs/ca-certificates.crt"


@dataclass(frozen=True)
class Entry:
    """A file, a folder (no content and no target) or a symbolic link."""

    path: str  # Without a slash at its beginning.
    content: bytes | None = None
    target: str | None = None
    mode: int = 0o644
    user: int = 0
    package: debian.Package | None = None  # None: ours.

    def is_folder(self):
        return self.content is None and self.target is None


class Tree:
    """Entries by their paths. Folders are created as needed."""

    def __init__(self):
        self.entries = {}

    def add(self, entry):
        known = self.entries.get(entry.path)
        if known == entry or (known and known.is_folder() and entry.is_folder()):
            return
        if known:
            raise SystemExit(f"/{entry.path}: there are two of it")
        for parent in list(Path(entry.path).parents)[-2::-1]:
            self.entries.setdefault(str(parent), Entry(str(parent), mode=0o755))
        self.entries[entry.path] = entry

    def add_debian(self, path):
        """An installed file, or a symbolic link with its target."""
        path = Path(debian.names_of(path)[1])
        inside, its = str(path.relative_to("/")), debian.owner(path)
        if path.is_symlink():
            target = os.readlink(path)
            self.add(Entry(inside, target=target, mode=0o777, package=its))
            self.add_debian(Path(os.path.normpath(path.parent / target)))
        else:
            mode = 0o755 if path.stat().st_mode & stat.S_IXUSR else 0o644
            self.add(Entry(inside, debian.read(path), mode=mode, package=its))

    def add_description(self, its):
        """A package's license, and its entry in Debian's database, where scanners look for packages."""
        self.add(Entry(f"usr/share/doc/{its.name}/copyright", its.copyright_file().read_bytes(), package=its))
        self.add(Entry(f"var/lib/dpkg/status.d/{its.name}", its.control.encode(), package=its))

    def packages(self):
        return sorted({entry.package for entry in self.entries.values() if entry.package}, key=lambda each: each.name)

    def sorted(self):
        return [self.entries[path] for path in sorted(self.entries)]

    def write(self, folder):
        """Writes all entries below a folder. Only root can give files to others."""
        for entry in self.sorted():
            path = Path(folder, entry.path)
            if entry.target is not None:
                path.symlink_to(entry.target)
                continue
            if entry.is_folder():
                path.mkdir(exist_ok=True)
            else:
                path.write_bytes(entry.content)
            path.chmod(entry.mode)
            if entry.user and os.geteuid() == 0:
                os.chown(path, entry.user, entry.user)


def libraries_of(binary):
    """The shared libraries that the dynamic linker loads with a binary, and the linker itself."""
    paths = []
    for line in debian.run("ldd", binary).splitlines():
        if "not found" in line:
            raise SystemExit(f"{binary}: {line.strip()}")
        if found := re.search(r"(?:=> )?(/\S+) \(0x", line):
            paths.append(Path(found[1]))
    return paths


def stripped(binary):
    with tempfile.NamedTemporaryFile() as copy:
        subprocess.run(["strip", "--strip-all", "-o", copy.name, binary], check=True)
        return Path(copy.name).read_bytes()


def debian_tree(binary):
    """What the binary needs of Debian packages: the first layer, which changes rarely."""
    tree = Tree()
    for name in ("lib", "lib64"):
        tree.add(Entry(name, target=f"usr/{name}", mode=0o777))
    for path in libraries_of(binary):
        tree.add_debian(path)
    tree.add_debian("/usr/lib/os-release")  # Scanners learn from it which distribution the packages are of.
    tree.add(Entry("etc/os-release", target="../usr/lib/os-release", mode=0o777, package=debian.package("base-files")))
    # As update-ca-certificates makes it, with all authorities of the package.
    certificates = debian.files_of("ca-certificates", r"/usr/share/ca-certificates/.*\.crt")
    bundle = b"".join(debian.read(path).rstrip(b"\n") + b"\n" for path in certificates)
    tree.add(Entry(CERTIFICATES, bundle, package=debian.package("ca-certificates")))
    tree.add(Entry("usr/lib/ssl/cert.pem", target=f"/{CERTIFICATES}", mode=0o777))
    for its in tree.packages():
        tree.add_description(its)
    for name in ("dev", "proc", "run", "sys"):
        tree.add(Entry(name, mode=0o755))
    tree.add(Entry("tmp", mode=0o1777))
    tree.add(Entry("etc/nsswitch.conf", b"hosts: files dns\n"))
    return tree


def sluice_tree(binary, linked):
    """The program and its files: the second layer. `linked`: packages whose code is part of the binary."""
    tree = Tree()
    for its in linked:
        tree.add_description(its)
    settings = (ROOT / "deploy/image/sluice.yaml").read_bytes()
    rules = (ROOT / "src/server/example_rules.yaml").read_bytes()
    accounts = ("root", 0, "/root"), ("sluice", USER, "/var/lib/sluice")
    tree.add(Entry("usr/bin/sluice", stripped(binary), mode=0o755))
    tree.add(Entry("etc/sluice/sluice.yaml", settings))
    tree.add(Entry("etc/sluice/rules.yaml", rules))
    tree.add(Entry("usr/share/doc/sluice/copyright", (ROOT / "LICENSE").read_bytes()))
    passwd = "".join(f"{name}:x:{number}:{number}:{name}:{home}:/sbin/nologin\n" for name, number, home in accounts)
    tree.add(Entry("etc/passwd", passwd.encode()))
    tree.add(Entry("etc/group", "".join(f"{name}:x:{number}:\n" for name, number, _ in accounts).encode()))
    tree.add(Entry("var/lib/sluice", mode=0o750, user=USER))
    return tree


def sha256(content):
    return hashlib.sha256(content).hexdigest()
