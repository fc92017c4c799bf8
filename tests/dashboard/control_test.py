"""The page Control, and the ways to log in: enforcement, log level, tokens, HTTPS, JWT."""

import time
import unittest

from support.browser import ENTER
from support.certificates import Authority, tls_flags
from support.dashboard import TOKEN, DashboardTest, require_browser
from support.environment import wait_until
from support.jwt import Issuer


class Enforcement(DashboardTest):
    def change(self, page, wanted, where=None, life=None, reason=None):
        page.click("main button", "Change enforcement")
        page.choose("dialog [name=enforcement]", wanted)
        if where:
            page.choose("dialog [name=where]", where)
        if life:
            page.choose("dialog [name=life]", life)
        if reason:
            page.type("dialog [name=reason]", reason)
        page.click("dialog button[type=submit]")
        page.gone("dialog")

    def test_of_all_servers_is_changed_until_it_ends(self):
        server = self.serve_dashboard()
        self.assertEqual(self.call(server, "alice", times=21), 429)
        page = self.log_in(server, "control")
        page.see("not set: each server applies its own setting")
        self.change(page, "shadow", life="2h", reason="migration <b>of keys</b>")
        wait_until(lambda: self.call(server, "alice") == 200)
        record = self.admin(server, "GET", "/admin/v1/enforcement").json()["fleet"]
        self.assertEqual((record["enforcement"], record["message"]), ("shadow", "migration <b>of keys</b>"))
        self.assertIsNotNone(record["expires_at"])
        page.see("migration <b>of keys</b>")
        page.see("in 1\u2009h 59\u2009min")
        page.screenshot(self.screenshots / "control.png")
        self.go(page, "now")
        page.see("Enforcement is shadow on this node")
        self.go(page, "control")
        page.click("main button", "End")
        page.click("dialog button[type=submit]")
        page.gone("dialog")
        wait_until(lambda: self.call(server, "alice") == 429)
        page.see("not set: each server applies its own setting")
        self.go(page, "audit")
        page.see("enforcement.set")
        page.see("enforcement.reset")

    def test_of_one_server_is_changed(self):
        server = self.serve_dashboard()
        self.assertEqual(self.call(server, "alice", times=21), 429)
        page = self.log_in(server, "control")
        self.change(page, "off", where="node")
        wait_until(lambda: self.call(server, "alice") == 200)
        page.see("limits are not evaluated")
        self.change(page, "on", where="node")
        wait_until(lambda: self.call(server, "alice") == 429)
        self.assertIsNone(self.admin(server, "GET", "/admin/v1/enforcement").json()["fleet"])


class LogLevel(DashboardTest):
    def test_is_changed(self):
        server = self.serve_dashboard()
        page = self.log_in(server, "control")
        page.find("main [name=level]")
        page.choose("main [name=level]", "debug")
        wait_until(lambda: self.admin(server, "GET", "/admin/log-level").json() == {"level": "debug"})
        page.see("The log level is debug.")


class Tokens(DashboardTest):
    def create(self, page, name, role):
        """Returns the secret."""
        page.click("main button", "New token")
        page.type("dialog [name=name]", name)
        page.choose("dialog [name=role]", role)
        page.click("dialog button[type=submit]")
        page.find("dialog [name=secret]")
        return page.run("return document.querySelector('dialog [name=secret]').value")

    def test_is_shown_once_works_and_is_revoked(self):
        self.expects_errors = True
        server = self.serve_dashboard()
        page = self.log_in(server, "control")
        page.see("There are no tokens besides")
        secret = self.create(page, "<i>night</i> shift", "operator")
        self.assertTrue(secret.startswith("sluice_"), secret)
        page.press(ENTER)
        page.gone("dialog")
        page.see("<i>night</i> shift")
        everything = page.run("return document.documentElement.outerHTML + [...document.querySelectorAll('input')].map(i => i.value)")
        self.assertNotIn(secret, everything)
        stored = page.run("return JSON.stringify([{...localStorage}, {...sessionStorage}, history.state])")
        self.assertNotIn(secret, stored)
        page.screenshot(self.screenshots / "control-tokens.png")
        other = self.log_in(server, "control", token=secret)
        other.see("Only administrators see tokens")
        other.see("operator")
        page.click("main button", "Revoke")
        page.click("dialog button[type=submit]")
        page.gone("dialog")
        other.see("Your session has ended")
        page.see("There are no tokens besides")
        self.go(page, "audit")
        page.see("token.create")
        page.see("token.revoke")
        self.assertNotIn(secret, self.admin(server, "GET", "/admin/v1/audit?limit=1000").text)

    def test_what_the_server_refuses_is_an_error_in_the_dialog(self):
        self.expects_errors = True
        page = self.log_in(self.serve_dashboard(), "control")
        page.click("main button", "New token")
        page.type("dialog [name=name]", "everything of a team")
        page.choose("dialog [name=role]", "admin")
        page.type("dialog [name=scope]", "team-a/")
        page.click("dialog button[type=submit]")
        page.see("INVALID_FIELD", "dialog")

    def test_each_change_needs_the_csrf_token(self):
        self.expects_errors = True
        server = self.serve_dashboard()
        page = self.log_in(server, "control")
        page.see("There are no tokens besides")
        for method, path, body in (
            ("PUT", "/admin/v1/enforcement", {"enforcement": "off"}),
            ("DELETE", "/admin/v1/enforcement", None),
            ("PUT", "/admin/enforcement", {"enforcement": "off"}),
            ("PUT", "/admin/log-level", {"level": "debug"}),
            ("POST", "/admin/v1/tokens", {"name": "x", "role": "admin"}),
            ("DELETE", "/admin/v1/tokens/x", None),
        ):
            for csrf in ({}, {"X-CSRF-Token": "AAAAAAAAAAAAAAAAAAAAAA"}):
                status = page.run(
                    "return fetch(arguments[1], {method: arguments[0], body: arguments[2] && JSON.stringify(arguments[2]),"
                    "headers: {...(arguments[2] ? {'Content-Type': 'application/json'} : {}), ...arguments[3]}}).then(r => r.status)",
                    method, path, body, csrf,
                )  # fmt: skip
                self.assertEqual(status, 403, f"{method} {path} {csrf}")
        self.assertEqual(self.admin(server, "GET", "/admin/v1/tokens").json()["tokens"], [])
        self.assertEqual(self.admin(server, "GET", "/admin/enforcement").json(), {"enforcement": "on"})


class Roles(DashboardTest):
    """Which buttons and controls a page of each role has."""

    expected = {
        "viewer": set(),
        "operator": {"Level"},
        "editor": {"Level", "Change enforcement\u2026"},
        "admin": {"Level", "Change enforcement\u2026", "New token\u2026", "Revoke\u2026"},
    }

    def test_the_controls_of_the_page_are_those_that_the_role_may_use(self):
        server = self.serve_dashboard()
        page = self.browse(server, "/dashboard/#/control")
        for role, expected in self.expected.items():
            token = self.admin(server, "POST", "/admin/v1/tokens", {"name": role, "role": role}).json()["token"]
            self.enter_token(page, token)
            page.see("limits are enforced.")
            page.see("info")
            page.find("main .facts, main .empty")
            page.see("Last used here" if role == "admin" else "Only administrators see tokens")
            controls = page.run(
                "return [...document.querySelectorAll('main button, main select, main input')]"
                ".map(e => e.labels?.[0]?.innerText ?? e.innerText)"
            )
            self.assertEqual(set(controls), expected, role)
            page.click("button", "Log out")
            page.see("You are logged out.")

    def test_a_token_with_a_scope_has_no_controls_of_the_whole_server(self):
        server = self.serve_dashboard()
        body = {"name": "team", "role": "editor", "scope": "team-a/"}
        token = self.admin(server, "POST", "/admin/v1/tokens", body).json()["token"]
        self.call(server, "alice")
        page = self.log_in(server, "control", token=token)
        page.see("limits are enforced.")
        page.see("team-a/")
        self.assertEqual(page.run("return document.querySelectorAll('main button, main select').length"), 0)
        self.go(page, "rules")
        page.see("Your token changes only rules whose ids begin with team-a/")
        page.see("1.1")
        self.assertTrue(page.run("return document.querySelector('textarea').readOnly"))
        self.go(page, "caller")
        page.type("form.search [name=value]", "alice")
        page.press(ENTER)
        page.see("Full in")
        buttons = page.run("return [...document.querySelectorAll('main .actions-row button')].map(b => b.innerText)")
        self.assertEqual(buttons, ["Block\u2026", "Raise\u2026"])


class Https(DashboardTest):
    def test_the_cookie_is_secure_and_belongs_to_the_host(self):
        certificate, key = Authority(self.folder).issue("server")
        server = self.serve_dashboard(*tls_flags(certificate, key, "http"))
        origin = f"https://localhost:{server.https}"
        self.origins.add(origin)
        page = self.browse()
        page.open(f"{origin}/dashboard/")
        self.enter_token(page)
        page.see("all 1 ok")
        (cookie,) = page.cookies()
        self.assertTrue(cookie["secure"])
        self.assertTrue(cookie["httpOnly"])
        self.assertEqual(cookie["sameSite"], "Strict")
        self.assertTrue(cookie["name"].startswith("__Host-"), cookie["name"])
        self.assertEqual(cookie["path"], "/")
        self.assertLessEqual(cookie["expiry"] - time.time(), 12 * 3600)
        self.go(page, "entries")
        page.click("main button", "New entry")
        page.type("dialog [name=value]", "mallory")
        page.click("dialog button[type=submit]")
        page.gone("dialog")
        wait_until(lambda: self.call(server, "mallory") == 403)
        # The plaintext listener is another origin, and does not get the cookie.
        page.open(f"{self.origin(server)}/dashboard/")
        page.find("input[name=token]")
        page.open(f"{origin}/dashboard/")
        page.see("all 1 ok")
        page.click("button", "Log out")
        page.see("You are logged out.")
        self.assertEqual(page.cookies(), [])


class Jwt(DashboardTest):
    expects_errors = True

    def setUp(self):
        super().setUp()
        self.issuer = Issuer(self.folder, "issuer")
        self.server = self.serve_dashboard(
            "--admin-jwt-key-files", self.issuer.public, "--admin-jwt-issuer", "https://login.example", "--admin-jwt-audience", "sluice"
        )

    def token(self, **more):
        claims = {"iss": "https://login.example", "aud": "sluice", "exp": int(time.time()) + 3600}
        return self.issuer.sign(claims | more)

    def test_gives_the_role_of_its_claim(self):
        page = self.log_in(self.server, "control", token=self.token(sub="<u>alice</u>", role="operator"))
        page.see("Only administrators see tokens")
        page.see("<u>alice</u>")
        page.see("jwt")
        self.go(page, "entries")
        page.click("main button", "New entry")
        page.type("dialog [name=value]", "mallory")
        page.click("dialog button[type=submit]")
        page.gone("dialog")
        wait_until(lambda: self.call(self.server, "mallory") == 403)
        self.go(page, "audit")
        page.see("<u>alice</u>")

    def test_of_another_audience_expired_or_without_a_role_is_refused(self):
        page = self.browse(self.server)
        for token in (self.token(sub="a", role="admin", aud="shop"), self.token(sub="a", role="admin", exp=1), self.token(sub="a"), self.token(sub="a", role="checker")):
            self.enter_token(page, token)
            page.find(".errors .notice.bad")
            page.run("document.querySelector('.errors').replaceChildren()")
        self.assertEqual(page.cookies(), [])

    def test_the_session_ends_when_its_key_is_replaced(self):
        page = self.log_in(self.server, token=self.token(sub="alice", role="viewer"))
        page.see("all 1 ok")
        Issuer(self.folder, "other").public.replace(self.issuer.public)
        page.see("Your session has ended")


if __name__ == "__main__":
    require_browser()
    unittest.main()
