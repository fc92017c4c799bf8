"""A network that can be cut in two: an old primary and a server on the far side, all others on the near one."""

import os
import stat
import subprocess
import tempfile
from pathlib import Path

NEAR, FAR = "10.231.7.1", "10.231.7.2"


def ip(*words):
    return subprocess.run(["ip", *words], capture_output=True, text=True, check=False).returncode == 0


class Network:
    """Needs to be permitted to make network namespaces: see `made`."""

    def __init__(self):
        self.far_side = f"sluice-{os.getpid()}"
        self.cable = f"sl{os.getpid()}"
        self.folder = tempfile.TemporaryDirectory()
        self.made = (
            ip("netns", "add", self.far_side)
            and ip("link", "add", self.cable, "type", "veth", "peer", "name", "far", "netns", self.far_side)
            and ip("addr", "add", f"{NEAR}/24", "dev", self.cable)
            and ip("link", "set", self.cable, "up")
            and ip("-n", self.far_side, "link", "set", "lo", "up")
            and ip("-n", self.far_side, "addr", "add", f"{FAR}/24", "dev", "far")
            and ip("-n", self.far_side, "link", "set", "far", "up")
        )

    def cut(self):
        ip("route", "add", "blackhole", f"{FAR}/32")
        ip("-n", self.far_side, "route", "add", "blackhole", f"{NEAR}/32")

    def mend(self):
        ip("route", "del", "blackhole", f"{FAR}/32")
        ip("-n", self.far_side, "route", "del", "blackhole", f"{NEAR}/32")

    def on_far_side(self, program):
        """A script that runs `program` on the far side."""
        path = Path(self.folder.name) / Path(program).name
        path.write_text(f'#!/bin/sh\nexec ip netns exec {self.far_side} {program} "$@"\n', encoding="utf-8")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return str(path)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.mend()
        ip("link", "del", self.cable)
        ip("netns", "del", self.far_side)
        self.folder.cleanup()
