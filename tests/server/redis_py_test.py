"""The server as redis-py sees it. Skipped where Python has no redis-py."""

import contextlib
import unittest

from support.environment import TIMEOUT, skip_all
from support.ports import free_port
from support.sluice import Server

try:
    import redis
    from redis.backoff import ConstantBackoff
    from redis.retry import Retry
except ImportError:
    skip_all("this Python has no redis-py (Debian: python3-redis)")


@contextlib.contextmanager
def client_of(server, **options):
    client = redis.Redis(port=server.resp, socket_timeout=TIMEOUT, decode_responses=True, **options)
    yield client
    client.connection_pool.disconnect()


class RedisPy(unittest.TestCase):
    def test_it_connects_and_learns_about_the_server(self):
        with Server() as server, client_of(server, client_name="shop", db=0) as client:
            self.assertTrue(client.ping())
            self.assertEqual(client.echo("hello"), "hello")
            self.assertIn("redis_version", client.info())
            self.assertEqual(client.client_getname(), "shop")
            self.assertGreater(client.client_id(), 0)
            self.assertEqual(client.config_get("maxmemory"), {"maxmemory": "0"})
            self.assertIn("cl.throttle", client.command())

    def test_the_handshake_of_later_versions_is_understood(self):
        with Server() as server, client_of(server) as client:
            self.assertIn("proto", client.execute_command("HELLO", 2))
            self.assertEqual(client.execute_command("CLIENT", "SETINFO", "LIB-NAME", "redis-py"), "OK")
            self.assertEqual(client.execute_command("CLIENT", "SETINFO", "LIB-VER", "5.0.1"), "OK")

    def test_limits_are_asked(self):
        with Server() as server, client_of(server) as client:
            self.assertEqual(client.execute_command("CL.THROTTLE", "user", 1, 1, 3600), [0, 2, 1, -1, 3600])
            self.assertEqual(client.execute_command("SLUICE.CHECK", "api_key", "demo-key")[:3], [1, 100, 99])
            self.assertEqual(client.execute_command("SLUICE.PEEK", "api_key", "demo-key")[:3], [1, 100, 99])
            self.assertEqual(client.execute_command("SLUICE.RESET", "api_key", "demo-key"), 1)
            self.assertEqual(client.delete("user", "other"), 1)
            with self.assertRaisesRegex(redis.ResponseError, "max_burst"):
                client.execute_command("CL.THROTTLE", "user", -1, 1, 3600)

    def test_counters_are_incremented_and_read(self):
        with Server() as server, client_of(server) as client:
            for hits in (1, 2, 3):
                self.assertEqual(client.execute_command("INCREX", "user", "PX", 3_600_000, "ENX"), [hits, 1])
            self.assertEqual(client.execute_command("INCREX", "user", "UBOUND", 3, "EX", 3600, "ENX"), [3, 0])
            self.assertEqual(client.get("user"), "3")
            self.assertIn(client.pttl("user"), range(1, 3_600_001))
            self.assertEqual(client.unlink("user", "other"), 1)
            self.assertIsNone(client.get("user"))
            self.assertEqual(client.pttl("user"), -2)
            with self.assertRaisesRegex(redis.ResponseError, "negative_hits"):
                client.execute_command("INCREX", "user", "BYINT", -1, "EX", 60, "ENX")
            self.assertEqual(client.command()["increx"]["last_key_pos"], 1)

    def test_a_pipeline_is_answered_in_order(self):
        with Server() as server, client_of(server) as client:
            pipeline = client.pipeline(transaction=False)
            for number in range(1000):
                pipeline.execute_command("CL.THROTTLE", "user", 1999, 1, 1200)
                pipeline.echo(str(number))
            replies = pipeline.execute()
            self.assertEqual([reply[2] for reply in replies[::2]], list(range(1999, 999, -1)))
            self.assertEqual(replies[1::2], [str(number) for number in range(1000)])

    def test_only_the_right_password_opens(self):
        with Server("--admin-token", "opensesame-opensesame") as server:
            with client_of(server, password="opensesame-opensesame") as client:
                self.assertEqual(client.delete("user"), 0)
            with client_of(server, password="guess") as client, self.assertRaisesRegex(redis.RedisError, "WRONGPASS"):
                client.ping()
            with client_of(server) as client, self.assertRaisesRegex(redis.RedisError, "admin token"):
                client.delete("user")

    def test_it_comes_back_when_the_server_does(self):
        retry = {"retry": Retry(ConstantBackoff(0.1), 100), "retry_on_error": [redis.ConnectionError]}
        with Server(resp_port=free_port()) as first, client_of(first, **retry) as client:
            self.assertTrue(client.ping())
            self.assertEqual(first.stop(), 0)
            with Server(resp_port=first.resp):
                self.assertEqual(client.execute_command("CL.THROTTLE", "user", 1, 1, 3600)[0], 0)


if __name__ == "__main__":
    unittest.main()
