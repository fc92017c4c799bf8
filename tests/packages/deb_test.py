"""Installs, starts, upgrades and purges the Debian packages in build/packages/ in a clean Debian 12 and a clean Debian 13."""

import hashlib
import os
import shutil
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

from support.debian_root import PACKAGES, TREE, DebianRoot, package, reason_to_skip

CHECK = ("curl", "-sS", "-i", "-H", "X-API-Key: demo-key", "http://127.0.0.1:8080/api/ping")
NEXT_VERSION = "99.0"
TOKEN = "token-of-the-package-test"
HIGHEST_EXPOSURE = 15  # Of 100, as systemd-analyze counts it; it prints tenths.


def make_next_version(deb, directory):
    """The package as a later version that has other settings."""
    tree = Path(directory, "tree")
    subprocess.run(["dpkg-deb", "-R", deb, tree], check=True)
    control = tree / "DEBIAN/control"
    lines = control.read_text(encoding="utf-8").splitlines()
    control.write_text(
        "\n".join(f"Version: {NEXT_VERSION}" if line.startswith("Version:") else line for line in lines) + "\n",
        encoding="utf-8",
    )
    for name in ("sluice.yaml", "rules.yaml"):
        with open(tree / "etc/sluice" / name, "a", encoding="utf-8") as file:
            file.write("# Of the next version.\n")
    made = Path(directory, "next.deb")
    subprocess.run(["dpkg-deb", "--root-owner-group", "-b", tree, made], check=True, stdout=subprocess.DEVNULL)
    return made


class ServerPackage:
    """The tests of a release, for a TestCase with its name as `release`."""

    def setUp(self):
        self.root = DebianRoot(self.release)
        self.addCleanup(self.root.close)
        self.deb = package("sluice_*_amd64.deb")
        self.root.copy(self.deb)
        self.root.boot()

    def read(self, path):
        return (self.root.path / path.lstrip("/")).read_text(encoding="utf-8")

    def assert_answers(self):
        answer = self.root.run(*CHECK).stdout
        self.assertIn(" 200 ", answer.splitlines()[0])
        self.assertIn("x-ratelimit-limit: 100", answer.lower())

    def assert_mallory_is(self, state):
        """As a live entry says, which is part of the server's state."""
        answer = self.root.run("curl", "-sS", "-i", "-H", "X-API-Key: mallory", "http://127.0.0.1:8080/api/ping").stdout
        self.assertIn({"blocked": " 403 ", "allowed": " 200 "}[state], answer.splitlines()[0])

    def test_life_of_the_package(self):
        self.install()
        self.service_is_confined()
        self.secrets_are_read_from_a_private_file()
        self.upgrade_keeps_changed_files()
        self.remove_keeps_settings()
        self.purge_leaves_nothing()

    def install(self):
        begin = time.monotonic()
        self.root.run("apt-get", "install", "-q", "-y", f"/root/{self.deb.name}")
        self.assert_answers()
        print(f"\n{self.release}: apt install to the first answer: {time.monotonic() - begin:.1f} s", flush=True)
        for file in ("share/man/man1/sluice.1.gz", "share/man/man5/sluice-rules.5.gz", "share/bash-completion/completions/sluice"):
            self.assertTrue((self.root.path / "usr" / file).is_file(), file)
        self.assertEqual(self.root.run("systemctl", "is-enabled", "sluice").stdout.strip(), "enabled")

    def service_is_confined(self):
        status = self.root.run("systemctl", "show", "-p", "MainPID", "--value", "sluice").stdout.strip()
        status = self.root.run("cat", f"/proc/{status}/status").stdout
        fields = dict(line.split(":", 1) for line in status.splitlines())
        self.assertNotIn("0", fields["Uid"].split())
        self.assertEqual(fields["NoNewPrivs"].strip(), "1")
        self.assertEqual(fields["Seccomp"].strip(), "2")
        self.assertEqual(int(fields["CapBnd"], 16), 0)
        verified = self.root.run("systemd-analyze", "verify", "--man=no", "sluice.service")
        self.assertEqual(verified.stdout + verified.stderr, "")
        analyzed = self.root.run("systemd-analyze", "security", "--no-pager", f"--threshold={HIGHEST_EXPOSURE}", "sluice.service")
        print(analyzed.stdout.splitlines()[-1], flush=True)

        self.root.run("systemctl", "reload", "sluice")
        self.assert_answers()

    def secrets_are_read_from_a_private_file(self):
        secrets = self.root.path / "etc/default/sluice"
        secrets.touch(mode=0o600)
        secrets.write_text(f"SLUICE_ADMIN_TOKEN={TOKEN}\n", encoding="utf-8")
        self.root.run("systemctl", "restart", "sluice")
        self.assert_mallory_is("allowed")
        self.root.run("env", f"SLUICE_ADMIN_TOKEN={TOKEN}", "sluice", "block", "api_key=mallory", "--wait", "10s")
        self.assert_mallory_is("blocked")
        shown = self.root.run("systemctl", "show", "sluice").stdout + self.root.run("journalctl", "-u", "sluice").stdout
        self.assertNotIn(TOKEN, shown)
        state = self.root.path / "var/lib/private"
        self.assertEqual(state.stat().st_mode & 0o077, 0)
        self.assertTrue(any((state / "sluice").iterdir()))

    def upgrade_keeps_changed_files(self):
        rules = self.root.path / "etc/sluice/rules.yaml"
        rules.write_text(rules.read_text(encoding="utf-8").replace("limit: 100 per minute", "limit: 77 per minute"), encoding="utf-8")
        before = self.root.run("systemctl", "show", "-p", "MainPID", "--value", "sluice").stdout
        with tempfile.TemporaryDirectory() as directory:
            self.root.copy(make_next_version(self.deb, directory))
        self.root.run("apt-get", "install", "-q", "-y", "-o", "Dpkg::Options::=--force-confold", "/root/next.deb")
        self.assertEqual(self.root.run("dpkg-query", "-W", "-f", "${Version}", "sluice").stdout, NEXT_VERSION)
        self.assertIn("77 per minute", self.read("etc/sluice/rules.yaml"))
        self.assertIn("# Of the next version.", self.read("etc/sluice/rules.yaml.dpkg-dist"))
        self.assertIn("# Of the next version.", self.read("etc/sluice/sluice.yaml"))
        self.assertNotEqual(self.root.run("systemctl", "show", "-p", "MainPID", "--value", "sluice").stdout, before)
        self.assertIn("x-ratelimit-limit: 77", self.root.run(*CHECK).stdout.lower())
        self.assert_mallory_is("blocked")

    def remove_keeps_settings(self):
        self.root.run("apt-get", "remove", "-q", "-y", "sluice")
        self.assertNotEqual(self.root.run(*CHECK, check=False).returncode, 0)
        self.assertIn("77 per minute", self.read("etc/sluice/rules.yaml"))

    def purge_leaves_nothing(self):
        # A link that a service which was broken into has left.
        victim = self.root.path / "root/victim"
        victim.mkdir()
        (victim / "file").touch()
        (self.root.path / "var/lib/private/sluice/link").symlink_to("/root/victim")
        self.root.run("apt-get", "purge", "-q", "-y", "sluice")
        left = self.root.run("find", "/etc", "/usr", "/var/lib", "-name", "*sluice*").stdout
        self.assertEqual(left, "")
        self.assertTrue((victim / "file").exists())


@unittest.skipIf(reason_to_skip(), reason_to_skip())
class ServerPackageOnDebian12(ServerPackage, unittest.TestCase):
    release = "bookworm"


@unittest.skipIf(reason_to_skip(), reason_to_skip())
class ServerPackageOnDebian13(ServerPackage, unittest.TestCase):
    release = "trixie"


@unittest.skipIf(reason_to_skip(), reason_to_skip())
class LibraryPackage(unittest.TestCase):
    def test_a_program_is_compiled_with_it_as_pkg_config_says(self):
        root = DebianRoot("bookworm")
        self.addCleanup(root.close)
        deb = package("libsluice-dev_*_amd64.deb")
        root.copy(deb)
        root.copy(TREE / "tests/install_consumer/main.cc")
        root.run("apt-get", "update", "-q")
        root.run("apt-get", "install", "-q", "-y", "--no-install-recommends", "g++", "pkg-config", f"/root/{deb.name}")
        root.run("sh", "-c", "cd /root && g++ -std=c++20 $(pkg-config --cflags sluice) main.cc $(pkg-config --libs sluice) -o main")
        self.assertEqual(root.run("/root/main").stdout, "first allowed, second denied\n")


class Reproducibility(unittest.TestCase):
    def test_packages_made_again_are_equal(self):
        def digests():
            return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in PACKAGES.glob("*.deb")}

        for tool in ("dpkg-buildpackage", "dh", "lintian"):
            if not shutil.which(tool):
                self.skipTest(f"{tool} is not installed")
        first = digests()
        self.assertEqual(len(first), 2, first)
        # The time in the header of the archive, which is the same for both; there may be a commit since.
        epoch = package("sluice_*_amd64.deb").read_bytes()[24:36].decode().strip()
        environment = os.environ | {"SOURCE_DATE_EPOCH": epoch}
        subprocess.run([TREE / "deploy/packages/deb"], check=True, stdout=subprocess.DEVNULL, env=environment)
        self.assertEqual(digests(), first)


if __name__ == "__main__":
    unittest.main()
