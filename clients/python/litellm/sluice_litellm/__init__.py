"""Replaces litellm's limiter of parallel requests and tokens by Sluice. Importing it is enough: name
`sluice_litellm.proxy_handler_instance` among the `callbacks` of litellm's configuration."""

import contextvars
import os

import litellm
from fastapi import HTTPException
from litellm._logging import verbose_proxy_logger
from litellm.integrations.custom_logger import CustomLogger
from litellm.proxy import hooks
from litellm.proxy.hooks.parallel_request_limiter_v3 import _PROXY_MaxParallelRequestsHandler_v3

from sluice_litellm.connection import Client, Refused, Unavailable

__all__ = ["Client", "SluiceLimiter", "proxy_handler_instance"]

# Of the request under way, for hooks that get nothing that names it.
_current = contextvars.ContextVar("sluice_reservation", default=None)
# Elements of the reply of SLUICE.RESERVE.
ALLOWED, LIMIT, REMAINING, RETRY_MS, RULE, NAME, CODE, RECEIPT = 0, 1, 2, 3, 5, 8, 9, 10


class Reservation:
    """What one request has reserved, until it is settled or canceled, once."""

    def __init__(self, reply):
        self.receipt, self.headers = reply[RECEIPT], {}
        if reply[LIMIT] >= 0:
            self.headers = {"x-ratelimit-limit": str(reply[LIMIT]), "x-ratelimit-remaining": str(reply[REMAINING])}


class SluiceLimiter(_PROXY_MaxParallelRequestsHandler_v3):
    """One reservation for each request, over all limits of the rules that match its attributes: `api_key` (as litellm
    hashes it), `user`, `team`, `organization`, `end_user`, `model` and `call_type`."""

    client = Client()
    # Reserved for calls without max_tokens.
    output_tokens = int(os.environ.get("SLUICE_OUTPUT_TOKENS", "1000"))
    # Whether calls pass while Sluice does not answer.
    fails_open = os.environ.get("SLUICE_ON_FAILURE", "closed") == "open"

    def __init__(self, internal_usage_cache):  # litellm looks at the names of arguments.
        super().__init__(internal_usage_cache)
        self.reservations = {}  # By litellm's id of the call.

    async def async_pre_call_hook(self, user_api_key_dict, cache, data, call_type, endpoint_type=None):
        try:
            reply = await self.client.call(*self.command(user_api_key_dict, data, call_type))
        except Unavailable as error:
            if self.fails_open:
                return None
            raise HTTPException(503, f"the rate limiter does not answer: {error}", {"retry-after": "1"}) from error
        except Refused as error:  # A quantity or a price is missing: nothing is free by accident.
            raise HTTPException(400, str(error)) from error
        if not reply[ALLOWED]:
            raise self.denial(reply)
        if reply[RECEIPT]:
            reservation = Reservation(reply)
            self.reservations[data.get("litellm_call_id")] = reservation
            _current.set((data.get("litellm_call_id"), reservation))
        return None

    def command(self, caller, data, call_type):
        attributes = {
            "api_key": caller.api_key, "user": caller.user_id, "team": caller.team_id, "organization": caller.org_id,
            "end_user": caller.end_user_id, "model": data.get("model"), "call_type": call_type,
        }  # fmt: skip
        words = [word for name, value in attributes.items() if value for word in (name, value)]
        use = ["USE", "requests", 1, "input_tokens", self.input_tokens(data), "cached_tokens", 0]
        output = data.get("max_completion_tokens") or data.get("max_tokens") or self.output_tokens
        return ["SLUICE.RESERVE", *words, *use, "output_tokens", int(output)]

    def input_tokens(self, data):
        text = data.get("prompt") or data.get("input")
        try:
            if text is None:
                return litellm.token_counter(model=data.get("model") or "", messages=data.get("messages") or [])
            return litellm.token_counter(model=data.get("model") or "", text=str(text))
        except Exception:  # pylint: disable=broad-exception-caught  # A tokenizer that can't be had.
            return len(str(text or data.get("messages") or "")) // 4

    def denial(self, reply):
        what = f"limit {reply[NAME]} of rule {reply[RULE]}" if reply[RULE] else "the rate limiter"
        wait = f"; retry in {reply[RETRY_MS] / 1000:g} s" if reply[RETRY_MS] > 0 else ""
        headers = {"retry-after": str(max(1, -(-reply[RETRY_MS] // 1000)))} if reply[RETRY_MS] > 0 else {}
        status = 429 if reply[CODE] in ("RATE_LIMIT_EXCEEDED", "COST_EXCEEDS_LIMIT", "TEMPORARILY_BLOCKED") else 403
        return HTTPException(status, f"{reply[CODE]}: {what}{wait}", headers)

    async def end(self, call_id, *words):
        """Settles or cancels, unless that was done before. What is lost stays charged at the estimate."""
        reservation = self.reservations.pop(call_id, None)
        if reservation is None:
            return
        for _ in range(2):  # Both have the effect of once.
            try:
                await self.client.call(words[0], reservation.receipt, *words[1:])
                return
            except Unavailable:
                continue
            except Refused as error:
                verbose_proxy_logger.error("sluice_litellm: %s failed: %s", words[0], error)
                return

    async def async_log_success_event(self, kwargs, response_obj, start_time, end_time):
        usage = getattr(response_obj, "usage", None) or (response_obj or {}).get("usage") or {}
        usage = usage if isinstance(usage, dict) else usage.model_dump()
        details = usage.get("prompt_tokens_details") or {}
        cached = (details if isinstance(details, dict) else {}).get("cached_tokens") or 0
        used = {
            "input_tokens": max(0, (usage.get("prompt_tokens") or 0) - cached), "cached_tokens": cached,
            "output_tokens": usage.get("completion_tokens") or 0,
        }  # fmt: skip
        words = [word for name, amount in used.items() for word in (name, int(amount))] if usage else []
        await self.end(kwargs.get("litellm_call_id"), "SLUICE.SETTLE", *words)

    async def async_log_failure_event(self, kwargs, response_obj, start_time, end_time):
        await self.end(kwargs.get("litellm_call_id"), "SLUICE.CANCEL")

    async def async_post_call_failure_hook(self, request_data, original_exception, user_api_key_dict, traceback_str=None):
        await self.end(request_data.get("litellm_call_id"), "SLUICE.CANCEL")

    async def async_release_max_parallel_requests_on_disconnect(self, user_api_key_dict):
        """The client is gone, and nothing says what was used: the estimate stays charged, and the slot is free."""
        if current := _current.get():
            await self.end(current[0], "SLUICE.SETTLE")

    async def async_post_call_success_hook(self, data, user_api_key_dict, response):
        reservation = self.reservations.get(data.get("litellm_call_id")) or (_current.get() or (None, None))[1]
        hidden = getattr(response, "_hidden_params", None)
        if reservation and isinstance(hidden, dict):
            hidden.setdefault("additional_headers", {}).update(reservation.headers)


hooks.PROXY_HOOKS["parallel_request_limiter"] = SluiceLimiter
proxy_handler_instance = CustomLogger()
