"""The dashboard of a fleet: Redis and twenty nodes, nodes that go away, a store that does not answer, many entries."""

import os
import random
import threading
import time
import unittest

from support.browser import ENTER
from support.dashboard import RULES, TOKEN, DashboardTest, require_browser
from support.environment import run_in_parallel, scaled, wait_until
from support.redis_servers import RedisServer

NODES = 20
# Seconds of traffic before the pictures; those of docs/images are made after ten minutes.
TOUR_SECONDS = float(os.environ.get("SLUICE_TOUR_SECONDS", "0"))
TOUR_RULES = """# Limits of the public API.
rules:
  - id: api
    per: [api_key]
    limit: 600 per minute
  - id: search
    match: { endpoint: /v1/search }
    per: [api_key]
    algorithm: sliding_window_counter
    limit: 30
    window: 1m
  - id: export
    match: { endpoint: /v1/export }
    per: [api_key]
    algorithm: fixed_window
    limit: 5
    window: 1h
"""
PAGES = ("now", "top", "caller", "rules", "entries", "denials", "audit", "store", "control")


class FleetTest(DashboardTest):
    """Servers with one event loop each, on one Redis."""

    def setUp(self):
        super().setUp()
        self.redis = self.enterContext(RedisServer())

    def serve_nodes(self, count, rules=RULES):
        """The first has the rules, which it stores for the others."""
        def start(number, rules):
            return self.serve_dashboard(
                state=f"node-{number}", store=self.redis.url, store_deadline="2s", threads=1, rules=rules
            )

        first = start(0, rules)
        return [first, *run_in_parallel(start, *((number, None) for number in range(1, count)))]

    def rows(self, page, label):
        return page.run("return document.querySelectorAll(`[aria-label='${arguments[0]}'] tbody tr:not(.none)`).length", label)

    def node_list(self, server):
        return self.admin(server, "GET", "/admin/v1/nodes").json()["nodes"]


class Fleet(FleetTest):
    def test_the_charts_show_the_sum_and_any_node(self):
        nodes = self.serve_nodes(NODES)
        for node in nodes[:3]:
            self.traffic(node)
        page = self.log_in(nodes[0])
        page.see(f"all {NODES} ok")
        page.see("All nodes together")

        def checks():
            return page.run("return document.querySelector('.tile .value').innerText")

        wait_until(lambda: checks() not in ("\u2013", "0/s"))
        page.click("main button", f"Show all {NODES}")
        self.assertEqual(self.rows(page, "Nodes"), NODES)
        ids = page.run("return [...document.querySelectorAll('.heading select option')].map(o => o.value)")
        self.assertEqual(len(ids), NODES + 2)
        busy = next(one["id"] for one in self.node_list(nodes[0]) if one["address"].endswith(f":{nodes[1].http}"))
        page.choose(".heading select", f"node {busy}")
        page.see("One node, as it has reported.")
        wait_until(lambda: checks() not in ("\u2013", "0/s"))
        page.choose(".heading select", "")
        page.see("This node, measured by itself.")
        page.click("main button", "6 h")
        page.choose(".heading select", "cluster")
        page.see("All nodes together")
        page.screenshot(self.screenshots / "fleet-now.png")

    def test_a_node_that_is_gone_comes_first_and_one_that_left_is_not_listed(self):
        nodes = self.serve_nodes(5)
        page = self.log_in(nodes[0])
        page.see("all 5 ok")
        nodes[3].kill()
        page.see("4 of 5 ok")
        first = page.run("return document.querySelector(\"[aria-label='Nodes'] tbody tr\").innerText")
        self.assertIn("gone", first)
        page.screenshot(self.screenshots / "fleet-gone.png")
        self.go(page, "rules")
        page.see("active on 4 of 5")
        self.assertEqual(nodes[4].stop(), 0)
        page.see("active on 3 of 4")

    def test_without_the_store_every_page_says_so_and_shows_what_it_has(self):
        self.expects_errors = True
        nodes = self.serve_nodes(3)
        self.call(nodes[0], "alice", times=25)
        page = self.log_in(nodes[0])
        page.see("all 3 ok")
        page.see("All nodes together")
        self.redis.pause()
        try:
            page.see("Shown is the state of", "main .notices")
            self.assertEqual(self.rows(page, "Nodes"), 3)
            page.see("This node only")
            page.screenshot(self.screenshots / "fleet-store-down.png")
            for name in ("rules", "top", "audit", "store"):
                self.go(page, name)
                page.find("main .notice.bad")
        finally:
            self.redis.resume()
        for name in PAGES:
            self.go(page, name)
            page.gone("main .notice.bad")
        self.go(page, "now")
        page.see("all 3 ok")
        page.see("All nodes together")

    def test_a_list_stays_while_the_store_does_not_answer(self):
        self.expects_errors = True
        server, _ = self.serve_nodes(2)
        self.assertEqual(self.admin(server, "PUT", "/admin/v1/entries/a", {"match": {"api_key": "mallory"}, "effect": "block"}).status, 200)
        page = self.log_in(server, "audit")
        page.see("entry.put")
        before = self.rows(page, "Audit records")
        self.redis.pause()
        try:
            page.see("Shown is the state of", "main .notices")
            self.assertEqual(self.rows(page, "Audit records"), before)
        finally:
            self.redis.resume()
        page.gone("main .notice.bad")


class Tour(FleetTest):
    """The pictures of docs/dashboard.md: a fleet with traffic, entries, versions and tokens."""

    def customers(self, nodes, stop):
        """Calls as many customers make them: few make most of them, and some search too often."""
        chance = random.Random(1)
        while not stop.wait(0.01):
            key = f"sk_live_{min(39, int(chance.expovariate(0.2))):04d}"
            path = chance.choices(("/v1/items", "/v1/search", "/v1/export"), (12, 5, 1))[0]
            try:
                chance.choice(nodes).request("GET", f"/api/v1/rate-limit/check?api_key={key}&endpoint={path}&method=GET")
            except OSError:
                pass  # The test ends.

    def test_every_page_has_its_content(self):
        nodes = self.serve_nodes(NODES, TOUR_RULES)
        stop = threading.Event()
        traffic = threading.Thread(target=self.customers, args=(nodes, stop), daemon=True)
        self.addCleanup(traffic.join)
        self.addCleanup(stop.set)
        traffic.start()
        for name, match, effect, reason in (
            ("launch", {"api_key": "sk_live_0001"}, {"multiply": 2}, "launch week, ticket 4711"),
            ("scraper", {"ip": {"cidr": "203.0.113.0/24"}}, "block", "scraping the catalog"),
            ("batch", {"api_key": "sk_live_0031"}, "unlimited", "internal batch jobs"),
        ):
            body = {"match": match, "effect": effect, "reason": reason}
            self.assertEqual(self.admin(nodes[0], "PUT", f"/admin/v1/entries/{name}", body).status, 200)
        headers = {"Authorization": f"Bearer {TOKEN}"}
        tag = self.admin(nodes[0], "GET", "/admin/v1/rules").headers["ETag"]
        changed = self.put(nodes[0], TOUR_RULES.replace("limit: 30", "limit: 20"), "?message=fewer%20searches", tag=tag, headers=headers)
        self.assertEqual(changed.status, 200, changed.text)
        for name, role in (("night shift", "operator"), ("ci", "editor"), ("wall screen", "viewer")):
            self.assertEqual(self.admin(nodes[0], "POST", "/admin/v1/tokens", {"name": name, "role": role}).status, 201)
        time.sleep(TOUR_SECONDS)
        page = self.log_in(nodes[0])
        page.see(f"all {NODES} ok")
        page.see("All nodes together")
        wait_until(lambda: page.run("return [...document.querySelectorAll('.chart:first-child .line')].every(line => line.getAttribute('d').length > 40)"))
        self.picture(page, "now")
        self.go(page, "top")
        page.see("sk_live_0000")
        page.see(f"{NODES} nodes")
        self.picture(page, "top")
        self.go(page, "caller")
        page.type("form.search [name=value]", "sk_live_0001")
        page.click("main button", "Add an attribute")
        page.press(*"/v1/search", ENTER)
        page.see("launch week")
        page.find("[aria-label='Recent denials'] tr")
        self.picture(page, "caller")
        self.go(page, "rules")
        page.see("fewer searches")
        page.see(f"active on {NODES} of {NODES}")
        self.picture(page, "rules")
        self.go(page, "entries")
        page.see("scraping the catalog")
        self.picture(page, "entries")
        self.go(page, "denials")
        page.see("sk_live_")
        self.picture(page, "denials")
        self.go(page, "audit")
        page.see("rules.commit")
        self.picture(page, "audit")
        self.go(page, "store")
        page.see(str(self.redis.port))
        self.picture(page, "store")
        self.go(page, "control")
        page.see("wall screen")
        self.picture(page, "control")

    def picture(self, page, name):
        for width, height in ((1280, 860), (390, 844)):
            page.resize(width, height)
            cut = page.run(
                "return [...document.querySelectorAll('main .table, html')].filter(e => e.scrollWidth > e.clientWidth)"
                ".map(e => e.getAttribute('aria-label') ?? e.tagName)"
            )
            self.assertEqual(cut, [], f"{name} is cut off at {width} pixels")
            page.screenshot(self.screenshots / f"tour-{name}{'-phone' if width < 500 else ''}.png")
        page.resize(1280, 860)


class ManyEntries(DashboardTest):
    def test_a_hundred_thousand_are_paged_and_found(self):
        server = self.serve_dashboard()
        count, batch = scaled(100_000), 10_000
        for begin in range(0, count, batch):
            entries = [{"id": f"e-{number:06d}", "match": {"api_key": f"customer-{number:06d}"}, "effect": "block"} for number in range(begin, begin + batch)]
            answer = self.admin(server, "POST", "/admin/v1/entries:batch", {"entries": entries})
            self.assertEqual(answer.status, 200, answer.text)
        page = self.log_in(server, "entries")
        page.see("customer-000000")
        rows = "return document.querySelectorAll(\"[aria-label='Entries'] tbody tr\").length"
        self.assertEqual(page.run(rows), 100)
        page.click("main button", "Show more")
        wait_until(lambda: page.run(rows) == 200)
        page.type("main input[type=search]", f"api_key=customer-{count - 1:06d}")
        page.press(ENTER)
        wait_until(lambda: page.run(rows) == 1)
        page.see(f"customer-{count - 1:06d}")


if __name__ == "__main__":
    require_browser()
    unittest.main()
