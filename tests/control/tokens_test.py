"""Tokens that administrators create, on several servers of one Redis and in a state directory."""

import json
import time
import unittest

from support import resp
from support.control import ControlTest, rules
from support.environment import wait_until
from support.redis_servers import RedisServer
from support.sluice import run_sluice

ADMIN = "a-token-that-is-long-enough"


def bearer(token):
    return {"Authorization": f"Bearer {token}"}


class TokensTest(ControlTest):
    def create(self, server, token=ADMIN, **fields):
        headers = bearer(token) | {"Content-Type": "application/json"}
        return server.request("POST", "/admin/v1/tokens", json.dumps({"name": "test"} | fields), headers)

    def created(self, server, **fields):
        response = self.create(server, **fields)
        self.assertEqual(response.status, 201, response.text)
        return response.json()

    def status(self, server, token, method="GET", path="/admin/rules"):
        return server.request(method, path, headers=bearer(token)).status

    def wait_for_status(self, servers, token, status):
        for server in servers:
            wait_until(lambda: self.status(server, token) == status, lambda: self.status(server, token))


class Fleet(TokensTest):
    def setUp(self):
        redis = self.enterContext(RedisServer())
        self.servers = [
            self.serve_store("--admin-token", ADMIN, state=name, store=redis.url, store_deadline="1s", rules=rules(3))
            for name in ("one", "two", "three")
        ]

    def test_a_token_is_valid_on_all_servers_until_it_is_revoked(self):
        one, two, three = self.servers
        made = self.created(one, role="viewer")
        self.wait_for_status(self.servers, made["token"], 200)
        for server in self.servers:
            self.assertEqual(self.status(server, made["token"], "POST", "/admin/rules/reload"), 403)
            self.assertEqual(self.create(server, made["token"], role="admin").status, 403, "no escalation")
        with three.connect(three.resp) as connection:
            stream = connection.makefile("rb")
            connection.sendall(resp.encode("AUTH", made["token"]) + resp.encode("DBSIZE"))
            self.assertEqual((resp.read_reply(stream), resp.read_reply(stream)), ("OK", "0"))
            response = two.request("DELETE", f"/admin/v1/tokens/{made['id']}", headers=bearer(ADMIN))
            self.assertEqual(response.status, 200, response.text)
            self.wait_for_status(self.servers, made["token"], 401)
            connection.sendall(resp.encode("DBSIZE"))
            self.assertRegex(resp.read_reply(stream), "^-NOAUTH", "also on an open connection")
        actions = [record["action"] for record in map(json.loads, self.audit_lines(one))]
        self.assertIn("token.create", actions)
        self.assertIn("token.revoke", actions)
        secret = made["token"].rsplit("_", 1)[1]
        self.assertNotIn(secret, "".join(self.audit_lines(one)))
        for server in self.servers:
            self.assertEqual(server.log_lines(secret), [])

    def audit_lines(self, server):
        return server.request("GET", "/admin/v1/audit?limit=1000", headers=bearer(ADMIN)).text.splitlines()

    def test_a_token_expires_on_all_servers(self):
        expiry = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 30))
        made = self.created(self.servers[0], role="viewer", expires_at=expiry)
        self.wait_for_status(self.servers, made["token"], 200)
        soon = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 3))
        short = self.created(self.servers[0], role="viewer", expires_at=soon)
        self.wait_for_status(self.servers, short["token"], 401)

    def test_a_scope_bounds_an_editor(self):
        made = self.created(self.servers[0], role="editor", scope="team-a/")
        self.wait_for_status(self.servers, made["token"], 200)
        headers = bearer(made["token"]) | {"Content-Type": "application/json"}
        for path, status in (("team-a%2Fsearch", 200), ("team-b%2Fsearch", 403), ("api", 403)):
            response = self.servers[1].request(
                "PUT", f"/admin/v1/rules/{path}?dry_run=1", '{"limit": "5/h"}', headers
            )  # fmt: skip
            self.assertEqual(response.status, status, response.text)
        self.assertEqual(self.status(self.servers[1], made["token"], "POST", "/admin/rules/reload"), 403)


class OneServer(TokensTest):
    def test_tokens_survive_a_restart(self):
        server = self.serve_store("--admin-token", ADMIN, rules=rules(3))
        made = self.created(server, role="viewer")
        self.assertEqual(self.status(server, made["token"]), 200)
        server.kill()
        server = self.serve_store("--admin-token", ADMIN)
        self.wait_for_status([server], made["token"], 200)

    def test_the_command_creates_lists_and_revokes(self):
        server = self.serve_store(rules=rules(3))
        remote = ("--server", f"http://127.0.0.1:{server.http}")
        created = run_sluice("tokens", "create", "--name", "ci", "--role", "viewer", "--expires", "1h", *remote)
        self.assertEqual(created.returncode, 0, created.stderr)
        token = created.stdout.strip()
        self.assertRegex(token, "^sluice_[0-9a-f]{16}_")
        self.assertIn("not shown again", created.stderr)
        self.assertEqual(self.status(server, token), 200)
        self.assertEqual(self.status(server, token, "POST", "/admin/rules/reload"), 403)
        listed = json.loads(run_sluice("tokens", "list", "--json", *remote).stdout)["tokens"]
        self.assertEqual([(one["name"], one["role"]) for one in listed], [("ci", "viewer")])
        self.assertIsNotNone(listed[0]["last_used_at"])
        self.assertIn("ci", run_sluice("tokens", "list", *remote).stdout)
        self.assertEqual(run_sluice("tokens", "revoke", listed[0]["id"], *remote).returncode, 0)
        self.assertEqual(self.status(server, token), 401)
        again = run_sluice("tokens", "revoke", listed[0]["id"], *remote)
        self.assertEqual(again.returncode, 1)
        self.assertIn("no such token", again.stderr)


if __name__ == "__main__":
    unittest.main()
