"""The server as ioredis sees it. Skipped without node, or where ioredis can't be had."""

import os
import shutil
import subprocess
import unittest
from pathlib import Path

from support.environment import TIMEOUT, skip_all
from support.ports import free_port
from support.sluice import Server

VERSION = "5.11.1"


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
        completed = subprocess.run(install, capture_output=True, text=True, timeout=TIMEOUT, check=False)
    except subprocess.TimeoutExpired:
        skip_all("npm does not get ioredis in time")
    if completed.returncode != 0:
        errors = [line for line in completed.stderr.splitlines() if "npm" in line and "complete log" not in line]
        skip_all(f"npm can't get ioredis: {errors[-1:]}")
    return folder / "node_modules"


class IoRedis(unittest.TestCase):
    def test_it_works_as_with_redis(self):
        with Server("--admin-token", "opensesame-opensesame") as guarded, Server(resp_port=free_port()) as first:
            script = str(Path(__file__).with_name("ioredis_client.js"))
            client = subprocess.Popen(
                ["node", script, str(first.resp), str(guarded.resp), "opensesame-opensesame"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                env={**os.environ, "NODE_PATH": str(MODULES)},
            )
            self.addCleanup(client.kill)
            if client.stdout.readline() == "connected\n":
                self.assertEqual(first.stop(), 0)
            with Server(resp_port=first.resp):
                output, errors = client.communicate("restarted\n", TIMEOUT)
            self.assertEqual((client.returncode, output), (0, "done\n"), errors)


if __name__ == "__main__":
    if not shutil.which("node") or not shutil.which("npm"):
        skip_all("there is no node, or no npm")
    MODULES = modules()
    unittest.main()
