"""`sluice healthcheck`: the probe of containers."""

import os
import socket
import unittest
from pathlib import Path

from support.certificates import Authority, tls_flags
from support.ports import free_port
from support.sluice import ServerTest, run_sluice


def probe(*arguments, **variables):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SLUICE_")}
    done = run_sluice("healthcheck", *arguments, env=environment | variables)
    return done.returncode, done.stdout, done.stderr


class Healthcheck(ServerTest):
    def test_a_server_that_answers_is_ready_and_live(self):
        server = self.serve()
        url = f"http://127.0.0.1:{server.http}"
        self.assertEqual(probe("--server", url), (0, f"{url}: ready\n", ""))
        self.assertEqual(probe("--server", url, "--live"), (0, f"{url}: live\n", ""))
        self.assertEqual(probe(SLUICE_SERVER=url), (0, f"{url}: ready\n", ""))

    def test_the_listener_is_the_one_of_the_settings(self):
        server = self.serve("--admin-listen", "127.0.0.1:0")
        http, admin = (f"127.0.0.1:{port}" for port in (server.http, server.admin))
        self.assertEqual(probe(SLUICE_HTTP_LISTEN=http), (0, f"http://{http}: ready\n", ""))
        both = {"SLUICE_HTTP_LISTEN": http, "SLUICE_ADMIN_LISTEN": admin}
        self.assertEqual(probe(**both), (0, f"http://{admin}: ready\n", ""))
        config = self.folder / "sluice.yaml"
        config.write_text(f"http:\n  listen: {http}\n", encoding="utf-8")
        self.assertEqual(probe("--config", config), (0, f"http://{http}: ready\n", ""))
        self.assertEqual(probe(SLUICE_CONFIG=str(config)), (0, f"http://{http}: ready\n", ""))

    def test_a_unix_socket_is_asked(self):
        path = self.folder / "http.sock"
        self.serve(unix_socket=path)
        self.assertEqual(probe("--server", f"unix:{path}"), (0, f"unix:{path}: ready\n", ""))
        self.assertEqual(probe(SLUICE_HTTP_LISTEN=f"unix:{path}"), (0, f"unix:{path}: ready\n", ""))
        gone = self.folder / "gone.sock"
        code, _, error = probe("--server", f"unix:{gone}")
        self.assertEqual((code, error), (1, f"sluice healthcheck: unix:{gone}: can't connect\n"))

    def test_a_server_with_tls_is_verified(self):
        authority = Authority(self.folder)
        server = self.serve(*tls_flags(*authority.issue("server"), "http"))
        url = f"https://localhost:{server.https}"
        self.assertEqual(probe("--server", url, "--ca-file", authority.certificate), (0, f"{url}: ready\n", ""))
        code, output, error = probe("--server", url)
        self.assertEqual((code, output), (1, ""))
        self.assertIn(url, error)

    def test_a_server_without_rules_is_live_and_not_ready(self):
        server = self.serve("--rules-source", "store", "--state-dir", self.folder / "state")
        url = f"http://127.0.0.1:{server.http}"
        self.assertEqual(probe("--server", url, "--live")[0], 0)
        code, output, error = probe("--server", url)
        self.assertEqual((code, output), (1, ""))
        self.assertTrue(error.startswith(f"sluice healthcheck: {url}: not ready, status 503\n  "), error)
        self.assertIn("[-] rules", error)

    def test_nothing_that_listens_is_unhealthy(self):
        url = f"http://127.0.0.1:{free_port()}"
        self.assertEqual(probe("--server", url), (1, "", f"sluice healthcheck: {url}: can't connect\n"))

    def test_a_server_that_does_not_answer_is_unhealthy_after_the_timeout(self):
        with socket.create_server(("127.0.0.1", 0)) as silent:
            url = f"http://127.0.0.1:{silent.getsockname()[1]}"
            code, output, error = probe("--server", url, "--timeout", "50ms")
        self.assertEqual((code, output), (1, ""))
        self.assertIn("no response in time", error)

    def test_invalid_arguments_are_refused_with_1_because_docker_reserves_2(self):
        for arguments, reason in (
            (("--server", "localhost:8080"), "expected http://HOST[:PORT]"),
            (("--server", "unix:"), "expected http://HOST[:PORT]"),
            (("--timeout", "soon"), "expected a time such as 2s"),
            (("--timeout", "0s"), "expected a time such as 2s"),
            (("--config", Path("/nonexistent/sluice.yaml")), "/nonexistent/sluice.yaml"),
            (("ready",), "unexpected argument 'ready'"),
        ):
            with self.subTest(arguments=arguments):
                code, output, error = probe(*arguments)
                self.assertEqual((code, output), (1, ""))
                self.assertIn(reason, error)
        code, _, error = probe(SLUICE_HTTP_LISTEN="none")
        self.assertEqual(code, 1)
        self.assertIn("name one with --server", error)


if __name__ == "__main__":
    unittest.main()
