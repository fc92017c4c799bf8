"""The server as curl sees it: what HTTP/1.1 promises its clients."""

import json
import subprocess
import unittest

from support.environment import TIMEOUT
from support.http1 import read_response
from support.sluice import ServerTest

CHECK = "/api/v1/rate-limit/check"


class Curl(ServerTest):
    def setUp(self):
        self.unix = str(self.folder / "http.sock")
        self.server = self.serve("--limits-header-bytes", "4096", "--limits-body-bytes", "100000", unix_socket=self.unix)

    def curl(self, *arguments, stdin=None):
        """What curl prints; `{}` in an argument is the server."""
        where = f"http://127.0.0.1:{self.server.http}"
        command = ["curl", "-sS", "--max-time", str(TIMEOUT), *(a.replace("{}", where) for a in arguments)]
        completed = subprocess.run(command, input=stdin, capture_output=True, timeout=2 * TIMEOUT, check=False)
        self.assertEqual(completed.returncode, 0, completed.stderr)
        return completed.stdout.decode()

    def status(self, *arguments, **more):
        return int(self.curl("-o", "/dev/null", "-w", "%{http_code}", *arguments, **more))

    def body_file(self, text):
        path = self.folder / "body.json"
        path.write_text(text, encoding="utf-8")
        return path

    def test_one_connection_serves_many_requests(self):
        output = self.curl("-o", "/dev/null", "-w", "%{http_code} %{num_connects}\n", *["{}/livez"] * 5)
        # The option -o is for the first URL only: the other bodies are printed too.
        lines = [line for line in output.splitlines() if line.startswith("200 ")]
        self.assertEqual(lines, ["200 1"] + ["200 0"] * 4, output)

    def test_one_connection_takes_many_uploads(self):
        many = json.dumps({"checks": [{"key": f"user{i}"} for i in range(1000)]})
        body = f"@{self.body_file(many)}"
        upload = ["-o", "/dev/null", "-w", "%{http_code} %{num_connects}\n", "--json", body, "{}" + CHECK]
        output = self.curl(*upload, "--next", "-sS", *upload, "--next", "-sS", *upload)
        self.assertEqual(output.splitlines(), ["200 1", "200 0", "200 0"])

    def test_a_body_is_asked_for_where_one_is_expected_and_refused_where_none_is(self):
        body = f"@{self.body_file(json.dumps({'key': 'alice'}))}"
        expects = ("-i", "-H", "Expect: 100-continue", "-d", body)
        output = self.curl(*expects, "{}" + CHECK)
        self.assertTrue(output.startswith("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n"), output)
        output = self.curl(*expects, "{}/nowhere")
        self.assertTrue(output.startswith("HTTP/1.1 404 "), output)

    def test_a_chunked_body_is_read(self):
        body = json.dumps({"attributes": {"api_key": "alice", "note": "x" * 20000}}).encode()
        output = self.curl("-T", "-", "-X", "POST", "-H", "Expect:", "{}" + CHECK, stdin=body)
        self.assertTrue(json.loads(output)["allowed"])

    def test_head_has_the_headers_alone(self):
        output = self.curl("--head", "{}/livez", "{}/livez")
        self.assertEqual(output.count("HTTP/1.1 200 OK"), 2)
        self.assertRegex(output, r"Content-Length: [1-9]")

    def test_options_names_the_methods(self):
        output = self.curl("-i", "-X", "OPTIONS", "{}" + CHECK)
        self.assertTrue(output.startswith("HTTP/1.1 204 "))
        self.assertIn("Allow: GET, HEAD, POST, OPTIONS", output)

    def test_what_is_too_large_is_said_to_be(self):
        self.assertEqual(self.status("-H", "X-Large: " + "x" * 5000, "{}/livez"), 431)
        large = f"@{self.body_file('x' * 100001)}"
        self.assertEqual(self.status("-d", large, "-H", "Expect:", "{}" + CHECK), 413)
        self.assertEqual(self.status("-d", large, "-H", "Expect: 100-continue", "{}" + CHECK), 413)
        chunked = ("-H", "Transfer-Encoding: chunked", "-H", "Expect:")
        self.assertEqual(self.status("-d", large, *chunked, "{}" + CHECK), 413)
        self.assertEqual(self.status("{}/livez"), 200)

    def test_a_unix_socket_is_as_good_as_any(self):
        output = self.curl("-i", "--unix-socket", self.unix, f"http://any{CHECK}?key=alice")
        self.assertTrue(output.startswith("HTTP/1.1 200 OK"))
        reset = ("-X", "DELETE", "http://any/api/v1/rate-limit/reset?key=alice")
        self.assertEqual(self.status("--unix-socket", self.unix, *reset), 204)

    def test_http_1_0_is_answered_and_ends_the_connection_unless_asked_not_to(self):
        output = self.curl("--http1.0", "-i", "{}/livez")
        self.assertRegex(output, r"^HTTP/1\.[01] 200 OK\r\n")
        self.assertIn("Connection: close", output)
        output = self.curl("--http1.0", "-i", "-H", "Connection: keep-alive", "{}/livez")
        self.assertRegex(output.lower(), "connection: keep-alive")

    def test_pipelined_uploads_are_answered_in_order(self):
        requests = b""
        for number in range(200):
            limit = {"algorithm": "token_bucket", "capacity": 9, "refill_rate": 1}
            body = json.dumps({"key": f"user{number}", "limit": limit})
            requests += f"POST {CHECK} HTTP/1.1\r\nHost: h\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode()
        requests += b"GET /livez HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"
        with self.server.connect(self.server.http) as client, client.makefile("rb") as stream:
            client.sendall(requests)
            responses = [read_response(stream) for _ in range(201)]
            self.assertEqual(stream.read(), b"")
        self.assertEqual({response.status for response in responses}, {200})
        keys = [response.json()["key"] for response in responses[:-1]]
        self.assertEqual(keys, [f"user{number}" for number in range(200)])


if __name__ == "__main__":
    unittest.main()
