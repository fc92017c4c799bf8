"""FastAPI and Starlette: a middleware for all routes, a dependency for single ones."""

import inspect

from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response


def caller_of(request):
    """What every check knows: the address of the peer and the method. Behind a proxy, let the server (uvicorn's
    --proxy-headers) determine the address; never take it from a header here."""
    return {"ip": request.client.host if request.client else None, "method": request.method}


async def decide(client, request, endpoint, attributes, cost):
    """The decision about a request, or None if `attributes` returns None: such requests are not limited."""
    own = attributes(request) if attributes else {}
    if inspect.isawaitable(own):
        own = await own
    if own is None:
        return None
    return await client.check(caller_of(request) | {"endpoint": endpoint} | own, cost)


class SluiceMiddleware:
    """Checks every HTTP request before the application sees it; the endpoint is its path.

    app.add_middleware(SluiceMiddleware, client=AsyncClient("http://127.0.0.1:8080"), attributes=…)

    `attributes`: a function (or coroutine function) of the request that returns further attributes of the call, such as
    the API key. WebSocket connections are not checked."""

    def __init__(self, app, client, attributes=None):
        self.app, self.client, self.attributes = app, client, attributes

    async def __call__(self, scope, receive, send):
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        decision = await decide(self.client, Request(scope), scope["path"], self.attributes, 1)
        if decision is None:
            return await self.app(scope, receive, send)

        async def send_with_headers(message):
            if message["type"] == "http.response.start":
                add(decision.headers, MutableHeaders(scope=message))
            await send(message)

        if decision.allowed:
            return await self.app(scope, receive, send_with_headers)
        denial = Response(decision.body, decision.status, media_type="application/json")
        return await denial(scope, receive, send_with_headers)


class RateLimit:
    """A dependency that checks calls of one route; the endpoint is the route's path with its placeholders.

    @app.get("/items/{item}", dependencies=[Depends(RateLimit(client, cost=5))])
    """

    def __init__(self, client, attributes=None, cost=1):
        self.client, self.attributes, self.cost = client, attributes, cost

    async def __call__(self, request: Request, response: Response):
        endpoint = getattr(request.scope.get("route"), "path", request.scope["path"])
        decision = await decide(self.client, request, endpoint, self.attributes, self.cost)
        if decision is None or decision.allowed:
            add(decision.headers if decision else (), response.headers)
            return
        raise HTTPException(decision.status, decision.error, headers=dict(decision.headers))


def add(passed_on, headers):
    for name, value in passed_on:
        headers.append(name, value)
