"""Each page of the dashboard in a real browser, with live traffic. Screenshots are written to build/screenshots/."""

import unittest

from support.browser import CONTROL, ENTER
from support.control import rules
from support.dashboard import RULES, TOKEN, DashboardTest, require_browser
from support.environment import wait_until


class Now(DashboardTest):
    def test_the_page_shows_the_node_and_its_health(self):
        server = self.serve_dashboard()
        self.traffic(server)
        page = self.log_in(server)
        page.see("all 1 ok")
        page.see("Rules 1.1")
        page.see("rules source")
        self.assertEqual(page.text("h1"), "Now")

    def test_light_dark_and_phone_width(self):
        server = self.serve_dashboard()
        self.traffic(server)
        page = self.log_in(server)
        page.see("all 1 ok")
        page.screenshot(self.screenshots / "now-light.png")
        page.click("button[aria-label='Light or dark']")
        self.assertEqual(page.run("return getComputedStyle(document.body).backgroundColor"), "rgb(14, 17, 18)")
        page.screenshot(self.screenshots / "now-dark.png")
        page.resize(390, 844)
        for name in ("now", "top", "caller", "rules", "entries", "denials", "audit", "store", "control"):
            self.go(page, name)
            wide = page.run("return document.documentElement.scrollWidth - innerWidth")
            self.assertLessEqual(wide, 0, f"{name} is wider than a phone")
            page.screenshot(self.screenshots / f"{name}-phone.png")

    def test_the_page_says_that_the_server_is_gone_and_goes_on_when_it_is_back(self):
        self.expects_errors = True
        secret = self.folder / "secret"
        secret.write_text("a secret of enough length for receipts", encoding="utf-8")
        server = self.serve_dashboard("--receipts-secret-file", secret)
        page = self.log_in(server)
        page.see("all 1 ok")
        port = server.http
        server.stop()
        page.see("The server does not answer.", ".banner")
        self.assertEqual(page.text("h1"), "Now")
        again = self.serve_dashboard("--receipts-secret-file", secret, http_port=port)
        self.assertEqual(again.http, port)
        wait_until(lambda: page.text(".banner") == "")
        page.see("all 1 ok")


class Rules(DashboardTest):
    def replace_text(self, page, old, new):
        """Edits the document as a user does, by keys."""
        page.find("main[data-page=rules] textarea")
        wait_until(lambda: old in page.run("return document.querySelector('textarea').value"))
        page.run(
            "const t = document.querySelector('textarea'); const at = t.value.indexOf(arguments[0]);"
            "t.focus(); t.setSelectionRange(at, at + arguments[0].length);", old,
        )  # fmt: skip
        page.press(*new)

    def test_a_rule_is_changed_and_restored(self):
        server = self.serve_dashboard()
        self.assertEqual(self.call(server, "alice"), 200)
        page = self.log_in(server, "rules")
        self.replace_text(page, "limit: 20", "limit: 5")
        page.click("button", "Check")
        page.see("tightens")
        page.screenshot(self.screenshots / "rules.png", whole=True)
        page.click("button", "Commit")
        page.type("dialog input[type=text]", "fewer for everybody")
        page.press(ENTER)
        page.gone("dialog")
        page.see("active on 1 of 1")
        wait_until(lambda: self.limit(server) == "5")
        page.see("fewer for everybody")
        page.click("button[aria-label='Restore version 1.1']")
        page.see("loosens", "dialog")
        page.type("dialog input[type=text]", "back again")
        page.press(ENTER)
        page.gone("dialog")
        wait_until(lambda: self.limit(server) == "20")
        page.see("back again")
        self.assertEqual(page.run("return document.querySelector('textarea').value"), RULES)
        self.go(page, "audit")
        page.see("rules.restore")
        page.see("fewer for everybody")
        page.screenshot(self.screenshots / "audit.png")

    def limit(self, server):
        return server.request("GET", "/api/v1/rate-limit/remaining?api_key=someone").headers["X-RateLimit-Limit"]

    def test_errors_are_shown_at_their_lines(self):
        self.expects_errors = True
        page = self.log_in(self.serve_dashboard(), "rules")
        self.replace_text(page, "limit: 20", "limit: many")
        page.press((CONTROL, ENTER))
        page.see("6:", ".findings")
        self.assertEqual(page.text(".gutter .bad"), "6")
        page.see("RULES_INVALID")
        page.screenshot(self.screenshots / "rules-errors.png")
        page.click(".findings button")
        self.assertEqual(page.focused(), "Rules as YAML")

    def test_of_two_editors_the_second_sees_what_the_first_changed(self):
        self.expects_errors = True
        server = self.serve_dashboard()
        page = self.log_in(server, "rules")
        self.replace_text(page, "limit: 20", "limit: 30")
        tag = self.admin(server, "GET", "/admin/v1/rules").headers["ETag"]
        headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/yaml", "If-Match": tag}
        self.assertEqual(server.request("PUT", "/admin/v1/rules", rules(7), headers).status, 200)
        page.see("is current now")
        page.click("button", "Check")
        page.see("PRECONDITION_FAILED")
        page.click("button", "Load the current version")
        wait_until(lambda: page.run("return document.querySelector('textarea').value") == rules(7))

    def test_rules_of_a_file_are_read_only_and_the_page_names_the_file(self):
        self.expects_errors = True
        server = self.serve("--admin-token", TOKEN, rules=RULES)
        self.origins.add(self.origin(server))
        page = self.log_in(server, "rules")
        page.see("the rules come from")
        page.see("rules.yaml")
        page.see("read-only")
        self.assertTrue(page.run("return document.querySelector('textarea').readOnly"))


if __name__ == "__main__":
    require_browser()
    unittest.main()
