"""Ports for programs that cannot listen on port 0 and print what they got."""

import random
import socket
from pathlib import Path

FIRST, DEFAULT_END = 10000, 32768
_used = set()


def candidates():
    """Ports below the ones that the kernel gives to outgoing connections, which could take a port at any time."""
    end = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text(encoding="ascii").split()[0])
    return range(FIRST, end if end > FIRST + 1000 else DEFAULT_END)


def free_port():
    """A port of 127.0.0.1 on which nothing listens; never the same one twice."""
    for port in random.sample(candidates(), 1000):
        if port in _used:
            continue
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        _used.add(port)
        return port
    raise AssertionError("no free port")
