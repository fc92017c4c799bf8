"""The configuration of Envoy's service while the server runs: read, watched, reloaded, refused."""

import signal
import unittest

from support.environment import wait_until
from support.files import replace_file
from support.sluice import ServerTest

GOOD = "domain: {}\ndescriptors: [{{ key: k, rate_limit: {{ unit: day, requests_per_unit: 1 }} }}]\n"
BAD = "domain: edge\ndescriptors: [{ key: k, rate_limit: { unit: fortnight } }]\n"


class EnvoyConfig(ServerTest):
    def put(self, name, text):
        replace_file(self.folder / name, text)

    def start(self, *flags):
        return self.serve("--envoy-config", self.folder, *flags)

    @staticmethod
    def condition(server):
        return server.request("GET", "/actuator/health").json()["components"].get("envoy_config")

    def test_without_it_nothing_is_reported_about_it(self):
        server = self.serve()
        self.assertIsNone(self.condition(server))
        self.assertNotIn("envoy", server.request("GET", "/metrics").text)

    def test_files_that_come_and_go_are_noticed(self):
        self.put("edge.yaml", GOOD.format("edge"))
        server = self.start()
        self.assertEqual(self.condition(server), {"status": "UP", "details": {"message": "version 1, domains: 1"}})
        self.put("more.yml", GOOD.format("more"))
        wait_until(lambda: server.metric("rate_limiter_envoy_config_domains") == 2)
        self.assertEqual(server.metric("rate_limiter_envoy_config_limits"), 2)
        (self.folder / "edge.yaml").unlink()
        wait_until(lambda: server.metric("rate_limiter_envoy_config_domains") == 1)

    def test_errors_keep_the_previous_configuration_and_are_reported(self):
        self.put("edge.yaml", GOOD.format("edge"))
        server = self.start()
        self.put("edge.yaml", BAD)
        wait_until(lambda: self.condition(server)["status"] == "DOWN")
        self.assertEqual(server.metric("rate_limiter_envoy_config_reloads_total", result="failure"), 1)
        self.assertEqual(server.metric("rate_limiter_envoy_config_limits"), 1)
        wait_until(lambda: server.log_lines("edge.yaml:2:", "fortnight"))
        status, _, text = server.request("POST", "/admin/rules/reload")
        self.assertEqual(status, 422)
        self.assertIn("fortnight", text)
        self.put("edge.yaml", GOOD.format("edge"))
        wait_until(lambda: self.condition(server)["status"] == "UP")

    def test_sighup_reads_it_at_once(self):
        self.put("edge.yaml", GOOD.format("edge"))
        server = self.start()

        def reloads():
            return server.metric("rate_limiter_envoy_config_reloads_total", result="success")

        before = reloads()
        server.process.send_signal(signal.SIGHUP)
        wait_until(lambda: reloads() == before + 1)

    def test_a_server_does_not_start_with_errors(self):
        self.put("edge.yaml", BAD)
        with self.assertRaisesRegex(AssertionError, r"edge\.yaml:2:\d+: .*fortnight"):
            self.start()

    def test_a_directory_without_files_is_warned_of(self):
        server = self.start()
        wait_until(lambda: server.log_lines("no domain is limited"))

    def test_a_domain_in_two_files_is_allowed_if_the_setting_says_so(self):
        self.put("a.yaml", GOOD.format("edge"))
        self.put("b.yaml", GOOD.format("edge").replace("key: k", "key: l"))
        with self.assertRaisesRegex(AssertionError, "envoy.merge_domains"):
            self.start()
        server = self.start("--envoy-merge-domains", "true")
        self.assertEqual(server.metric("rate_limiter_envoy_config_limits"), 2)


if __name__ == "__main__":
    unittest.main()
