"""The server as ioredis sees it. Skipped without node, or where ioredis can't be had."""

import os
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

from running import PATIENCE, SKIPPED, Server

VERSION = "5.11.1"


def skip(why):
    print(f"skipped: {why}")
    sys.exit(SKIPPED)


def modules():
    """Where ioredis lies; it is fetched once for each build directory."""
    folder = Path(os.environ["NODE_FOLDER"])
    if (folder / "node_modules" / "ioredis" / "package.json").exists():
        return folder / "node_modules"
    folder.mkdir(parents=True, exist_ok=True)
    install = [
        "npm", "install", "--prefix", str(folder), "--ignore-scripts", "--no-audit", "--no-fund", "--no-save",
        "--fetch-retries=0", "--fetch-timeout=10000", f"ioredis@{VERSION}",
    ]  # fmt: skip
    try:
        told = subprocess.run(install, capture_output=True, text=True, timeout=PATIENCE, check=False)
    except subprocess.TimeoutExpired:
        skip("npm does not get ioredis in time")
    if told.returncode != 0:
        skip(f"npm can't get ioredis: {told.stderr.strip().splitlines()[-1:]}")
    return folder / "node_modules"


class IoRedis(unittest.TestCase):
    def test_it_works_as_with_redis(self):
        with Server("--admin-token", "opensesame") as guarded, Server() as first:
            script = str(Path(__file__).with_name("ioredis_client.js"))
            client = subprocess.Popen(
                ["node", script, str(first.resp), str(guarded.resp), "opensesame"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                env={**os.environ, "NODE_PATH": str(MODULES)},
            )
            self.addCleanup(client.kill)
            if client.stdout.readline() == "connected\n":
                self.assertEqual(first.end(), 0)
            with Server(http_port=first.http, resp_port=first.resp):
                told, complaints = client.communicate("restarted\n", PATIENCE)
            self.assertEqual((client.returncode, told), (0, "done\n"), complaints)


if __name__ == "__main__":
    if not shutil.which("node") or not shutil.which("npm"):
        skip("there is no node, or no npm")
    MODULES = modules()
    unittest.main()
