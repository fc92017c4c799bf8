"""Clients of the rule service that are not authorized, send too much, or too many requests."""

import json
import random
import re
import socket
import threading
import unittest

from support import http1
from support.control import YAML, ControlTest, rules
from support.environment import TIMEOUT, wait_until

TOKEN = "a-token-of-enough-length"
MIB = 1 << 20


class Hostile(ControlTest):
    def send(self, server, head, body=b""):
        """The first response to these bytes on a connection of their own."""
        with socket.create_connection(("127.0.0.1", server.http), TIMEOUT) as connection:
            connection.sendall(head.encode() + body)
            with connection.makefile("rb") as stream:
                return http1.read_response(stream)

    def test_a_document_has_at_most_four_mebibytes(self):
        server = self.serve_store(rules=rules(3))
        line = "# " + "x" * 97 + "\n"
        fits = rules(5) + line * ((4 * MIB - len(rules(5))) // len(line))
        self.assertEqual(self.put(server, fits).status, 200)
        self.assertEqual(self.get(server).text, fits)
        head = "PUT /admin/v1/rules HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/yaml\r\n"
        response = self.send(server, f"{head}Content-Length: {4 * MIB + 1}\r\n\r\n")
        self.assert_problem(response, 413, "BODY_TOO_LARGE")
        self.assertEqual(len(self.versions(server)), 2)

    def test_other_routes_keep_their_limit(self):
        server = self.serve_store(rules=rules(3))
        for path in ("/admin/grant", "/api/v1/rate-limit/check", "/admin/v1/rules/versions/1/restore"):
            response = self.send(server, f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {2 * MIB}\r\n\r\n")
            self.assert_problem(response, 413, "BODY_TOO_LARGE")

    def test_an_anonymous_client_is_refused_before_its_body_is_read(self):
        server = self.serve_store("--admin-token", TOKEN, rules=rules(3))
        head = "PUT /admin/v1/rules HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/yaml\r\n"
        for more in (f"Content-Length: {3 * MIB}", "Transfer-Encoding: chunked", "Content-Length: 9\r\nExpect: 100-continue"):
            response = self.send(server, f"{head}{more}\r\n\r\n")
            self.assert_problem(response, 401, "UNAUTHORIZED")
        response = self.send(server, f"{head}Authorization: Bearer {'x' * 24}\r\nContent-Length: {3 * MIB}\r\n\r\n")
        self.assert_problem(response, 401, "UNAUTHORIZED")

    def test_every_route_needs_authorization_and_no_browser(self):
        server = self.serve_store("--admin-token", TOKEN, rules=rules(3))
        routes = [(method, path) for path, methods in server.request("GET", "/openapi.json").json()["paths"].items()
                  for method in methods if path.startswith("/admin/v1/")]  # fmt: skip
        self.assertGreaterEqual(len(routes), 13)
        for method, path in routes:
            path = path.replace("{", "").replace("}", "")
            self.assert_problem(server.request(method.upper(), path), 401, "UNAUTHORIZED")
        local = self.serve_store(state="other", rules=rules(3))
        for headers in ({"Origin": "http://localhost"}, {"Sec-Fetch-Site": "cross-site"}, {"Host": "evil.example"},
                        {"X-Forwarded-For": "192.0.2.1"}):  # fmt: skip
            for method, path in routes:
                path = path.replace("{", "").replace("}", "")
                self.assert_problem(local.request(method.upper(), path, headers=headers), 403, "FORBIDDEN")

    def test_no_body_path_or_query_makes_a_route_fail(self):
        """Wrong types, huge and tiny numbers, depth, lone surrogates, for every route that changes or reads something."""
        server = self.serve_store(rules=rules(3))
        texts = ["", "null", "[]", "{", "0", '"x"', '{"a":' * 60 + "1" + "}" * 60, "[" * 2000, "\x00", '{"\\ud800":1}',
                 '{"match":{"api_key":"\\udfff"},"effect":"block"}', '{"' + "x" * 60_000 + '":1}']  # fmt: skip
        fields = ["match", "effect", "entries", "remove", "attributes", "key", "amount", "expires_at", "expires_in", "rule",
                  "prefix", "all", "name", "role", "scope", "enforcement", "message", "level", "reason", "limit_name",
                  "status", "dry_run"]  # fmt: skip
        values = [None, True, -1, 0, 2**63, 1e308, "", "\u2028<script>", "x" * 5000, [], [[]], {}, {"a": {"b": []}}, ["a"] * 3000]
        texts += [json.dumps(dict.fromkeys(fields, value)) for value in values]
        texts += [json.dumps({field: value}) for field in fields for value in values[:9]]
        seed = random.randrange(1 << 32)
        choose = random.Random(seed)
        odd = ["%00", "%FF", "..%2f..%2f", "%E2%80%AE", "x" * 3000, "-1", "9" * 40, "%", "%25"]
        count = 0
        for path, methods in server.request("GET", "/openapi.json").json()["paths"].items():
            if not path.startswith("/admin/"):
                continue
            for method, operation in methods.items():
                names = [parameter["name"] for parameter in operation.get("parameters", ()) if parameter["in"] == "query"]
                # A stream does not end: it is asked for as a list, or with a parameter that is refused.
                follow = "follow=0&" if path == "/admin/v1/denials" else ""
                for body in choose.sample(texts, 25) if "requestBody" in operation else [None] * 5:
                    target = re.sub(r"\{\w+\}", lambda _: choose.choice(odd), path)
                    query = "&".join(f"{name}={choose.choice(odd)}" for name in names if name != "follow" and choose.random() < 0.3)
                    query = f"?{follow}{query}".rstrip("?&")
                    content_type = choose.choice(["application/json", "application/yaml"])
                    sent = None if body is None else body.encode("utf-8", "surrogatepass")
                    response = server.request(method.upper(), target + query, sent, {"Content-Type": content_type})
                    self.assertLess(response.status, 500, (seed, method, target, query, body, response.text))
                    if response.status >= 400:
                        self.assertIn("code", response.json(), (seed, method, target, query, body))
                    count += 1
        self.assertGreater(count, 200)
        self.assertEqual(server.request("GET", "/livez").status, 200)

    def test_bodies_that_pages_can_send_are_refused(self):
        server = self.serve_store(rules=rules(3))
        for kind in ("text/plain", "multipart/form-data", "application/xml"):
            response = server.request("PUT", "/admin/v1/rules", rules(5), {"Content-Type": kind, "If-Match": self.etag(server)})
            self.assert_problem(response, 415, "UNSUPPORTED_MEDIA_TYPE")

    def test_odd_paths_and_names_have_exact_answers(self):
        server = self.serve_store(rules=rules(3))
        for path, status in (
            ("/admin/v1/rules/%zz", 400),
            ("/admin/v1/rules/%ff", 400),
            ("/admin/v1/rules/%00", 404),
            ("/admin/v1/rules/..%2f..%2fetc", 404),
            ("/admin/v1/rules/", 404),
            ("/admin/v1/rules/a/b", 404),
            ("/admin/v1/tiers/" + "x" * 4000, 404),
            ("/admin/v1/rules/versions", 405),
        ):
            response = server.request("DELETE", path, headers={"If-Match": self.etag(server)})
            self.assertEqual(response.status, status, path)
        for version in ("0", "-1", "1.2.3", "99999999999999999999", "1.", "x", "..."):
            self.assertEqual(server.request("GET", f"/admin/v1/rules/versions/{version}").status, 404, version)

    def test_a_flood_of_requests_is_bounded_and_checks_go_on(self):
        server = self.serve_store(rules=rules(1000000))
        tag = self.etag(server)
        document = rules(5) + "# x\n" * 50000
        codes, lock = {}, threading.Lock()

        def change():
            response = server.request("PUT", "/admin/v1/rules?dry_run=1", document, YAML | {"If-Match": tag})
            code = response.json().get("code", "ok")
            with lock:
                codes[code] = codes.get(code, 0) + 1

        threads = [threading.Thread(target=change) for _ in range(60)]
        for thread in threads:
            thread.start()
        for number in range(50):
            self.assertEqual(server.check(f"user{number}").status, 200)
        for thread in threads:
            thread.join()
        self.assertLessEqual(set(codes), {"ok", "BUSY"})
        self.assertGreater(codes["ok"], 0)
        self.assertEqual(sum(codes.values()), 60)
        wait_until(lambda: self.get(server).status == 200)


if __name__ == "__main__":
    unittest.main()
