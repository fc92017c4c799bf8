"""The dashboard of a server in a browser."""

import functools
import os
import threading
import urllib.parse
from pathlib import Path

from support import browser
from support.control import ControlTest
from support.environment import skip_all

TOKEN = "a-token-of-enough-length"
RULES = """# Limits of the public API.
rules:
  - id: api
    per: [api_key]
    algorithm: fixed_window
    limit: 20
    window: 1d
"""

# Keys that a client may choose: markup, other directions, the longest one. Executed, each would set the title of the page.
HOSTILE = [
    "<script>document.title='owned'</script>",
    '"><img src=x onerror="document.title=\'owned\'">',
    "{{constructor.constructor('document.title=`owned`')()}}",
    "javascript:document.title='owned'",
    "\u202egnp.exe\u202c \u2066right\u2069 \u05d0\u05d1",
    "A" * 256,
    "</textarea></title></style></script><svg/onload=document.title='owned'>",
    "<iframe srcdoc=\"<script>parent.document.title='owned'</script>\">",
    "';document.title='owned';//\\\";document.title='owned'//",
    "<a href=javascript:document.title='owned' autofocus onfocus=document.title='owned'>x",
    "&lt;img src=x onerror=document.title='owned'&gt;",
    "${document.title='owned'}`\u2028document.title='owned'\u2029",
    "__proto__",
]


def require_browser():
    if missing := browser.missing():
        skip_all(f"not installed: {', '.join(missing)}; ./dev test installs the Debian packages chromium and chromium-driver")


class DashboardTest(ControlTest):
    """A test with servers and browsers. Every test fails if a page has requested anything from another origin, has written
    an error to its console, or a hostile key was executed."""

    browsers = ()
    expects_errors = False  # Answers of 4xx and 5xx are errors on the console.

    @classmethod
    def setUpClass(cls):
        cls.driver = browser.Driver()
        cls.addClassCleanup(cls.driver.close)
        cls.idle = []  # Browsers for the next test of this class.
        cls.addClassCleanup(lambda: [one.close() for one in cls.idle])

    def setUp(self):
        self.browsers = []
        self.origins = set()

    def tearDown(self):
        if self._outcome_failed():
            for number, one in enumerate(self.browsers):
                one.screenshot(self.screenshots / f"failed-{self.id().rpartition('.')[2]}-{number}.png")
        for one in self.browsers:
            self.assertEqual(one.other_origins(*self.origins), [])
            self.assertNotIn("owned", one.run("return document.title"))
            if not self.expects_errors:
                self.assertEqual([message["message"] for message in one.messages], [])
            if one.forget(self.origins):
                self.idle.append(one)
            else:
                one.close()

    def _outcome_failed(self):
        result = self._outcome.result
        return any(test is self for test, _ in [*result.failures, *result.errors])

    @functools.cached_property
    def screenshots(self):
        return Path(os.environ.get("SLUICE_SCREENSHOTS", self.folder / "screenshots"))

    def serve_dashboard(self, *flags, token=TOKEN, rules=RULES, **options):
        """A server whose rules come from a store; with a token unless it is None."""
        if token is not None:
            flags = ("--admin-token", token, *flags)
        server = self.serve_store(*flags, rules=rules, **options)
        self.origins.add(self.origin(server))
        return server

    @staticmethod
    def origin(server):
        return f"http://localhost:{server.http}"

    def browse(self, server=None, path="/dashboard/", names=()):
        one = next((one for one in self.idle if one.names == tuple(names)), None)
        if one is None:
            one = browser.Browser(self.driver, names=names)
        else:
            self.idle.remove(one)
        self.browsers.append(one)
        if server is not None:
            one.open(self.origin(server) + path)
        return one

    def log_in(self, server, page="", token=TOKEN, names=()):
        """A browser that is logged in and shows a page."""
        one = self.browse(server, f"/dashboard/#/{page}", names=names)
        self.enter_token(one, token)
        one.find("nav")
        return one

    @staticmethod
    def enter_token(one, token=TOKEN):
        one.type("input[name=token]", token)
        one.press(browser.ENTER)

    def go(self, one, page):
        one.click(f"nav a[data-page={page}]")
        one.find(f"main[data-page={page}] h1")

    def call(self, server, key, times=1, attribute="api_key"):
        """Checks as a client of the server makes them."""
        path = "/api/v1/rate-limit/check?" + urllib.parse.urlencode({attribute: key})
        return [server.request("GET", path).status for _ in range(times)][-1]

    def traffic(self, server, keys=("alice", "bob", "carol"), stop=None):
        """Calls in the background until the test ends."""
        stop = stop or threading.Event()

        def run():
            number = 0
            while not stop.wait(0.01):
                try:
                    self.call(server, keys[number % len(keys)])
                except OSError:
                    pass  # The server restarts.
                number += 1

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(stop.set)
        return stop

    def admin(self, server, method, path, body=None, token=TOKEN):
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        if body is not None:
            headers["Content-Type"] = "application/json"
        return server.request(method, path, body, headers)
