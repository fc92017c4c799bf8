import asyncio
import inspect
import json
import unittest

from sluice_client import AsyncClient, Client
from sluice_client.check import Decision, Protocol, parse_reply
from sluice_client.testing import FakeClient

ALLOWED = {"allowed": True, "limit": 3, "remaining": 2, "delayMs": 1500}
DENIED = {"allowed": False, "code": "RATE_LIMIT_EXCEEDED", "message": "Rate limit exceeded", "denialId": "x1"}
PROBLEM = {"status": 400, "detail": "a key has 1 to 256 bytes", "code": "INVALID_KEY"}


def reply(status, body, *headers):
    body = body if isinstance(body, bytes) else json.dumps(body).encode()
    lines = [f"HTTP/1.1 {status} Whatever", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


class ReplyTest(unittest.TestCase):
    def test_a_reply_is_read_at_every_split(self):
        data = reply(200, ALLOWED, "X-RateLimit-Limit: 3", "Retry-After:\t7 ", "Set-Cookie: a=b", "Server: sluice")
        for size in range(len(data)):
            self.assertIsNone(parse_reply(data[:size]))
        decision, reusable = parse_reply(data)
        self.assertTrue(reusable)
        self.assertEqual(decision, Decision(True, 200, (("X-RateLimit-Limit", "3"), ("Retry-After", "7")), delay=1.5))

    def test_a_denial_has_its_status_code_and_message(self):
        for status in (429, 403, 400, 503):
            decision, _ = parse_reply(reply(status, DENIED))
            self.assertEqual((decision.allowed, decision.status, decision.code), (False, status, "RATE_LIMIT_EXCEEDED"))
            error = {"code": "RATE_LIMIT_EXCEEDED", "message": "Rate limit exceeded", "denial_id": "x1"}
            self.assertEqual(json.loads(decision.body), {"error": error})

    def test_an_invalid_call_is_denied_and_not_a_failure(self):
        decision, _ = parse_reply(reply(400, PROBLEM))
        self.assertEqual((decision.allowed, decision.status, decision.code), (False, 400, "INVALID_KEY"))
        self.assertEqual(decision.message, "a key has 1 to 256 bytes")

    def test_what_decides_nothing_is_an_error(self):
        for status, body in [
            (500, {}), (401, {"code": "UNAUTHORIZED"}), (404, PROBLEM), (302, ALLOWED), (201, ALLOWED), (200, DENIED),
            (503, {"code": "STORAGE_UNAVAILABLE"}), (200, {"allowed": 1}), (200, []), (200, b"null"), (200, b""),
            (400, []), (400, b"null"), (400, b'"text"'), (400, b"<html>"),
            (200, b"\xff"), (200, b"[" * 100_000), (429, ALLOWED),
        ]:  # fmt: skip
            with self.subTest(status=status, body=body[:20] if isinstance(body, bytes) else body):
                self.assertRaises(ValueError, parse_reply, reply(status, body))

    def test_what_is_not_http_is_an_error(self):
        good = reply(200, ALLOWED)
        for data in [
            b"\r\n\r\n", b"HTTP/1.1 200\r\n\r\n", b"HTTP/2 200 OK\r\nContent-Length: 2\r\n\r\n{}", b"x" * 20_000,
            good.replace(b"Content-Length: ", b"Content-Length: -"), good.replace(b"Content-Length", b"No colon\r\nX"),
            good.replace(b"Content-Length", b"Content-Length: 1\r\nContent-Length"), good + b"x", good + good,
            reply(200, ALLOWED).replace(b"Content-Length: ", b"Content-Length: 99999"),
        ]:  # fmt: skip
            with self.subTest(data=data[:60]):
                self.assertRaises(ValueError, parse_reply, data)

    def test_no_value_of_a_hostile_reply_escapes_as_an_exception_or_as_a_long_text(self):
        for delay, expected in [(10**400, 86_400.0), (-5, 0.0), (1.5, 0.0), ("x", 0.0), (None, 0.0), ([], 0.0)]:
            decision, _ = parse_reply(reply(200, {"allowed": True, "delayMs": delay}))
            self.assertEqual(decision.delay, expected)
        nested = b'{"allowed":false,"code":' + b"[" * 500 + b"]" * 500 + b',"message":"\\ud800' + b"m" * 5000 + b'"}'
        decision, _ = parse_reply(reply(429, nested))
        self.assertEqual((decision.code, len(decision.message)), ("", 1024))
        decision.message.encode()  # Every framework can send it.

    def test_a_header_with_control_characters_is_not_passed_on(self):
        decision, _ = parse_reply(
            reply(200, ALLOWED, "RateLimit-Policy: a\nX-Evil: 1", "RateLimit: \x7f", "Retry-After: é")
        )
        self.assertEqual(decision.headers, ())

    def test_a_connection_that_the_server_closes_is_not_used_again(self):
        self.assertFalse(parse_reply(reply(200, ALLOWED, "Connection: Close"))[1])


class RequestTest(unittest.TestCase):
    def test_attributes_are_only_ever_in_the_body(self):
        protocol = Protocol("http://127.0.0.1:8080", token="t0ken")
        request = protocol.request({"api_key": "a\r\nX-Evil: 1\r\n\r\n\ud800", "ip": None, "user": 7}, 2)
        head, _, body = request.partition(b"\r\n\r\n")
        self.assertNotIn(b"Evil", head)
        self.assertIn(b"Authorization: Bearer t0ken", head)
        self.assertIn(f"Content-Length: {len(body)}".encode(), head)
        attributes = {"api_key": "a\r\nX-Evil: 1\r\n\r\n\ud800", "user": "7"}
        self.assertEqual(json.loads(body), {"attributes": attributes, "cost": 2, "receipt": False})

    def test_attributes_that_are_too_long_are_denied_without_a_server(self):
        for client in (Client("http://127.0.0.1:1"), AsyncClient("http://127.0.0.1:1")):
            decision = client.check({"user": "k" * 70_000})
            decision = asyncio.run(decision) if inspect.isawaitable(decision) else decision
            self.assertEqual((decision.allowed, decision.status, decision.failed), (False, 400, False))

    def test_wrong_options_are_refused_at_once(self):
        for url in ("127.0.0.1:8080", "ftp://x", "http://", ""):
            self.assertRaises(ValueError, Client, url)
        with self.assertRaises(ValueError) as refused:
            Client("redis://:secret@x")
        self.assertNotIn("secret", str(refused.exception))
        for options in ({"on_failure": "ajar"}, {"deadline": 0}, {"deadline": -1}, {"deadline": float("inf")}, {"token": "a\r\nb"}):
            self.assertRaises(ValueError, Client, "http://x", **options)

    def test_the_error_of_a_failed_check_is_reported(self):
        errors = []
        client = Client("http://127.0.0.1:1", on_failure="closed", on_error=errors.append)
        decision = client.check({"api_key": "a"})
        self.assertEqual((decision.allowed, decision.status, decision.failed), (False, 503, True))
        self.assertRegex(str(errors[0]), "127.0.0.1:1: .*refused")


class FakeTest(unittest.TestCase):
    def test_it_counts_by_key_and_by_address_and_notes_its_calls(self):
        fake = FakeClient(limit=1)
        statuses = [fake.check({"api_key": key, "ip": "::1"}).status for key in ("a", "a", "b", None, None)]
        self.assertEqual(statuses, [200, 429, 200, 200, 429])
        self.assertEqual(fake.calls[0], ({"api_key": "a", "ip": "::1"}, 1))
        fake.decision = Decision(False, 403)
        self.assertEqual(fake.check({}).status, 403)


if __name__ == "__main__":
    unittest.main()
