"""The configuration of Envoy's service while the server runs: read, watched, reloaded, refused."""

import json
import signal
import tempfile
import unittest
from pathlib import Path

from running import Server, until, write

GOOD = "domain: {}\ndescriptors: [{{ key: k, rate_limit: {{ unit: day, requests_per_unit: 1 }} }}]\n"
BAD = "domain: edge\ndescriptors: [{ key: k, rate_limit: { unit: fortnight } }]\n"


class EnvoyConfig(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def put(self, name, text):
        write(self.folder / name, text)

    def start(self, *flags):
        server = Server("--envoy-config", str(self.folder), *flags)
        self.addCleanup(server.__exit__)
        return server

    @staticmethod
    def condition(server):
        return json.loads(server.ask("GET", "/actuator/health")[2])["components"].get("envoy_config")

    def test_without_it_nothing_is_told_of_it(self):
        server = Server()
        self.addCleanup(server.__exit__)
        self.assertIsNone(self.condition(server))
        self.assertNotIn("envoy", server.ask("GET", "/metrics")[2])

    def test_files_that_come_and_go_are_noticed(self):
        self.put("edge.yaml", GOOD.format("edge"))
        server = self.start()
        self.assertEqual(self.condition(server), {"status": "UP", "details": {"message": "version 1, domains: 1"}})
        self.put("more.yml", GOOD.format("more"))
        self.assertTrue(until(lambda: server.metric("rate_limiter_envoy_config_domains") == 2))
        self.assertEqual(server.metric("rate_limiter_envoy_config_limits"), 2)
        (self.folder / "edge.yaml").unlink()
        self.assertTrue(until(lambda: server.metric("rate_limiter_envoy_config_domains") == 1))

    def test_mistakes_leave_it_as_it_was_and_are_told(self):
        self.put("edge.yaml", GOOD.format("edge"))
        server = self.start()
        self.put("edge.yaml", BAD)
        self.assertTrue(until(lambda: self.condition(server)["status"] == "DOWN"))
        self.assertEqual(server.metric('rate_limiter_envoy_config_reloads_total{result="failure"}'), 1)
        self.assertEqual(server.metric("rate_limiter_envoy_config_limits"), 1)
        self.assertTrue(until(lambda: any("edge.yaml:2:" in line and "fortnight" in line for line in server.log)))
        status, _, text = server.ask("POST", "/admin/rules/reload")
        self.assertEqual(status, 422)
        self.assertIn("fortnight", text)
        self.put("edge.yaml", GOOD.format("edge"))
        self.assertTrue(until(lambda: self.condition(server)["status"] == "UP"))

    def test_sighup_reads_it_at_once(self):
        self.put("edge.yaml", GOOD.format("edge"))
        server = self.start()
        series = 'rate_limiter_envoy_config_reloads_total{result="success"}'
        before = server.metric(series)
        server.process.send_signal(signal.SIGHUP)
        self.assertTrue(until(lambda: server.metric(series) == before + 1))

    def test_a_server_does_not_start_with_mistakes(self):
        self.put("edge.yaml", BAD)
        with self.assertRaisesRegex(AssertionError, r"edge\.yaml:2:\d+: .*fortnight"):
            self.start()

    def test_a_directory_without_files_is_warned_of(self):
        server = self.start()
        self.assertTrue(until(lambda: any("no domain is limited" in line for line in server.log)))

    def test_a_domain_in_two_files_is_allowed_if_the_setting_says_so(self):
        self.put("a.yaml", GOOD.format("edge"))
        self.put("b.yaml", GOOD.format("edge").replace("key: k", "key: l"))
        with self.assertRaisesRegex(AssertionError, "envoy.merge_domains"):
            self.start()
        server = self.start("--envoy-merge-domains", "true")
        self.assertEqual(server.metric("rate_limiter_envoy_config_limits"), 2)


if __name__ == "__main__":
    unittest.main()
