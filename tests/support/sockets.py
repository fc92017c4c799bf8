"""Plain sockets."""

import socket
import struct


def receive_all(client):
    """Reads until the connection is closed or reset."""
    received = b""
    try:
        while part := client.recv(65536):
            received += part
    except ConnectionResetError:
        pass
    return received


def receive_until(client, end):
    received = b""
    while not received.endswith(end):
        part = client.recv(65536)
        if not part:
            break
        received += part
    return received


def reset(client):
    """Closes a connection with a reset, as a client does that crashed."""
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.close()
