"""A real browser: Chromium without a window, through chromedriver's HTTP interface (W3C WebDriver)."""

import base64
import http.client
import json
import shutil
import subprocess
import tempfile
import time
import urllib.parse
from pathlib import Path

from support.environment import TIMEOUT, wait_until
from support.ports import free_port

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
ENTER, TAB, ESCAPE, SHIFT, CONTROL, BACKSPACE = "\ue007", "\ue004", "\ue00c", "\ue008", "\ue009", "\ue003"

_FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-default-apps", "--disable-dev-shm-usage", "--disable-extensions",
    "--hide-scrollbars", "--lang=en-US", "--force-color-profile=srgb",
)  # fmt: skip


def missing():
    """The programs that a browser test needs and this machine does not have."""
    return [name for name in ("chromium", "chromedriver") if not shutil.which(name)]


class WebDriverError(Exception):
    def __init__(self, value):
        super().__init__(f"{value.get('error')}: {value.get('message', '').splitlines()[0]}")
        self.error = value.get("error")


class Driver:
    """A chromedriver, which starts browsers."""

    def __init__(self):
        self.port = free_port()
        self.process = subprocess.Popen(
            ["chromedriver", f"--port={self.port}", "--log-level=SEVERE"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        wait_until(self._is_ready, "chromedriver does not start")

    def _is_ready(self):
        try:
            return self.request("GET", "/status")["ready"]
        except OSError:
            return False

    def request(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=2 * TIMEOUT)
        try:
            content = None if method in ("GET", "DELETE") else json.dumps(body or {})
            connection.request(method, path, content, {"Content-Type": "application/json"})
            value = json.loads(connection.getresponse().read())["value"]
        finally:
            connection.close()
        if isinstance(value, dict) and "error" in value:
            raise WebDriverError(value)
        return value

    def close(self):
        self.process.terminate()
        self.process.wait(TIMEOUT)


class Browser:
    """One browser with a profile of its own. `dark`, `width` and `height`: what the page sees. `names`: host names that resolve
    to this machine."""

    def __init__(self, driver, width=1280, height=860, dark=False, names=()):
        self.driver = driver
        self.names = tuple(names)
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        resolved = [f"--host-resolver-rules={','.join(f'MAP {name} 127.0.0.1' for name in names)}"] if names else []
        capabilities = {
            "browserName": "chrome",
            "acceptInsecureCerts": True,
            "goog:loggingPrefs": {"performance": "ALL", "browser": "ALL"},
            "goog:chromeOptions": {
                "binary": shutil.which("chromium"),
                "args": [*_FLAGS, *resolved, f"--user-data-dir={self.profile.name}", f"--window-size={width},{height}"],
            },
        }
        answer = driver.request("POST", "/session", {"capabilities": {"alwaysMatch": capabilities}})
        self.path = f"/session/{answer['sessionId']}"
        self.requested = []  # The URLs of all requests that the browser has made so far.
        self.messages = []  # Errors on its console.
        self.resize(width, height)
        self.prefer(dark)

    def close(self):
        self.driver.request("DELETE", self.path)
        self.profile.cleanup()

    def forget(self, origins, width=1280, height=860, dark=False):
        """Makes it as new, which takes less time than to start another one. Returns false if it has other windows."""
        if len(self.call("GET", "/window/handles")) > 1:
            return False
        self.open("about:blank")
        self.devtools("Network.clearBrowserCookies")
        self.devtools("Network.clearBrowserCache")
        for origin in origins:
            self.devtools("Storage.clearDataForOrigin", origin=origin, storageTypes="all")
        self.read_logs()
        self.requested, self.messages = [], []
        self.resize(width, height)
        self.prefer(dark)
        return True

    def call(self, method, path, body=None):
        return self.driver.request(method, self.path + path, body)

    def devtools(self, command, **parameters):
        return self.call("POST", "/goog/cdp/execute", {"cmd": command, "params": parameters})

    def resize(self, width, height):
        self.devtools("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def prefer(self, dark):
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        still = {"name": "prefers-reduced-motion", "value": "reduce"}  # No color is measured on its way.
        self.devtools("Emulation.setEmulatedMedia", features=[scheme, still])

    def open(self, url):
        self.call("POST", "/url", {"url": url})

    def run(self, script, *arguments):
        return self.call("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def find_all(self, css):
        return [found[ELEMENT] for found in self.call("POST", "/elements", {"using": "css selector", "value": css})]

    def find(self, css, text=None):
        """The first visible element, once there is one; `text`: that contains this."""
        def look():
            try:
                return self.run(_FIND, css, text)
            except WebDriverError as error:
                if error.error in ("javascript error", "stale element reference"):
                    return None  # The page is being replaced.
                raise
        return wait_until(look, lambda: f"no {css} {text or ''}\n{self.text()[:3000]}\n{self.console()}")[ELEMENT]

    def gone(self, css, text=None):
        wait_until(lambda: not self.run(_FIND, css, text), lambda: f"still there: {css} {text or ''}")

    def click(self, css, text=None):
        """Clicks as a user does; again if the page has just moved or replaced the element."""
        def attempt():
            try:
                self.call("POST", f"/element/{self.find(css, text)}/click")
                return True
            except WebDriverError as error:
                if error.error == "element click intercepted":
                    self.run(_SCROLL_TO, css, text)  # Something covers it, like the head of the page.
                elif error.error not in ("stale element reference", "element not interactable"):
                    raise
                return False
        wait_until(attempt, f"can't click {css} {text or ''}")

    def type(self, css, text, clear=True):
        element = self.find(css)
        if clear:
            self.call("POST", f"/element/{element}/clear")
        self.call("POST", f"/element/{element}/value", {"text": text})

    def choose(self, css, value):
        """Selects an option."""
        self.find(css)
        self.run(
            "const s = document.querySelector(arguments[0]); s.value = arguments[1];"
            "s.dispatchEvent(new Event('change', {bubbles: true}));", css, value,
        )  # fmt: skip

    def press(self, *keys):
        """Presses keys one after the other, wherever the focus is; a tuple: together."""
        actions = []
        for item in keys:
            together = item if isinstance(item, tuple) else (item,)
            actions += [{"type": "keyDown", "value": value} for value in together]
            actions += [{"type": "keyUp", "value": value} for value in reversed(together)]
        self.call("POST", "/actions", {"actions": [{"type": "key", "id": "keyboard", "actions": actions}]})

    def text(self, css="body"):
        return self.run("return document.querySelector(arguments[0])?.innerText ?? ''", css)

    def see(self, text, css="body"):
        """Waits until the text is on the page."""
        wait_until(lambda: text in self.text(css), lambda: f"not on the page: {text}\n{self.text(css)[:3000]}\n{self.console()}")

    def focused(self):
        return self.run(
            "const e = document.activeElement; return e.getAttribute('aria-label') || e.innerText || e.name || e.tagName"
        )

    def screenshot(self, path, whole=False):
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        if whole:
            size = self.run("return [innerWidth, document.documentElement.scrollHeight, innerHeight]")
            self.resize(size[0], min(4000, max(size[1], size[2])))
            time.sleep(0.1)  # A frame, so that charts are drawn at this size.
        Path(path).write_bytes(base64.b64decode(self.call("GET", "/screenshot")))
        if whole:
            self.resize(size[0], size[2])

    def cookies(self):
        return self.call("GET", "/cookie")

    def read_logs(self):
        for entry in self.call("POST", "/se/log", {"type": "performance"}):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                self.requested.append(message["params"]["request"]["url"])
        self.messages += [entry for entry in self.call("POST", "/se/log", {"type": "browser"}) if entry["level"] == "SEVERE"]

    def console(self):
        self.read_logs()
        return "\n".join(entry["message"] for entry in self.messages)

    def other_origins(self, *own):
        """Requests that went anywhere but to these origins."""
        self.read_logs()
        def is_own(url):
            parts = urllib.parse.urlsplit(url)
            return parts.scheme in ("data", "about", "chrome", "blob") or f"{parts.scheme}://{parts.netloc}" in own
        return [url for url in self.requested if not is_own(url)]


_FIND = """
const [css, text] = arguments;
for (const element of document.querySelectorAll(css)) {
  const shown = element.checkVisibility?.() ?? true;
  if (shown && (!text || (element.innerText ?? "").includes(text) || element.value === text)) return element;
}
return null;
"""

_SCROLL_TO = f"(function() {{{_FIND}}})(...arguments)?.scrollIntoView({{block: 'center'}});"
