"""Authentication of litellm's proxy without its database: every key has the same limits, for litellm's own limiter."""

import json
import os

from litellm.proxy._types import UserAPIKeyAuth


async def authenticate(request, api_key):
    return UserAPIKeyAuth(api_key=api_key, **json.loads(os.environ.get("LITELLM_LIMITS", "{}")))
