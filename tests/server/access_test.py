"""Roles of clients of the binary named by SLUICE: tokens, JWT, certificates, a listener for administrators."""

import ssl
import time
import unittest
import urllib.request

from support import http1
from support.certificates import Authority, tls_flags
from support.environment import TIMEOUT, wait_until
from support.http2 import DATA, END_STREAM, HEADERS, Http2Client, frame, grpc_headers, grpc_message
from support.jwt import Issuer
from support.sluice import Server, ServerTest, run_sluice

TOKEN = "a-token-that-is-long-enough"
RATE_LIMIT = "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit"


def bearer(token):
    return {"Authorization": f"Bearer {token}"}


class AdminListener(ServerTest):
    def test_moves_administration_and_metrics_away_from_the_public_one(self):
        server = self.serve("--admin", "127.0.0.1:0", "--admin-token", TOKEN)
        for path in ("/admin/rules", "/dashboard/", "/metrics", "/actuator/prometheus"):
            self.assertEqual(server.request("GET", path, headers=bearer(TOKEN)).status, 404, path)
            self.assertEqual(http1.request(server.admin, "GET", path, headers=bearer(TOKEN)).status, 200, path)
        self.assertEqual(http1.request(server.admin, "GET", "/admin/rules").status, 401)
        self.assertEqual(http1.request(server.admin, "GET", "/api/v1/rate-limit/check?key=a").status, 404)
        self.assertEqual(server.check("a").status, 200)
        for path in ("/livez", "/readyz", "/version"):
            self.assertEqual(server.request("GET", path).status, 200, path)
            self.assertEqual(http1.request(server.admin, "GET", path).status, 200, path)
        links = server.request("GET", "/").json()["links"]
        self.assertNotIn("metrics", links)
        self.assertIn("check", links)
        links = http1.request(server.admin, "GET", "/").json()["links"]
        self.assertIn("metrics", links)
        self.assertNotIn("check", links)


class RequiredToken(ServerTest):
    def grpc_status(self, server, **metadata):
        with server.connect(server.grpc) as connection:
            client = Http2Client(connection)
            client.send(grpc_headers(1, RATE_LIMIT, **metadata), frame(DATA, END_STREAM, 1, grpc_message(b"")))
            payload = client.read_until(HEADERS, END_STREAM)[3]
        return 16 if b"16" in payload else 0

    def test_of_checks_is_needed_over_every_protocol(self):
        server = self.serve("--checks-require-token", "true", "--admin-token", TOKEN)
        self.assertEqual(server.check("a").status, 401)
        self.assertEqual(server.request("GET", "/api/v1/rate-limit/check?key=a", headers=bearer(TOKEN)).status, 200)
        call = {"X-Forwarded-Method": "GET", "X-Forwarded-Uri": "/"}
        self.assertEqual(server.request("GET", "/v1/auth", headers=call | bearer(TOKEN)).status, 401)
        self.assertEqual(server.request("GET", "/v1/auth", headers=call | {"X-Sluice-Token": TOKEN}).status, 200)
        self.assertEqual(server.request("GET", "/readyz").status, 200)
        self.assertRegex(server.redis_cli("CL.THROTTLE", "k", "5", "10", "60")[0], "^NOAUTH")
        self.assertEqual(server.redis_cli("-a", TOKEN, "--no-auth-warning", "CL.THROTTLE", "k", "5", "10", "60")[0], "0")
        self.assertEqual(server.redis_cli("PING"), ["PONG"])
        self.assertEqual(self.grpc_status(server), 16)
        self.assertEqual(self.grpc_status(server, authorization="Bearer wrong"), 16)
        self.assertEqual(self.grpc_status(server, authorization=f"Bearer {TOKEN}"), 0)


class PlaintextTokens(unittest.TestCase):
    def test_beyond_this_machine_are_warned_of(self):
        with Server("--admin-token", TOKEN, "--admin", "0.0.0.0:0") as server:
            wait_until(lambda: server.log_lines("without encryption", "admin.listen"), lambda: server.log)
        with Server("--admin-token", TOKEN) as server:
            server.stop()
            self.assertEqual(server.log_lines("without encryption"), [])


class Certificates(ServerTest):
    def test_give_roles_by_their_subject(self):
        authority = Authority(self.folder)
        certificate, key = authority.issue("server")
        viewer = authority.issue("viewer", "/O=Example/CN=alice")
        stranger = authority.issue("stranger", "/O=Example/CN=mallory")
        server = self.serve(
            *tls_flags(certificate, key, "http"), "--http-tls-client-certificates", "optional",
            "--http-tls-client-ca", authority.certificate, "--admin-certificates", "CN=alice,O=Example:viewer",
        )  # fmt: skip

        def status(pair, path="/admin/rules", method="GET", **headers):
            context = ssl.create_default_context(cafile=str(authority.certificate))
            if pair:
                context.load_cert_chain(*map(str, pair))
            request = urllib.request.Request(
                f"https://localhost:{server.https}{path}", method=method,
                headers={name.replace("_", "-"): value for name, value in headers.items()},
            )  # fmt: skip
            try:
                return urllib.request.urlopen(request, context=context, timeout=TIMEOUT).status
            except urllib.error.HTTPError as error:
                error.close()
                return error.code

        self.assertEqual(status(viewer), 200)
        self.assertEqual(status(viewer, "/admin/rules/reload", "POST"), 403)
        self.assertEqual(status(viewer, Origin="https://evil.example"), 403)
        self.assertEqual(status(viewer, Sec_Fetch_Site="cross-site"), 403)
        self.assertEqual(status(stranger), 401)
        self.assertEqual(status(None), 401)
        self.assertEqual(server.request("GET", "/admin/rules").status, 401, "local clients need a credential, too")


class Jwt(ServerTest):
    def test_of_the_identity_provider_gives_a_role_and_those_of_customers_do_not(self):
        admin, customers = Issuer(self.folder, "admin"), Issuer(self.folder, "customers")
        flags = ("--admin-jwt-issuer", "https://login.example", "--admin-jwt-audience", "sluice")
        customer_flags = ("--identity-sources", "jwt", "--identity-jwt-key-files", customers.public)
        server = self.serve(*flags, "--admin-jwt-key-files", admin.public, *customer_flags)
        claims = {"iss": "https://login.example", "aud": "sluice", "sub": "alice", "exp": int(time.time()) + 3600}

        def status(signer, method="GET", path="/admin/rules", **more):
            return server.request(method, path, headers=bearer(signer.sign(claims | more))).status

        self.assertEqual(status(admin, role="viewer"), 200)
        self.assertEqual(status(admin, "POST", "/admin/rules/reload", role="viewer"), 403)
        self.assertEqual(status(admin, "POST", "/admin/rules/reload", role="editor"), 200)
        self.assertTrue(server.log_lines("administrative request", "alice", "/admin/rules/reload"))
        self.assertEqual(status(customers, role="admin"), 401)
        self.assertEqual(status(admin, role="admin", aud="shop"), 401)
        self.assertEqual(status(admin, role="admin", exp=1), 401)
        self.assertEqual(server.request("GET", "/admin/rules").status, 401)
        with self.assertRaisesRegex(AssertionError, "end customers"):
            Server(*flags, "--admin-jwt-key-files", customers.public, *customer_flags)
        completed = run_sluice("serve", "--admin-jwt-key-files", admin.public)
        self.assertIn("admin.jwt: key_files, issuer and audience are all required", completed.stderr)


if __name__ == "__main__":
    unittest.main()
