"""The Redis protocol (RESP2), for Redis and for Sluice."""

import socket


def encode(*words):
    parts = [f"*{len(words)}\r\n", *(f"${len(str(word))}\r\n{word}\r\n" for word in words)]
    return "".join(parts).encode()


def read_reply(stream):
    """Texts, None and lists of them. Numbers are texts, errors begin with '-'."""
    line = stream.readline()
    if not line.endswith(b"\n"):
        raise ConnectionError("closed")
    kind, rest = line[:1], line[1:-2].decode()
    if kind == b"$":
        return None if rest == "-1" else stream.read(int(rest) + 2)[:-2].decode()
    if kind == b"*":
        return [read_reply(stream) for _ in range(int(rest))]
    return "-" + rest if kind == b"-" else rest


def connect(address, timeout):
    """To a port of 127.0.0.1, or the path of a Unix socket."""
    if isinstance(address, int):
        return socket.create_connection(("127.0.0.1", address), timeout)
    client = socket.socket(socket.AF_UNIX)
    client.settimeout(timeout)
    try:
        client.connect(address)
    except OSError:
        client.close()
        raise
    return client


def call(address, *words, timeout=1.0):
    """One command on a connection of its own."""
    with connect(address, timeout) as client, client.makefile("rb") as stream:
        client.sendall(encode(*words))
        return read_reply(stream)
