"""How long the views of the dashboard take on a large server: 10 million keys and 100 000 entries.

Starts servers, fills them through their own interfaces (pipelined RESP commands, batches of entries), and opens every page in
a browser. Prints for each request of a page the median and the longest time, by the request's own timing in the browser,
and for each page the time from the click to its content. With the memory store and one server, then with Redis and many
servers, which have fewer keys.

    ./dev bench dashboard
    ./dev bench dashboard --keys 1000000 --rounds 3 --stores memory
"""

import argparse
import contextlib
import socket
import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path

from support import browser
from support.environment import TIMEOUT, run_in_parallel, wait_until
from support.files import write_rules
from support.redis_servers import RedisServer
from support.sluice import Server

GOAL = 300  # Milliseconds in which every view must answer.
TOKEN = "a-token-of-enough-length"
# Keys stay live for the whole run.
RULES = """rules:
  - { id: api, per: [api_key], algorithm: fixed_window, limit: 1000, window: 1d }
  - { id: few, match: { endpoint: /few }, per: [api_key], algorithm: fixed_window, limit: 1, window: 1d }
"""
BATCH = 20_000
ENTRY_BATCH = 10_000
# The content by which a page is complete, and a selector of it.
PAGES = {
    "now": "main .conditions dt",
    "top": "main tbody tr:not(.none)",
    "caller": "main tbody tr:not(.none)",
    "rules": "main .gutter span",
    "entries": "main tbody tr:not(.none)",
    "denials": "main tbody tr:not(.none)",
    "audit": "main tbody tr:not(.none)",
    "store": "main .meter, main tbody tr:not(.none)",
    "control": "main .facts",
}


def fill_keys(port, first, last):
    """Checks of so many keys, pipelined on one connection."""
    with socket.create_connection(("127.0.0.1", port), TIMEOUT) as connection:
        def drain(expected):
            seen = 0
            while seen < expected:  # Each reply begins with an array of a fixed number of lines.
                piece = connection.recv(1 << 20)
                if not piece:
                    raise ConnectionError("the server closed the connection")
                seen += piece.count(b"*")

        replies = 0
        for begin in range(first, last, BATCH):
            numbers = range(begin, min(begin + BATCH, last))
            commands = "".join(
                f"*3\r\n$12\r\nSLUICE.CHECK\r\n$7\r\napi_key\r\n$11\r\nk{number:010d}\r\n" for number in numbers
            )
            sender = threading.Thread(target=connection.sendall, args=(commands.encode(),))
            sender.start()
            drain(len(numbers))
            sender.join()
            replies += len(numbers)


def fill_entries(server, count):
    for begin in range(0, count, ENTRY_BATCH):
        entries = [
            {"id": f"entry-{number:06d}", "match": {"api_key": f"customer-{number:06d}"}, "effect": "block", "reason": "load"}
            for number in range(begin, min(begin + ENTRY_BATCH, count))
        ]
        answer = server.request("POST", "/admin/v1/entries:batch", {"entries": entries},
                                {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"})  # fmt: skip
        if answer.status != 200:
            raise AssertionError(answer.text)


def deny_some(server):
    """Calls that the pages Top and Denials show."""
    for number in range(100):
        server.request("GET", f"/api/v1/rate-limit/check?api_key=denied-{number % 50}&endpoint=/few")


def timings(page):
    """Requests to the server since the last call: [path, milliseconds]."""
    found = page.run(
        "const all = performance.getEntriesByType('resource').filter(e => e.initiatorType === 'fetch')"
        "  .map(e => [new URL(e.name).pathname + new URL(e.name).search.replace(/cursor=[^&]*/, 'cursor=...'), e.responseEnd - e.startTime]);"
        "performance.clearResourceTimings(); return all;"
    )
    return [(path, milliseconds) for path, milliseconds in found if "/denials" not in path or "follow" in path]


OPEN = """
const [name, css, done] = [arguments[0], arguments[1], arguments[2]];
const start = performance.now();
location.hash = '#/' + name;
const look = () => document.querySelector(`main[data-page=${name}]`) && document.querySelector(css)
  ? done(performance.now() - start) : performance.now() - start > 20000 ? done(-1) : requestAnimationFrame(look);
requestAnimationFrame(look);
"""


def open_page(page, name, css):
    """Milliseconds until the content is there."""
    return page.call("POST", "/execute/async", {"script": OPEN, "args": [name, css]})


def visit(page, rounds):
    pages, requests = {}, {}

    def take(view):
        for path, milliseconds in timings(page):
            requests.setdefault((view, path), []).append(milliseconds)

    timings(page)
    for _ in range(rounds):
        for name, css in PAGES.items():
            elapsed = open_page(page, name, css)
            if elapsed < 0:
                raise AssertionError(f"{name} has no content:\n{page.text()[:2000]}")
            pages.setdefault(name, []).append(elapsed)
            if name == "entries":
                page.click("main button", "Show more")
                wait_until(lambda: page.run("return document.querySelectorAll('main tbody tr').length") > 100)
                page.type("main input[type=search]", "api_key=customer-054321")
                page.press(browser.ENTER)
                wait_until(lambda: page.run("return document.querySelectorAll('main tbody tr').length") == 1)
            if name == "caller":
                page.click("main button", "Show more")
                page.type("[name=keys-prefix]", "k000000777")
                page.press(browser.ENTER)
                page.see("k0000007770")
                page.type("form.search [name=value]", "k0000000042")
                page.press(browser.ENTER)
                page.see("Full in")
            take(name)
    return pages, requests


def report(title, pages, requests):
    print(f"\n{title}\n{'':66}{'median':>10}{'longest':>10}")
    worst = 0
    for name in PAGES:
        times = pages[name]
        print(f"{name + ': until its content is shown':66}{statistics.median(times):7.0f} ms{max(times):7.0f} ms")
        for (view, path), values in sorted(requests.items()):
            if view != name:
                continue
            worst = max(worst, max(values))
            late = "  over the goal" if max(values) > GOAL else ""
            print(f"  {path[:62]:64}{statistics.median(values):7.0f} ms{max(values):7.0f} ms{late}")
    print(f"{'the longest request':66}{'':10}{worst:7.0f} ms (goal: {GOAL} ms)", flush=True)


def serve(stack, folder, name, redis=None, threads=2):
    flags = ("--rules-source", "store", "--state-dir", Path(folder) / name, "--admin-token", TOKEN, "--memory-max-keys", "20000000",
             "--rules", write_rules(Path(folder), RULES))  # fmt: skip
    return stack.enter_context(Server(*flags, store=redis, threads=threads))


def measure(driver, kind, options):
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        keys = options.keys
        if kind == "memory":
            servers = [serve(stack, folder, "state")]
        else:
            redis = stack.enter_context(RedisServer())
            keys = min(keys, options.redis_keys)
            servers = run_in_parallel(
                lambda number: serve(stack, folder, f"state-{number}", redis.url, threads=1), *((n,) for n in range(options.nodes))
            )
        server = servers[0]
        began = time.monotonic()
        parts = 4
        run_in_parallel(lambda part: fill_keys(server.resp, keys * part // parts, keys * (part + 1) // parts), *((p,) for p in range(parts)))
        filled = time.monotonic()
        fill_entries(server, options.entries)
        deny_some(server)
        print(f"{keys} keys in {filled - began:.0f} s, {options.entries} entries in {time.monotonic() - filled:.0f} s", file=sys.stderr)
        page = browser.Browser(driver)
        stack.callback(page.close)
        page.open(f"http://localhost:{server.http}/dashboard/")
        page.type("input[name=token]", TOKEN)
        page.press(browser.ENTER)
        page.see("ok")
        pages, requests = visit(page, options.rounds)
        title = f"{kind} store, {len(servers)} {'node' if len(servers) == 1 else 'nodes'}, {keys} keys, {options.entries} entries"
        report(title, pages, requests)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keys", type=int, default=10_000_000)
    parser.add_argument("--redis-keys", type=int, default=1_000_000)
    parser.add_argument("--entries", type=int, default=100_000)
    parser.add_argument("--nodes", type=int, default=20, help="servers on Redis")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--stores", default="memory,redis")
    options = parser.parse_args()
    if missing := browser.missing():
        sys.exit(f"not installed: {', '.join(missing)} (Debian packages chromium, chromium-driver)")
    with contextlib.closing(browser.Driver()) as driver:
        for kind in options.stores.split(","):
            measure(driver, kind, options)


if __name__ == "__main__":
    main()
