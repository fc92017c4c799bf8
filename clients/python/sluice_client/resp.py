"""The Redis protocol: commands, and a parser of replies for connections.Pool."""

from sluice_client.connections import Unavailable

MAX_REPLY = 64 * 1024


class ReplyError(Unavailable):
    """The server replied with an error."""


def encode(*words):
    parts = [word if isinstance(word, bytes) else str(word).encode() for word in words]
    return b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%b\r\n" % (len(part), part) for part in parts)


def parse_reply(received):
    """The parser of one reply. An error is returned, not raised: the connection is good."""
    found = _value(received, 0)
    if found is None:
        if len(received) > MAX_REPLY:
            raise ValueError("the reply is too long")
        return None
    if found[1] != len(received):
        raise ValueError("more than one reply")
    return found[0], True


def _value(data, at, depth=0):
    """The value at a place and where it ends; None if it is incomplete."""
    end = data.find(b"\r\n", at)
    if end < 0:
        return None
    kind, text, end = data[at : at + 1], data[at + 1 : end], end + 2
    if kind == b"+":
        return text, end
    if kind == b"-":
        return ReplyError(text.decode("latin-1")), end
    if kind == b":":
        return int(text), end
    if kind == b"$":
        size = int(text)
        if size < 0:
            return None, end
        return None if len(data) < end + size + 2 else (data[end : end + size], end + size + 2)
    if kind == b"*" and depth == 0 and 0 <= int(text) <= 16:
        values = []
        for _ in range(int(text)):
            found = _value(data, end, depth + 1)
            if found is None:
                return None
            values.append(found[0])
            end = found[1]
        return values, end
    raise ValueError("the reply is not of the Redis protocol")


def parse_greeting(received):
    """The same of a reply that must not be an error."""
    parsed = parse_reply(received)
    if parsed and isinstance(parsed[0], ReplyError):
        raise ValueError(str(parsed[0]))
    return parsed
