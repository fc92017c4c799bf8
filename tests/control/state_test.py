"""Rules in a file and in a state directory: starts, restarts, disks that are full or can't be written."""

import os
import shutil
import subprocess
import unittest

from support.control import ControlTest, rules
from support.environment import wait_until
from support.files import write_rules
from support.sluice import run_sluice


def fill(path):
    """Writes a file until the disk is full."""
    file = os.open(path, os.O_CREAT | os.O_WRONLY)
    try:
        while os.write(file, b"x" * 4096):
            pass
    except OSError:
        pass
    finally:
        os.close(file)


class FileSource(ControlTest):
    def test_changes_are_refused_and_the_file_is_named(self):
        server = self.serve(rules=rules(3))
        for method, path in (
            ("PUT", "/admin/v1/rules"),
            ("PUT", "/admin/v1/rules/api"),
            ("DELETE", "/admin/v1/tiers/pro"),
            ("POST", "/admin/v1/rules/versions/1/restore"),
        ):
            body = rules(4) if method == "PUT" else None
            response = server.request(method, path, body, {"Content-Type": "application/yaml", "If-Match": "*"})
            self.assert_problem(response, 409, "READ_ONLY_SOURCE")
            self.assertIn(str(self.folder / "rules.yaml"), response.json()["detail"])
        self.assertEqual(self.limit_of(server), "3")


class StateDirectory(ControlTest):
    def test_versions_survive_a_restart_and_a_crash(self):
        server = self.serve_store(rules=rules(3))
        self.commit(server, rules(5))
        server.kill()
        server = self.serve_store(rules=rules(9))
        self.assertEqual(self.limit_of(server), "5")
        self.assertEqual([version["version"] for version in self.versions(server)], ["1.2", "1.1"])
        self.assertTrue(wait_until(lambda: server.log_lines("rules file is ignored", "1.2")))
        self.assert_chain(server)

    def test_the_start_names_the_source_and_the_version(self):
        flags = ("--rules-source", "store", "--state-dir", self.folder / "state")
        write_rules(self.folder, rules(3))
        process = subprocess.Popen(
            [os.environ["SLUICE"], "serve", "--http", "127.0.0.1:0", "--resp", "none", "--grpc", "none",
             "--rules", self.folder / "rules.yaml", *flags],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )  # fmt: skip
        with process:
            line = next(line for line in process.stdout if line.startswith("rules "))
            process.terminate()
        self.assertIn("state directory", line)
        self.assertIn("version 1.1", line)

    def test_one_process_has_a_directory(self):
        self.serve_store(rules=rules(3))
        second = run_sluice(
            "serve", "--rules-source", "store", "--state-dir", self.folder / "state", "--http", "127.0.0.1:0",
            "--resp", "none", "--grpc", "none",
        )  # fmt: skip
        self.assertEqual(second.returncode, 1)
        self.assertIn("state_dir", second.stderr)

    def test_without_a_usable_directory_the_server_does_not_start(self):
        (self.folder / "file").write_text("", encoding="utf-8")
        completed = run_sluice(
            "serve", "--rules-source", "store", "--state-dir", self.folder / "file", "--http", "127.0.0.1:0",
            "--resp", "none", "--grpc", "none",
        )  # fmt: skip
        self.assertEqual(completed.returncode, 1)
        self.assertIn("state_dir", completed.stderr)

    def test_an_invalid_file_can_not_fill_an_empty_store_but_is_ignored_later(self):
        write_rules(self.folder, "rules: [{ id: api, limitt: 3 }]\n")
        flags = ("--rules-source", "store", "--state-dir", self.folder / "state", "--rules", self.folder / "rules.yaml")
        completed = run_sluice("serve", *flags, "--http", "127.0.0.1:0", "--resp", "none", "--grpc", "none")
        self.assertEqual(completed.returncode, 1)
        self.assertIn("limitt", completed.stderr)
        self.serve_store(rules=rules(3)).stop()
        self.assertEqual(self.limit_of(self.serve_store(rules="rules: [{ id: api, limitt: 3 }]\n")), "3")

    @unittest.skipUnless(os.geteuid() == 0 and shutil.which("mount"), "needs to mount a small disk")
    def test_a_full_disk_refuses_changes_and_keeps_the_rules(self):
        disk = self.folder / "disk"
        disk.mkdir()
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", disk], check=False, capture_output=True)
        if mounted.returncode != 0:
            self.skipTest("mounting is not permitted")
        self.addCleanup(subprocess.run, ["umount", "-l", disk], check=False)
        server = self.serve_store(state="disk/state", rules=rules(3))
        fill(disk / "filler")
        response = self.put(server, rules(5, more="#" + "x" * 20000 + "\n"))
        self.assert_problem(response, 503, "CONTROL_STORE_UNAVAILABLE")
        self.assertEqual(self.limit_of(server), "3")
        (disk / "filler").unlink()
        self.commit(server, rules(5))
        self.assertEqual(self.limit_of(server), "5")
        self.assert_chain(server)


if __name__ == "__main__":
    unittest.main()
