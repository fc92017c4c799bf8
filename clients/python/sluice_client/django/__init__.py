"""Django: a middleware that checks every request. MIDDLEWARE = ["sluice_client.django.sluice", …]

SLUICE = {
    "URL": "http://127.0.0.1:8080",
    "DEADLINE": 0.020,           # seconds
    "ON_FAILURE": "open",        # or "closed": 503 while the server does not answer
    "TOKEN": "",                 # if the server requires one of checks
    "ON_ERROR": "shop.limits.count_error",   # a function of the error of a check that the server did not decide
    "ATTRIBUTES": "shop.limits.attributes",  # a function of the request, or its dotted path
    "CLIENT": None,              # instead of URL: a fake in tests
}
"""

import functools
import inspect

from django.conf import settings
from django.core.signals import setting_changed
from django.http import HttpResponse
from django.utils.decorators import sync_and_async_middleware
from django.utils.module_loading import import_string

from sluice_client.aio import AsyncClient
from sluice_client.check import Client

OPTIONS = ("DEADLINE", "ON_FAILURE", "TOKEN")


def function_of(value):
    """A function, or what a dotted path names."""
    return import_string(value) if isinstance(value, str) else value


@functools.cache
def client_of(kind):
    """One for all middleware of the process: its connections are shared."""
    own = settings.SLUICE
    options = {name.lower(): own[name] for name in OPTIONS if name in own}
    options["on_error"] = function_of(own.get("ON_ERROR"))
    return own.get("CLIENT") or kind(own["URL"], **options)


setting_changed.connect(lambda **_: client_of.cache_clear(), weak=False)  # override_settings in tests.


def attributes_of(request):
    """The attributes of a call, or None: the request is not limited. The path is the one that Django routes by, and the
    address the peer's: behind a proxy, return `ip` from your own function."""
    own = function_of(settings.SLUICE.get("ATTRIBUTES"))
    further = own(request) if own else {}
    if further is None:
        return None
    known = {"ip": request.META.get("REMOTE_ADDR") or None, "method": request.method, "endpoint": request.path_info}
    return known | further


def denial(decision):
    return HttpResponse(decision.body, status=decision.status, content_type="application/json")


def with_headers(response, decision):
    for name, value in decision.headers:
        response.headers[name] = value
    return response


@sync_and_async_middleware
def sluice(get_response):
    if inspect.iscoroutinefunction(get_response):

        async def middleware(request):
            attributes = attributes_of(request)
            if attributes is None:
                return await get_response(request)
            decision = await client_of(AsyncClient).check(attributes)
            return with_headers(await get_response(request) if decision.allowed else denial(decision), decision)

    else:

        def middleware(request):
            attributes = attributes_of(request)
            if attributes is None:
                return get_response(request)
            decision = client_of(Client).check(attributes)
            return with_headers(get_response(request) if decision.allowed else denial(decision), decision)

    return middleware
