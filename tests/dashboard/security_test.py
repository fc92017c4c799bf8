"""The dashboard against hostile texts, other sites and ended sessions; and for people who use a keyboard."""

import http.server
import threading
import unittest
import urllib.parse

from support.browser import ENTER, ESCAPE, TAB
from support.dashboard import HOSTILE, RULES, TOKEN, DashboardTest, require_browser
from support.environment import wait_until


class Site:
    """Another site on this machine: a page for a browser."""

    def __init__(self, page):
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                body = page.encode()
                self.send_response(200)
                self.send_header("Content-Type", "text/html")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


class Sessions(DashboardTest):
    expects_errors = True

    def test_a_wrong_token_is_refused_and_the_right_one_is_not_kept_by_the_page(self):
        page = self.browse(self.serve_dashboard())
        self.enter_token(page, "a-wrong-token-of-some-length")
        page.see("UNAUTHORIZED")
        page.screenshot(self.screenshots / "login.png")
        self.enter_token(page)
        page.find("nav")
        (cookie,) = page.cookies()
        self.assertTrue(cookie["httpOnly"])
        self.assertEqual(cookie["sameSite"], "Strict")
        self.assertNotIn(TOKEN, cookie["value"])
        self.assertEqual(page.run("return document.cookie"), "")
        stored = page.run("return JSON.stringify([{...localStorage}, {...sessionStorage}])")
        self.assertNotIn(TOKEN, stored)
        self.assertNotIn(TOKEN, page.run("return document.documentElement.outerHTML"))

    def test_logging_out_ends_the_session_of_this_browser_only(self):
        server = self.serve_dashboard()
        one, other = self.log_in(server), self.log_in(server)
        one.click("button", "Log out")
        one.see("You are logged out.")
        self.assertEqual(one.cookies(), [])
        one.open(self.origin(server) + "/dashboard/#/rules")
        one.find("input[name=token]")
        self.go(other, "rules")
        other.find("textarea")

    def test_an_expired_session_shows_the_login_and_says_why(self):
        page = self.log_in(self.serve_dashboard())
        page.see("all 1 ok")
        page.call("DELETE", "/cookie")
        page.see("Your session has ended")
        self.enter_token(page)
        page.see("all 1 ok")

    def test_without_a_secret_file_a_restart_ends_sessions(self):
        server = self.serve_dashboard()
        page = self.log_in(server)
        page.see("all 1 ok")
        port = server.http
        server.stop()
        self.serve_dashboard(http_port=port)
        page.see("Your session has ended")
        self.enter_token(page)
        page.see("all 1 ok")

    def test_without_a_token_the_page_of_this_machine_is_an_administrators(self):
        server = self.serve_dashboard(token=None)
        page = self.browse(server, "/dashboard/#/rules")
        page.see("local")
        page.find("textarea")
        wait_until(lambda: "limit: 20" in page.run("return document.querySelector('textarea').value"))
        page.run("const t = document.querySelector('textarea'); t.focus(); t.setSelectionRange(t.value.length, t.value.length)")
        page.press(*"# more\n".replace("\n", ENTER))
        page.click("button", "Commit")
        page.find("dialog")
        page.press(ENTER)
        page.gone("dialog")
        wait_until(lambda: len(self.versions(server)) == 2)


class OtherSites(DashboardTest):
    expects_errors = True

    def test_the_dashboard_cannot_be_framed(self):
        server = self.serve_dashboard(token=None)
        site = self.enterContext(Site(f"<iframe id=f src='{self.origin(server)}/dashboard/'></iframe>"))
        page = self.browse()
        self.origins.add(f"http://localhost:{site.port}")
        page.open(f"http://localhost:{site.port}/")
        wait_until(lambda: "frame-ancestors" in page.console() or "X-Frame-Options" in page.console())

    def test_a_page_of_another_port_of_the_same_host_can_change_nothing(self):
        """It is the same site, so that the cookie is sent; it is another origin."""
        server = self.serve_dashboard()
        page = self.log_in(server, "rules")
        page.see("current")
        attack = """<script>
          const target = "%s";
          const tries = [
            fetch(target + "/admin/v1/rules/versions/1.1/restore", {method: "POST", mode: "no-cors", credentials: "include"}),
            fetch(target + "/admin/rules/reload", {method: "POST", mode: "no-cors", credentials: "include", body: "{}"}),
            fetch(target + "/dashboard/session", {method: "DELETE", credentials: "include"}),
            fetch(target + "/admin/v1/rules", {credentials: "include"}).then(r => r.text()).then(t => document.title = t),
          ];
          Promise.allSettled(tries).then(() => document.body.append("tried"));
        </script>""" % self.origin(server)
        site = self.enterContext(Site(attack))
        self.origins.add(f"http://localhost:{site.port}")
        page.open(f"http://localhost:{site.port}/")
        page.see("tried")
        self.assertEqual(page.run("return document.title"), "")
        records = self.admin(server, "GET", "/admin/v1/audit?limit=1000").text
        self.assertNotIn("restore", records)
        self.assertNotIn("reload", records)
        page.open(self.origin(server) + "/dashboard/")
        page.find("nav")

    def test_without_a_token_no_other_page_reads_or_changes_anything(self):
        server = self.serve_dashboard(token=None)
        attack = """<script>
          const target = "%s";
          Promise.allSettled([
            fetch(target + "/admin/v1/rules/versions/1.1/restore", {method: "POST", mode: "no-cors"}),
            fetch(target + "/admin/v1/rules").then(r => r.text()).then(t => document.title = t),
          ]).then(() => document.body.append("tried"));
        </script>""" % self.origin(server)
        site = self.enterContext(Site(attack))
        self.origins.add(f"http://localhost:{site.port}")
        page = self.browse()
        page.open(f"http://localhost:{site.port}/")
        page.see("tried")
        self.assertEqual(page.run("return document.title"), "")
        self.assertEqual(len(self.versions(server)), 1)


class Keyboard(DashboardTest):
    def test_everything_is_reached_by_keys_and_the_focus_is_visible(self):
        page = self.browse(self.serve_dashboard())
        page.find("input[name=token]")
        page.press(*TOKEN, ENTER)
        page.see("all 1 ok")
        seen = []
        for _ in range(40):
            page.press(TAB)
            outline = page.run(
                "const e = document.activeElement; const s = getComputedStyle(e);"
                "return e === document.body ? 'body' : s.outlineStyle !== 'none' && parseFloat(s.outlineWidth) >= 2"
            )
            self.assertIn(outline, (True, "body"), page.focused())
            seen.append(page.focused())
        for expected in ("Skip to content", "Now", "Top", "Caller", "Rules", "Entries", "Denials", "Audit", "Store", "Light or dark", "Log out", "6 h"):
            self.assertIn(expected, seen)
        page.press("g", "r")
        page.find("main[data-page=rules] textarea")
        page.press("g", "a")
        page.find("main[data-page=audit]")

    def test_a_dialog_takes_the_focus_and_gives_it_back(self):
        page = self.log_in(self.serve_dashboard(), "rules")
        page.click("button[aria-label='View version 1.1']")
        page.find("dialog")
        self.assertTrue(page.run("return document.querySelector('dialog').contains(document.activeElement)"))
        page.press(ESCAPE)
        page.gone("dialog")
        wait_until(lambda: page.focused() == "View version 1.1")


class HostileTexts(DashboardTest):
    """Markup, direction marks and the longest keys in every list: shown as text, within the layout."""

    def assert_shown(self, page, *texts):
        for text in texts:
            page.see(text)
        self.assertEqual(page.run("return document.querySelectorAll('main script, main img, main iframe').length"), 0)
        self.assertLessEqual(page.run("return document.documentElement.scrollWidth - innerWidth"), 0)

    def test_keys_in_every_list(self):
        server = self.serve_dashboard()
        for key in HOSTILE:
            self.call(server, key, times=22)
        for number, key in enumerate(HOSTILE):
            body = {"match": {"api_key": key}, "effect": "block", "reason": HOSTILE[0]}
            self.assertEqual(self.admin(server, "PUT", f"/admin/v1/entries/hostile-{number}", body).status, 200)
        page = self.log_in(server, "top")
        marks = "\u2039U+202E\u203agnp.exe"
        for name in ("top", "denials", "entries", "caller"):
            self.go(page, name)
            self.assert_shown(page, HOSTILE[0], HOSTILE[1], marks)
            page.screenshot(self.screenshots / f"hostile-{name}.png")
        for key in HOSTILE:
            self.go(page, "caller")
            page.type("form.search [name=value]", key)
            page.press(ENTER)
            page.see("Full in")
            page.see("block")
            self.assert_shown(page)
        page.resize(390, 844)
        for name in ("top", "denials", "entries", "caller"):
            self.go(page, name)
            self.assert_shown(page, HOSTILE[0])

    def test_rule_texts_messages_and_node_addresses(self):
        server = self.serve_dashboard()
        page = self.log_in(server, "rules")
        headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/yaml"}
        headers["If-Match"] = self.admin(server, "GET", "/admin/v1/rules").headers["ETag"]
        text = RULES + f"# {HOSTILE[0]} {HOSTILE[4]}\n"
        message = urllib.parse.quote(HOSTILE[1])
        self.assertEqual(server.request("PUT", f"/admin/v1/rules?message={message}", text, headers).status, 200)
        wait_until(lambda: page.run("return document.querySelector('textarea').value") == text)
        self.assert_shown(page, HOSTILE[1])
        page.click("button[aria-label='View version 1.2']")
        page.see(HOSTILE[0], "dialog")
        page.press(ESCAPE)
        page.gone("dialog")
        self.go(page, "audit")
        self.assert_shown(page, HOSTILE[1])


class Viewers(DashboardTest):
    def test_a_viewers_page_has_no_action_that_a_viewer_may_not_do(self):
        server = self.serve_dashboard()
        self.call(server, "alice", times=22)
        made = self.admin(server, "POST", "/admin/v1/tokens", {"name": "night shift", "role": "viewer"}).json()
        entry = {"match": {"api_key": "mallory"}, "effect": "block", "reason": "abuse"}
        self.assertEqual(self.admin(server, "PUT", "/admin/v1/entries/a", entry).status, 200)
        page = self.log_in(server, "rules", token=made["token"])
        page.see("needs the role editor")
        self.assertTrue(page.run("return document.querySelector('textarea').readOnly"))
        allowed = {"Now", "Log out", "Light or dark"}
        forbidden = ("Commit", "Check", "Restore", "Block\u2026", "Raise", "Grant", "Reset", "New entry", "Change", "Remove", "Unblock", "Roll back")
        for name in ("now", "top", "caller", "rules", "entries", "denials", "audit", "store"):
            self.go(page, name)
            if name == "caller":
                page.type("form.search [name=value]", "alice")
                page.press(ENTER)
                page.see("Full in")
            if name == "entries":
                page.see("abuse")
            buttons = page.run("return [...document.querySelectorAll('main button')].map(b => b.innerText)")
            for button in buttons:
                self.assertFalse(button.startswith(forbidden) and button not in allowed, f"{name}: {button}")
            page.screenshot(self.screenshots / f"viewer-{name}.png")
        # And if a page did: the server refuses.
        status = page.run(
            "return fetch('/dashboard/session').then(r => r.json()).then(s => fetch('/admin/v1/entries/b', {method: 'PUT',"
            "headers: {'Content-Type': 'application/json', 'X-CSRF-Token': s.csrf},"
            "body: JSON.stringify({match: {api_key: 'x'}, effect: 'block'})})).then(r => r.status)"
        )
        self.assertEqual(status, 403)
        self.expects_errors = True

    def test_a_session_ends_when_its_token_is_revoked(self):
        self.expects_errors = True
        server = self.serve_dashboard()
        made = self.admin(server, "POST", "/admin/v1/tokens", {"name": "night shift", "role": "viewer"}).json()
        page = self.log_in(server, token=made["token"])
        page.see("all 1 ok")
        self.assertIn(self.admin(server, "DELETE", f"/admin/v1/tokens/{made['id']}").status, (200, 204))
        page.see("Your session has ended")


CONTRAST = """
function channel(c) { c /= 255; return c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4; }
function light([r, g, b]) { return 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b); }
const canvas = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
function rgba(color) {  // Any notation of CSS.
  canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = color; canvas.fillRect(0, 0, 1, 1);
  const d = canvas.getImageData(0, 0, 1, 1).data; return [d[0], d[1], d[2], d[3] / 255];
}
function behind(element) {
  const layers = [];
  for (let e = element; e; e = e.parentElement) {
    const c = rgba(getComputedStyle(e).backgroundColor);
    if (c[3] > 0) layers.push(c);
    if (c[3] === 1) break;
  }
  let base = [255, 255, 255];
  for (const c of layers.reverse()) base = base.map((v, i) => v * (1 - c[3]) + c[i] * c[3]);
  return base;
}
const bad = [];
for (const e of document.querySelectorAll("body *")) {
  const own = [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim());
  if (!own || !e.checkVisibility({opacityProperty: true, visibilityProperty: true}) || e.closest(":disabled, .hidden, .skip, [aria-hidden=true]")) continue;
  const s = getComputedStyle(e);
  const text = rgba(e instanceof SVGElement ? s.fill : s.color), ground = behind(e);
  const mixed = ground.map((v, i) => v * (1 - text[3]) + text[i] * text[3]);
  const [a, b] = [light(mixed), light(ground)].sort((x, y) => y - x);
  const ratio = (a + 0.05) / (b + 0.05);
  const large = parseFloat(s.fontSize) >= 24 || (parseFloat(s.fontSize) >= 18.66 && s.fontWeight >= 700);
  if (ratio < (large ? 3 : 4.5)) bad.push(`${e.className || e.tagName} "${e.textContent.slice(0, 30)}": ${ratio.toFixed(2)}`);
}
return bad;
"""
UNLABELED = """
const bad = [];
for (const e of document.querySelectorAll("button, a, input, select, textarea, [role=img], [role=region], nav")) {
  if (!e.checkVisibility()) continue;
  const name = e.getAttribute("aria-label") || (e.getAttribute("aria-labelledby") && document.getElementById(e.getAttribute("aria-labelledby"))?.innerText)
    || [...(e.labels ?? [])].map(l => l.innerText).join("") || e.innerText;
  if (!name || !name.trim()) bad.push(e.outerHTML.slice(0, 120));
}
const ids = [...document.querySelectorAll("[id]")].map(e => e.id);
for (const id of ids.filter((id, i) => ids.indexOf(id) !== i)) bad.push("twice: " + id);
if (document.querySelectorAll("h1").length !== 1) bad.push("not one h1");
if (!document.documentElement.lang) bad.push("no lang");
return bad;
"""


class Accessibility(DashboardTest):
    pages = ("now", "top", "caller", "rules", "entries", "denials", "audit", "store")

    def assert_accessible(self, page, name):
        self.assertEqual(page.run(CONTRAST), [], f"{name}: contrast below AA")
        self.assertEqual(page.run(UNLABELED), [], f"{name}: without a name")

    def test_contrast_is_aa_and_controls_have_names_in_light_and_dark(self):
        server = self.serve_dashboard()
        page = self.browse(server)
        for dark in (False, True):
            page.prefer(dark)
            page.find("input[name=token]")
            self.assert_accessible(page, "login")
        self.enter_token(page)
        for dark in (True, False):
            page.prefer(dark)
            for name in self.pages:
                self.go(page, name)
                page.find("main .table td, main .empty, main .meter")
                self.assert_accessible(page, f"{name}, {'dark' if dark else 'light'}")

    def test_the_files_are_small_and_the_first_paint_is_measured(self):
        page = self.log_in(self.serve_dashboard())
        page.open(page.run("return location.href"))
        page.find("nav")
        paint = wait_until(lambda: page.run("return performance.getEntriesByName('first-contentful-paint')[0]?.startTime"))
        print(f"first contentful paint: {paint:.0f} ms")
        bytes_ = page.run(
            "return performance.getEntriesByType('resource').filter(r => r.name.includes('/assets/'))"
            ".reduce((sum, r) => sum + r.encodedBodySize, 0)"
        )
        print(f"files: {bytes_} bytes, compressed")
        self.assertLess(bytes_, 300 << 10)


if __name__ == "__main__":
    require_browser()
    unittest.main()
