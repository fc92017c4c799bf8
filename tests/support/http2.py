"""HTTP/2 frames written by hand, and gRPC calls made of them."""

DATA, HEADERS, SETTINGS, PING, GOAWAY = 0, 1, 4, 6, 7
END_STREAM, ACK, END_HEADERS = 1, 1, 4
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(3) + bytes([SETTINGS]) + bytes(5)  # With empty settings.


def frame(kind, flags, stream, payload=b""):
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload


NO_WINDOW = frame(SETTINGS, 0, 0, b"\0\4\0\0\0\0")  # An initial window of zero: no response data is accepted.


def _literal(text):
    return bytes([len(text)]) + text.encode()


def grpc_headers(stream, path, **more):
    headers = {":method": "POST", ":scheme": "http", ":path": path, ":authority": "x", "content-type": "application/grpc"}
    headers |= {name.replace("_", "-"): value for name, value in more.items()}
    block = b"".join(b"\0" + _literal(name) + _literal(value) for name, value in headers.items())
    return frame(HEADERS, END_HEADERS, stream, block)


def grpc_message(payload, compressed=False):
    return bytes([compressed]) + len(payload).to_bytes(4, "big") + payload


def grpc_call(stream, path, *payloads, flags=END_STREAM):
    """A call with its messages; flags=0 leaves the stream open."""
    return grpc_headers(stream, path) + frame(DATA, flags, stream, b"".join(map(grpc_message, payloads)))


def reflection_request(symbol):
    """ServerReflectionRequest{file_containing_symbol: symbol}"""
    return b"\x22" + _literal(symbol)


class Http2Client:
    """Reads frames; answers pings only if the test does."""

    def __init__(self, connection):
        self.socket = connection
        self.file = connection.makefile("rb")
        self.send(PREFACE)

    def send(self, *frames):
        self.socket.sendall(b"".join(frames))

    def read(self):
        """Kind, flags, stream and payload of the next frame; None: the connection was closed."""
        head = self.file.read(9)
        if len(head) < 9:
            return None
        payload = self.file.read(int.from_bytes(head[:3], "big"))
        return head[3], head[4], int.from_bytes(head[5:9], "big"), payload

    def read_until(self, kind, flags=0):
        while (found := self.read()) is not None:
            if found[0] == kind and found[1] & flags == flags:
                return found
        raise AssertionError(f"the connection was closed before a frame of kind {kind}")
