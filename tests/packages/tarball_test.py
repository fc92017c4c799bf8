"""Runs the binary of the tarball in build/packages/ in clean systems, and compares its needs with the documents."""

import re
import subprocess
import tarfile
import tempfile
import unittest
from pathlib import Path

from support.debian_root import TREE, DebianRoot, package, reason_to_skip

TRY = """
set -e
cd /root
{unpack}
mkfifo /root/started
{serve} >/root/started &
grep -q 'Try it' /root/started
{check}
kill $!
wait $!
"""
CHECK = "curl -sSf -H 'X-API-Key: demo-key' http://127.0.0.1:8080/api/ping"
PONG = '{"message":"pong"}'


def documented():
    """The commands of docs/install.md about the tarball, without sudo: unpack, try, copy, start, upgrade."""
    text = (TREE / "docs/install.md").read_text(encoding="utf-8")
    part = re.search(r"\n## Tarball\n(.*?)\n## ", text, re.DOTALL)[1]
    lines = "".join(re.findall(r"```sh\n(.*?)```", part, re.DOTALL)).splitlines()
    return [re.sub(r" +#.*|sudo ", "", line) for line in lines]


class Tarball(unittest.TestCase):
    def test_it_is_tried_installed_and_upgraded_as_documented(self):
        if reason := reason_to_skip():
            self.skipTest(reason)
        version = re.search(r"^project\(sluice VERSION ([\d.]+) ", (TREE / "CMakeLists.txt").read_text(), re.MULTILINE)[1]
        unpack, serve, copy, start, upgrade, restart = documented()
        for release in ("bookworm", "trixie"):
            with self.subTest(release=release):
                root = DebianRoot(release)
                self.addCleanup(root.close)
                root.copy(package("sluice-*-linux-amd64.tar.gz"))
                root.boot()
                self.assertEqual(root.run("sh", "-c", TRY.format(unpack=unpack, serve=serve, check=CHECK)).stdout, PONG)
                root.run("bash", "-ec", f"cd /root\n{copy}\n{start}")
                self.assertEqual(root.run("sh", "-c", CHECK).stdout, PONG)
                self.assertEqual(root.run("sluice", "--version").stdout, f"sluice {version}\n")
                started = root.run("systemctl", "show", "-p", "ExecStart", "--value", "sluice").stdout
                self.assertIn("/usr/local/bin/sluice serve --config /usr/local/etc/sluice/sluice.yaml", started)
                with (root.path / "usr/local/etc/sluice/rules.yaml").open("a", encoding="utf-8") as rules:
                    rules.write("# Changed.\n")
                root.run("bash", "-ec", f"cd /root\n{upgrade}\n{restart}")  # While it runs.
                self.assertEqual(root.run("sh", "-c", CHECK).stdout, PONG)
                self.assertIn("# Changed.", (root.path / "usr/local/etc/sluice/rules.yaml").read_text(encoding="utf-8"))

    def test_the_lowest_glibc_is_the_documented_one(self):
        with tempfile.TemporaryDirectory() as directory, tarfile.open(package("sluice-*-linux-amd64.tar.gz")) as archive:
            archive.extractall(directory)
            [binary] = Path(directory).glob("*/bin/sluice")
            versions = subprocess.run(["readelf", "--wide", "-V", binary], capture_output=True, text=True, check=True).stdout
            needed = subprocess.run(["readelf", "--wide", "-d", binary], capture_output=True, text=True, check=True).stdout
        lowest = max(re.findall(r"\bGLIBC_([\d.]+)", versions), key=lambda one: [int(part) for part in one.split(".")])
        documented = re.search(r"glibc (\d+\.\d+) or newer", (TREE / "docs/install.md").read_text(encoding="utf-8"))
        self.assertEqual(documented[1], lowest)
        self.assertEqual(
            set(re.findall(r"NEEDED.*\[(.*)\]", needed)), {"libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2"}
        )


if __name__ == "__main__":
    unittest.main()
