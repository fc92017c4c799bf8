"""Files of installed Debian packages."""

import functools
import hashlib
import platform
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

DATABASE = Path("/var/lib/dpkg/info")


def run(*command):
    return subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, text=True, check=True).stdout


@functools.cache
def distribution():
    """The name of this system: debian-12."""
    return platform.freedesktop_os_release()["ID"] + "-" + platform.freedesktop_os_release()["VERSION_ID"]


@dataclass(frozen=True)
class Package:
    name: str
    version: str
    architecture: str
    source: str  # The name of its source package.
    source_version: str
    maintainer: str
    homepage: str
    control: str  # Its paragraph in dpkg's database.

    def copyright_file(self):
        return Path("/usr/share/doc", self.name, "copyright")


@functools.cache
def package(name):
    fields = (
        "Package", "Version", "Architecture", "source:Package", "source:Version", "Maintainer", "Homepage",
    )  # fmt: skip
    values = run("dpkg-query", "-W", "-f", "".join(f"${{{field}}}\\n" for field in fields), name).split("\n")
    return Package(*values[: len(fields)], control=run("dpkg-query", "-s", name))


def names_of(path):
    """A file's names with and without the link from /lib to /usr/lib: dpkg knows one of them."""
    short = re.sub(r"^/usr/(lib\d*)/", r"/\1/", str(path))
    return (short, re.sub(r"^/(lib\d*)/", r"/usr/\1/", short))


@functools.cache
def owners():
    """The names of the packages of all installed files."""
    found = {}
    for path in DATABASE.glob("*.list"):
        for line in path.read_text(encoding="utf-8").splitlines():
            found[line] = path.stem
    return found


def owner(path):
    """The package that an installed file belongs to."""
    for name in names_of(path):
        if name in owners():
            return package(owners()[name])
    raise SystemExit(f"{path}: no Debian package has this file")


@functools.cache
def checksums(name, architecture):
    for path in (DATABASE / f"{name}:{architecture}.md5sums", DATABASE / f"{name}.md5sums"):
        if path.is_file():
            lines = path.read_text(encoding="utf-8").splitlines()
            return {f"/{file}": digest for digest, file in (line.split("  ", 1) for line in lines)}
    raise SystemExit(f"{name}: dpkg has no checksums of its files")


def read(path):
    """The content of an installed file, which must be as its package had it."""
    content = Path(path).read_bytes()
    its = owner(path)
    known = checksums(its.name, its.architecture)
    digest = next((known[name] for name in names_of(path) if name in known), None)
    if digest != hashlib.md5(content, usedforsecurity=False).hexdigest():
        raise SystemExit(f"{path} is not the file of the package {its.name}: reinstall the package")
    return content


def files_of(name, pattern):
    """The installed files of a package that match a regular expression, in order."""
    return [Path(line) for line in sorted(run("dpkg-query", "-L", name).splitlines()) if re.fullmatch(pattern, line)]
