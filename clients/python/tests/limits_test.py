import unittest

from limits.storage import storage_from_string
from sluice_client.connections import Unavailable
from sluice_client.limits import SluiceStorage, _count_of, _stored
from sluice_client.resp import ReplyError, encode, parse_reply


class ProtocolTest(unittest.TestCase):
    def test_replies_are_read_at_every_split(self):
        for data, expected in [
            (b"*2\r\n:5\r\n:1\r\n", [5, 1]), (b":-2\r\n", -2), (b"+PONG\r\n", b"PONG"), (b"$-1\r\n", None),
            (b"$3\r\na\r\n\r\n", b"a\r\n"), (b"*0\r\n", []), (b"*1\r\n$-1\r\n", [None]),
        ]:  # fmt: skip
            for size in range(len(data)):
                self.assertIsNone(parse_reply(data[:size]), data[:size])
            self.assertEqual(parse_reply(data), (expected, True))

    def test_an_error_is_a_reply(self):
        error, reusable = parse_reply(b"-ERR no\r\n")
        self.assertIsInstance(error, ReplyError)
        self.assertTrue(reusable)

    def test_what_is_no_reply_is_an_error(self):
        for data in [
            b"HTTP/1.1 200 OK\r\n", b":x\r\n", b"*99\r\n", b"*-1\r\n", b"*1\r\n*1\r\n:1\r\n", b":1\r\n:2\r\n", b"+" + b"a" * 70_000,
            b"$99999999\r\n" + b"a" * 70_000, b"\r\n", b"*x\r\n",
        ]:  # fmt: skip
            with self.subTest(data=data[:20]):
                self.assertRaises(ValueError, parse_reply, data)

    def test_only_two_numbers_are_a_count(self):
        self.assertEqual(_count_of([7, 1]), 7)
        for reply in (None, b"OK", 7, [], [7], [b"x", b"y"], [None, None]):
            with self.subTest(reply=reply):
                self.assertRaises((ValueError, TypeError), _count_of, reply)

    def test_words_are_counted_in_bytes(self):
        self.assertEqual(encode("GET", "é\r\n", 7), b"*3\r\n$3\r\nGET\r\n$4\r\n\xc3\xa9\r\n\r\n$1\r\n7\r\n")

    def test_long_keys_are_hashed_and_stay_different(self):
        self.assertEqual(_stored("k" * 1024), b"k" * 1024)
        self.assertNotEqual(_stored("k" * 1025), _stored("k" * 1026))
        self.assertLess(len(_stored("k" * 100_000)), 100)
        self.assertEqual(_stored("\udcff"), b"\xff")


class OptionsTest(unittest.TestCase):
    def test_the_scheme_is_known_to_limits(self):
        storage = storage_from_string("sluice://127.0.0.1:6380?on_failure=open&deadline=0.5")
        self.assertIsInstance(storage, SluiceStorage)
        self.assertEqual((storage._on_failure, storage._pool._deadline), ("open", 0.5))

    def test_wrong_options_are_refused_at_once(self):
        for uri in ("sluice://?", "sluice://x?on_failure=ajar", "redis://x", "sluice://x?deadline=soon"):
            self.assertRaises(ValueError, SluiceStorage, uri)

    def test_without_a_server_the_option_decides(self):
        self.assertEqual(SluiceStorage("sluice://127.0.0.1:1?on_failure=open").incr("k", 60), 0)
        self.assertEqual(SluiceStorage("sluice://127.0.0.1:1?on_failure=closed").incr("k", 60), 2**53)
        self.assertRaises(Unavailable, SluiceStorage("sluice://127.0.0.1:1").incr, "k", 60)
        self.assertFalse(SluiceStorage("sluice://127.0.0.1:1").check())


if __name__ == "__main__":
    unittest.main()
