import asyncio
import multiprocessing
import socket
import threading
import unittest
import unittest.mock

from sluice_client import AsyncClient
from sluice_client.connections import Address, Pool, Unavailable

BODY = b'{"allowed":true}'
REPLY = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(BODY), BODY)


def first_byte(received):
    return received[:1], True


class EchoServer:
    """Echoes what it gets, on any number of connections; counts them and all that it got."""

    def __init__(self, reply=None):
        self.accepted, self.requests, self.by_connection, self.reply = [], [], [], reply
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
        self.address = Address(f"http://127.0.0.1:{self.listener.getsockname()[1]}", "http", "https", 80)
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        try:
            while True:
                connection, _ = self.listener.accept()
                self.accepted.append(connection)
                self.by_connection.append([])
                threading.Thread(target=self.echo, args=(connection, self.by_connection[-1]), daemon=True).start()
        except OSError:
            return

    def echo(self, connection, received):
        try:
            while data := connection.recv(65536):
                received.append(data)
                self.requests.append(data)
                connection.sendall(self.reply or data)
        except OSError:
            return

    def close(self):
        self.listener.close()
        for connection in self.accepted:
            connection.close()


class PoolTest(unittest.TestCase):
    def setUp(self):
        self.server = EchoServer()
        self.addCleanup(self.server.close)
        self.pool = Pool(self.server.address, 30, max_connections=2)
        self.addCleanup(self.pool.close)

    def test_a_connection_is_used_again(self):
        self.assertEqual([self.pool.call(b"a", first_byte) for _ in range(5)], [b"a"] * 5)
        self.assertEqual(len(self.server.accepted), 1)

    def test_a_connection_that_the_server_closed_meanwhile_is_replaced(self):
        self.pool.call(b"a", first_byte)
        self.server.accepted[0].shutdown(socket.SHUT_RDWR)
        # The end must have arrived.
        self.pool._state.idle[0].settimeout(30)
        self.pool._state.idle[0].recv(1, socket.MSG_PEEK)
        self.assertEqual(self.pool.call(b"b", first_byte), b"b")
        self.assertEqual(self.server.requests, [b"a", b"b"])

    def test_a_forked_process_has_connections_of_its_own(self):
        self.pool.call(b"p", first_byte)
        child = multiprocessing.get_context("fork").Process(target=self.pool.call, args=(b"c", first_byte))
        child.start()
        child.join()
        self.assertEqual(child.exitcode, 0)
        self.assertEqual(self.pool.call(b"q", first_byte), b"q")
        self.assertEqual((len(self.server.accepted), self.server.requests), (2, [b"p", b"c", b"q"]))

    def test_threads_of_a_forked_process_share_nothing_with_the_parent(self):
        self.pool.call(b"p", first_byte)

        def run():
            threads = [threading.Thread(target=self.pool.call, args=(b"c", first_byte)) for _ in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()

        child = multiprocessing.get_context("fork").Process(target=run)
        child.start()
        child.join()
        self.assertEqual(self.server.by_connection[0], [b"p"])

    def test_all_addresses_of_a_name_share_the_deadline(self):
        places = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (f"192.0.2.{n}", 80)) for n in range(1, 4)]
        waited = []

        def connect(place, timeout):
            waited.append(timeout)
            raise TimeoutError("timed out")

        pool = Pool(self.server.address, 5)
        clock = iter(range(100))  # One second for each look at it.
        with (
            unittest.mock.patch("socket.getaddrinfo", return_value=places),
            unittest.mock.patch("socket.create_connection", connect),
            unittest.mock.patch("time.monotonic", lambda: next(clock)),
        ):
            self.assertRaises(Unavailable, pool.call, b"a", first_byte)
        self.assertEqual(waited, [4, 3, 2])

    def test_a_deadline_that_is_none_is_refused(self):
        for deadline in (0, -1, float("nan"), float("inf")):
            self.assertRaises(ValueError, Pool, self.server.address, deadline)

    def test_a_call_that_failed_is_not_sent_again(self):
        def refuse(received):
            raise ValueError("no")

        self.assertRaisesRegex(Unavailable, "no", self.pool.call, b"a", refuse)
        self.assertEqual(self.server.requests, [b"a"])
        self.assertFalse(self.pool._state.idle)

    def test_threads_share_a_bounded_number_of_connections(self):
        threads = [threading.Thread(target=self.pool.call, args=(b"t", first_byte)) for _ in range(50)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(self.server.requests), 50)
        self.assertLessEqual(len(self.server.accepted), 2)


class AsyncClientTest(unittest.TestCase):
    def setUp(self):
        self.server = EchoServer(REPLY)
        self.addCleanup(self.server.close)

    def client(self, **options):
        return AsyncClient(f"http://{self.server.address.name}", on_failure="closed", **{"deadline": 30} | options)

    def test_thousands_of_checks_on_one_loop_share_the_connections(self):
        client = self.client(max_connections=8, max_waiting=5000)

        async def run():
            decisions = await asyncio.gather(*(client.check({"user": n}) for n in range(3000)))
            await client.close()
            return decisions

        self.assertTrue(all(decision.allowed for decision in asyncio.run(run())))
        self.assertLessEqual(len(self.server.accepted), 8)

    def test_beyond_the_most_that_may_wait_checks_fail_at_once(self):
        client = self.client(max_connections=1, max_waiting=10)

        async def run():
            decisions = await asyncio.gather(*(client.check({}) for _ in range(1000)))
            await client.close()
            return decisions

        decisions = asyncio.run(run())
        self.assertGreater(sum(decision.failed for decision in decisions), 900)
        self.assertTrue(decisions[0].allowed)

    def test_every_event_loop_has_connections_of_its_own(self):
        client = self.client()
        for _ in range(3):
            self.assertTrue(asyncio.run(client.check({})).allowed)

    def test_event_loops_of_several_threads_share_a_client(self):
        client, failed = self.client(max_connections=2), []

        async def run():
            decisions = await asyncio.gather(*(client.check({"user": n}) for n in range(200)))
            failed.extend(decision for decision in decisions if not decision.allowed)
            await client.close()

        threads = [threading.Thread(target=asyncio.run, args=(run(),)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failed, [])
        self.assertLessEqual(len(self.server.accepted), 16)

    def test_closed_event_loops_are_forgotten(self):
        client = self.client()
        for _ in range(20):
            asyncio.run(client.check({}))
        self.assertLessEqual(len(client._states), 1)

    def test_a_canceled_check_leaves_no_connection_behind(self):
        self.server.reply = b"HTTP/1.1 200 OK\r\n"  # Never complete.
        client = self.client(max_connections=1)

        async def run():
            for _ in range(3):
                task = asyncio.create_task(client.check({}))
                while client._state().free._value:
                    await asyncio.sleep(0)
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
                self.assertTrue(task.cancelled())
            state = client._state()
            self.assertEqual((state.free._value, state.waiting, len(state.idle)), (1, 0, 0))
            self.server.reply = REPLY
            return await client.check({})

        self.assertTrue(asyncio.run(run()).allowed)


if __name__ == "__main__":
    unittest.main()
