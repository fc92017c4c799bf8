"""The server as curl sees it: what HTTP/1.1 promises its clients."""

import json
import subprocess
import tempfile
import unittest
from pathlib import Path

from running import PATIENCE, Server, receive_all

CHECK = "/api/v1/rate-limit/check"


class Curl(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.unix = str(Path(self.folder.name) / "http.sock")
        self.server = Server("--limits-header-bytes", "4096", "--limits-body-bytes", "100000", unix_socket=self.unix)
        self.server.__enter__()
        self.addCleanup(self.server.__exit__, None, None, None)

    def curl(self, *arguments, stdin=None):
        """What curl prints; `{}` in an argument is the server."""
        where = f"http://127.0.0.1:{self.server.http}"
        command = ["curl", "-sS", "--max-time", str(PATIENCE), *(a.replace("{}", where) for a in arguments)]
        told = subprocess.run(command, input=stdin, capture_output=True, timeout=2 * PATIENCE, check=False)
        self.assertEqual(told.returncode, 0, told.stderr)
        return told.stdout.decode()

    def status(self, *arguments, **more):
        return int(self.curl("-o", "/dev/null", "-w", "%{http_code}", *arguments, **more))

    def body_file(self, text):
        path = Path(self.folder.name) / "body.json"
        path.write_text(text, encoding="utf-8")
        return path

    def test_one_connection_serves_many_requests(self):
        told = self.curl("-o", "/dev/null", "-w", "%{http_code} %{num_connects}\n", *["{}/livez"] * 5)
        # The option -o is for the first URL only: the other bodies are printed too.
        lines = [line for line in told.splitlines() if line.startswith("200 ")]
        self.assertEqual(lines, ["200 1"] + ["200 0"] * 4, told)

    def test_one_connection_takes_many_uploads(self):
        many = json.dumps({"checks": [{"key": f"user{i}"} for i in range(1000)]})
        body = f"@{self.body_file(many)}"
        upload = ["-o", "/dev/null", "-w", "%{http_code} %{num_connects}\n", "--json", body, "{}" + CHECK]
        told = self.curl(*upload, "--next", "-sS", *upload, "--next", "-sS", *upload)
        self.assertEqual(told.splitlines(), ["200 1", "200 0", "200 0"])

    def test_a_body_is_asked_for_where_one_is_expected_and_refused_where_none_is(self):
        body = f"@{self.body_file(json.dumps({'key': 'alice'}))}"
        expects = ("-i", "-H", "Expect: 100-continue", "-d", body)
        told = self.curl(*expects, "{}" + CHECK)
        self.assertTrue(told.startswith("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n"), told)
        told = self.curl(*expects, "{}/nowhere")
        self.assertTrue(told.startswith("HTTP/1.1 404 "), told)

    def test_a_chunked_body_is_read(self):
        body = json.dumps({"attributes": {"api_key": "alice", "note": "x" * 20000}}).encode()
        told = self.curl("-T", "-", "-X", "POST", "-H", "Expect:", "{}" + CHECK, stdin=body)
        self.assertTrue(json.loads(told)["allowed"])

    def test_head_has_the_headers_alone(self):
        told = self.curl("--head", "{}/livez", "{}/livez")
        self.assertEqual(told.count("HTTP/1.1 200 OK"), 2)
        self.assertRegex(told, r"Content-Length: [1-9]")

    def test_options_names_the_methods(self):
        told = self.curl("-i", "-X", "OPTIONS", "{}" + CHECK)
        self.assertTrue(told.startswith("HTTP/1.1 204 "))
        self.assertIn("Allow: GET, HEAD, POST, OPTIONS", told)

    def test_what_is_too_large_is_said_to_be(self):
        self.assertEqual(self.status("-H", "X-Large: " + "x" * 5000, "{}/livez"), 431)
        large = f"@{self.body_file('x' * 100001)}"
        self.assertEqual(self.status("-d", large, "-H", "Expect:", "{}" + CHECK), 413)
        self.assertEqual(self.status("-d", large, "-H", "Expect: 100-continue", "{}" + CHECK), 413)
        chunked = ("-H", "Transfer-Encoding: chunked", "-H", "Expect:")
        self.assertEqual(self.status("-d", large, *chunked, "{}" + CHECK), 413)
        self.assertEqual(self.status("{}/livez"), 200)

    def test_a_unix_socket_is_as_good_as_any(self):
        told = self.curl("-i", "--unix-socket", self.unix, f"http://any{CHECK}?key=alice")
        self.assertTrue(told.startswith("HTTP/1.1 200 OK"))
        reset = ("-X", "DELETE", "http://any/api/v1/rate-limit/reset?key=alice")
        self.assertEqual(self.status("--unix-socket", self.unix, *reset), 204)

    def test_http_1_0_is_answered_and_ends_the_connection_unless_asked_not_to(self):
        told = self.curl("--http1.0", "-i", "{}/livez")
        self.assertRegex(told, r"^HTTP/1\.[01] 200 OK\r\n")
        self.assertIn("Connection: close", told)
        told = self.curl("--http1.0", "-i", "-H", "Connection: keep-alive", "{}/livez")
        self.assertRegex(told.lower(), "connection: keep-alive")

    def test_pipelined_uploads_are_answered_in_order(self):
        requests = b""
        for number in range(200):
            limit = {"algorithm": "token_bucket", "capacity": 9, "refill_rate": 1}
            body = json.dumps({"key": f"user{number}", "limit": limit})
            requests += f"POST {CHECK} HTTP/1.1\r\nHost: h\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode()
        requests += b"GET /livez HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"
        with self.server.connect(self.server.http) as client:
            client.sendall(requests)
            told = receive_all(client).decode()
        self.assertEqual(told.count("HTTP/1.1 200 OK\r\n"), 201)
        places = [told.find(f'"key":"user{number}"') for number in range(200)]
        self.assertNotIn(-1, places)
        self.assertEqual(places, sorted(places))


if __name__ == "__main__":
    unittest.main()
