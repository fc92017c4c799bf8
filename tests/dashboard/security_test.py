"""The dashboard against hostile texts, other sites and ended sessions; and for people who use a keyboard."""

import http.server
import json
import threading
import unittest
import urllib.parse

from support.browser import ENTER, ESCAPE, TAB
from support.dashboard import HOSTILE, RULES, TOKEN, DashboardTest, require_browser
from support.environment import wait_until
from support.redis_servers import RedisServer


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

    def test_another_site_can_neither_read_nor_change_anything(self):
        """With every way to send a request that a page has. Its site is not the server's: the cookie stays at home."""
        server = self.serve_dashboard()
        page = self.log_in(server, "rules", names=["evil.test"])
        page.see("current")
        attack = """<body><iframe name=hidden1></iframe><iframe name=hidden2></iframe><script>
          const target = "%s";
          const read = [];
          const json = {"Content-Type": "application/json"};
          const entry = JSON.stringify({match: {api_key: "victim"}, effect: "block"});
          const element = (tag, set) => new Promise((done) => {
            const e = Object.assign(document.createElement(tag), set);
            e.onload = () => { read.push(tag); done(); }; e.onerror = done; document.body.append(e);
          });
          const form = (enctype, name) => {
            const f = Object.assign(document.createElement("form"), {method: "post", enctype, target: name, action: target + "/admin/v1/rules/versions/1.1/restore"});
            f.append(Object.assign(document.createElement("input"), {name: '{"enforcement":"off","x":"', value: '"}'}));
            document.body.append(f); f.submit();
          };
          const source = new Promise((done) => {
            const s = new EventSource(target + "/admin/v1/denials", {withCredentials: true});
            s.onopen = () => { read.push("events"); done(); }; s.onerror = () => { s.close(); done(); };
          });
          const socket = new Promise((done) => {
            const s = new WebSocket(target.replace("http", "ws") + "/admin/v1/denials");
            s.onopen = () => { read.push("socket"); done(); }; s.onerror = done;
          });
          const get = (path) => fetch(target + path, {credentials: "include"}).then(r => r.text()).then(() => read.push(path));
          form("text/plain", "hidden1");
          form("application/x-www-form-urlencoded", "hidden2");
          navigator.sendBeacon(target + "/admin/rules/reload", "{}");
          Promise.allSettled([
            get("/admin/v1/rules"), get("/dashboard/session"), get("/dashboard/"), get("/admin/v1/tokens"),
            fetch(target + "/admin/v1/entries/x", {method: "PUT", headers: json, body: entry, credentials: "include"}),
            fetch(target + "/admin/v1/entries/x", {method: "PUT", mode: "no-cors", body: entry, credentials: "include"}),
            fetch(target + "/admin/v1/entries:batch", {method: "POST", mode: "no-cors", body: "{}", credentials: "include"}),
            fetch(target + "/admin/v1/enforcement", {method: "DELETE", credentials: "include"}),
            fetch(target + "/dashboard/session", {method: "DELETE", credentials: "include"}),
            fetch(target + "/dashboard/session", {method: "POST", mode: "no-cors", body: '{"token":"chosen-by-the-other-site"}', credentials: "include"}),
            element("script", {src: target + "/admin/v1/rules"}), element("img", {src: target + "/admin/v1/rules"}),
            element("link", {rel: "stylesheet", href: target + "/admin/v1/rules"}), element("script", {src: target + "/admin/v1/nodes", type: "module"}),
            source, socket,
          ]).then(() => document.body.append("read: " + read.join(" ") + "."));
        </script>""" % self.origin(server)
        site = self.enterContext(Site(attack))
        self.origins |= {f"http://evil.test:{site.port}", self.origin(server).replace("http", "ws")}
        page.open(f"http://evil.test:{site.port}/")
        page.see("read: .")
        records = self.admin(server, "GET", "/admin/v1/audit?limit=1000").text
        for action in ("restore", "reload", "entry", "enforcement"):
            self.assertNotIn(action, records)
        self.assertEqual(self.admin(server, "GET", "/admin/v1/entries").json()["entries"], [])
        page.open(self.origin(server) + "/dashboard/")
        page.find("nav")

    def test_a_window_that_another_site_has_opened_is_out_of_its_reach(self):
        server = self.serve_dashboard(token=None)
        attack = """<button onclick="w = window.open('%s/dashboard/')">open</button>""" % self.origin(server)
        site = self.enterContext(Site(attack))
        self.origins.add(f"http://evil.test:{site.port}")
        page = self.browse(names=["evil.test"])
        page.open(f"http://evil.test:{site.port}/")
        page.click("button")
        # Cross-Origin-Opener-Policy gives the window a group of its own: for its opener it is closed.
        wait_until(lambda: page.run("return typeof w === 'object' && w !== null && w.closed"))

    def test_without_a_token_a_name_that_points_to_this_machine_shows_nothing(self):
        """DNS rebinding: for the browser, pages of that name and the server are one origin."""
        server = self.serve_dashboard(token=None)
        page = self.browse(names=["rebound.test"])
        origin = f"http://rebound.test:{server.http}"
        self.origins.add(origin)
        page.open(f"{origin}/dashboard/")
        page.see("DNS rebinding")
        for method, path, body in (
            ("GET", "/admin/v1/rules", None), ("GET", "/admin/v1/keys", None), ("GET", "/admin/v1/denials?follow=0", None),
            ("PUT", "/admin/v1/entries/x", '{"match": {"api_key": "a"}, "effect": "block"}'), ("PUT", "/admin/log-level", '{"level": "debug"}'),
        ):  # fmt: skip
            status = page.run(
                "return fetch(arguments[1], {method: arguments[0], body: arguments[2], headers: arguments[2] ? {'Content-Type': 'application/json'} : {}})"
                ".then(r => r.status)", method, path, body,
            )  # fmt: skip
            self.assertEqual(status, 403, f"{method} {path}")

    def test_a_session_is_not_that_of_another_name_of_this_machine(self):
        server = self.serve_dashboard()
        page = self.log_in(server, names=["rebound.test"])
        page.see("all 1 ok")
        origin = f"http://rebound.test:{server.http}"
        self.origins.add(origin)
        page.open(f"{origin}/dashboard/")
        page.find("input[name=token]")
        self.assertEqual(page.run("return fetch('/admin/v1/rules').then(r => r.status)"), 401)

    def test_the_policy_of_the_page_refuses_markup_scripts_and_other_origins(self):
        server = self.serve_dashboard()
        page = self.log_in(server)
        page.see("all 1 ok")
        tried = page.run(
            "const found = [];"
            "for (const [name, act] of [['innerHTML', () => { document.body.innerHTML = '<b>x</b>'; }],"
            "  ['insertAdjacentHTML', () => document.body.insertAdjacentHTML('beforeend', '<b>x</b>')],"
            "  ['srcdoc', () => { document.createElement('iframe').srcdoc = '<b>x</b>'; }]])"
            "  try { act(); found.push(name); } catch {}"
            "return found;"
        )
        self.assertEqual(tried, [])
        # The browser logs what it refuses as if it were sent.
        self.origins.add("http://evil.test:1")
        for directive, script in (("connect-src", "fetch('http://evil.test:1/').catch(() => {})"), ("img-src", "new Image().src = 'http://evil.test:1/x.png'"),
                                  ("style-src-attr", "document.body.setAttribute('style', 'color: red')")):  # fmt: skip
            refused = page.run(
                "return new Promise((done) => { document.addEventListener('securitypolicyviolation', (e) => done(e.effectiveDirective), {once: true});"
                f"{script}; }})"
            )
            self.assertEqual(refused, directive)

    def test_answers_to_administrators_are_kept_by_no_cache(self):
        server = self.serve_dashboard()
        for path in ("/admin/v1/rules", "/admin/v1/nodes", "/admin/v1/keys", "/admin/rules", "/admin/v1/tokens", "/admin/v1/entries/none", "/dashboard/session"):
            headers = self.admin(server, "GET", path).headers
            self.assertEqual((headers.get_all("Cache-Control"), headers["X-Content-Type-Options"]), (["no-store"], "nosniff"), path)

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
        for expected in ("Skip to content", "Now", "Top", "Caller", "Rules", "Entries", "Denials", "Audit", "Store", "Control", "Light or dark", "Log out", "6 h"):
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

    def test_paths_of_calls(self):
        server = self.serve_dashboard()
        self.call(server, "mallory", times=20)
        for path in HOSTILE:
            query = urllib.parse.urlencode({"api_key": "mallory", "endpoint": path, "method": "GET"})
            self.assertEqual(server.request("GET", f"/api/v1/rate-limit/check?{query}").status, 429)
        page = self.log_in(server, "denials")
        self.assert_shown(page, HOSTILE[0], HOSTILE[1], HOSTILE[6], HOSTILE[7])
        page.click("main td button", "Why")
        page.see("0 of 20 left", "dialog")
        page.press(ESCAPE)
        page.gone("dialog")
        self.go(page, "caller")
        page.type("form.search [name=value]", "mallory")
        page.click("main button", "Add an attribute")
        page.press(*HOSTILE[0], ENTER)
        page.see("Full in")
        self.assert_shown(page, HOSTILE[0])

    def test_what_another_writer_of_the_store_says_about_nodes(self):
        redis = self.enterContext(RedisServer())
        server = self.serve_dashboard(store=redis.url)
        page = self.log_in(server)
        page.see("all 1 ok")
        nodes = "sluice:v1:control:{default}:nodes"
        (name, text) = redis.send("HGETALL", nodes)
        seen, _, record = text.partition(" ")
        hostile = json.loads(record) | {"id": HOSTILE[0], "address": HOSTILE[1], "build": HOSTILE[3], "store": HOSTILE[6], "error": HOSTILE[7]}
        redis.send("HSET", nodes, HOSTILE[0], f"{int(seen) + 3_600_000_000} {json.dumps(hostile)}")
        self.assert_shown(page, HOSTILE[0], HOSTILE[1], HOSTILE[3], HOSTILE[6])
        page.choose(".heading select", f"node {HOSTILE[0]}")
        self.go(page, "rules")
        self.assert_shown(page, HOSTILE[0])
        self.expects_errors = True  # That node has published no series.

    def test_errors_of_rules_quote_the_text(self):
        self.expects_errors = True
        page = self.log_in(self.serve_dashboard(), "rules")
        wait_until(lambda: "limit: 20" in page.run("return document.querySelector('textarea').value"))
        page.run(
            "const t = document.querySelector('textarea'); t.value = t.value.replace('limit: 20', 'limit: ' + JSON.stringify(arguments[0]));"
            "t.dispatchEvent(new Event('input'))", HOSTILE[1],
        )  # fmt: skip
        page.click("button", "Check")
        page.find(".findings li")
        self.assert_shown(page)

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
        forbidden = ("Commit", "Check", "Restore", "Block\u2026", "Raise", "Grant", "Reset", "New entry", "Change", "Remove", "Unblock", "Roll back", "New token", "Revoke", "End")
        for name in ("now", "top", "caller", "rules", "entries", "denials", "audit", "store", "control"):
            self.go(page, name)
            if name == "caller":
                page.type("form.search [name=value]", "alice")
                page.press(ENTER)
                page.see("Full in")
            if name == "entries":
                page.see("abuse")
            buttons = page.run("return [...document.querySelectorAll('main button')].map(b => b.innerText)")
            for button in buttons:
                self.assertFalse(button.startswith(forbidden), f"{name}: {button}")
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
    pages = ("now", "top", "caller", "rules", "entries", "denials", "audit", "store", "control")

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
                page.find("main .table td, main .empty, main .meter, main .facts")
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
