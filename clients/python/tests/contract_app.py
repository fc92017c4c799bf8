"""The application of the contract (clients/contract/README.md), with the adapter that CONTRACT_ADAPTER names."""

import os
import socket
import socketserver
import sys
import wsgiref.simple_server

ADAPTER = os.environ["CONTRACT_ADAPTER"]
TARGET = os.environ["CONTRACT_TARGET"]
LIMIT, BUSY_LIMIT = os.environ["CONTRACT_LIMIT"], os.environ["CONTRACT_BUSY_LIMIT"]
ON_FAILURE = os.environ["CONTRACT_ON_FAILURE"]
DEADLINE = int(os.environ["CONTRACT_DEADLINE_MS"]) / 1000


def announce(port):
    print(f"listening {port}", flush=True)


def serve_asgi(app):
    import uvicorn

    listener = socket.create_server(("127.0.0.1", 0), backlog=2048)
    announce(listener.getsockname()[1])
    uvicorn.Server(uvicorn.Config(app, log_level="warning", backlog=2048)).run(sockets=[listener])


class ThreadedServer(socketserver.ThreadingMixIn, wsgiref.simple_server.WSGIServer):
    daemon_threads = True
    request_queue_size = 2048


class QuietHandler(wsgiref.simple_server.WSGIRequestHandler):
    def log_message(self, *_):
        pass


def serve_wsgi(app):
    server = wsgiref.simple_server.make_server("127.0.0.1", 0, app, ThreadedServer, QuietHandler)
    announce(server.server_port)
    server.serve_forever()


def async_client():
    from sluice_client import AsyncClient
    from sluice_client.testing import FakeAsyncClient

    if not TARGET:
        return FakeAsyncClient(limit=int(LIMIT))
    return AsyncClient(f"http://{TARGET}", deadline=DEADLINE, on_failure=ON_FAILURE)


def run_fastapi():
    from fastapi import Depends, FastAPI
    from fastapi.responses import PlainTextResponse
    from sluice_client.fastapi import RateLimit, SluiceMiddleware

    def attributes(request):
        if request.url.path == "/exempt":
            return None
        return {"api_key": request.headers.get("x-api-key") or request.query_params.get("key")}

    app, client = FastAPI(default_response_class=PlainTextResponse), async_client()
    dependencies = []
    if ADAPTER == "fastapi-middleware":
        app.add_middleware(SluiceMiddleware, client=client, attributes=attributes)
    else:
        dependencies = [Depends(RateLimit(client, attributes))]

    async def answer():
        return "ok"

    for path in ("/limited", "/busy", "/unlimited", "/exempt"):
        app.get(path, dependencies=dependencies)(answer)
    serve_asgi(app)


def run_django():
    import django
    from django.conf import settings
    from django.core.handlers.asgi import ASGIHandler
    from django.core.handlers.wsgi import WSGIHandler
    from django.http import HttpResponse
    from django.urls import path
    from sluice_client.testing import FakeAsyncClient, FakeClient

    def attributes(request):
        if request.path_info == "/exempt":
            return None
        return {"api_key": request.headers.get("X-API-Key") or request.GET.get("key")}

    is_async = ADAPTER == "django-async"
    fake = (FakeAsyncClient if is_async else FakeClient)(limit=int(LIMIT)) if not TARGET else None
    settings.configure(
        ALLOWED_HOSTS=["*"],
        ROOT_URLCONF=__name__,
        MIDDLEWARE=["sluice_client.django.sluice"],
        SLUICE={
            "URL": f"http://{TARGET}", "DEADLINE": DEADLINE, "ON_FAILURE": ON_FAILURE, "CLIENT": fake,
            "ATTRIBUTES": attributes,
        },
    )  # fmt: skip
    django.setup()

    def answer(request):
        return HttpResponse("ok")

    async def answer_async(request):
        return HttpResponse("ok")

    global urlpatterns
    view = answer_async if is_async else answer
    urlpatterns = [path(name, view) for name in ("limited", "busy", "unlimited", "exempt")]
    serve_asgi(ASGIHandler()) if is_async else serve_wsgi(WSGIHandler())


def storage():
    import sluice_client.limits  # noqa: F401

    if not TARGET:
        return {"storage_uri": "memory://"}
    return {"storage_uri": f"sluice://{TARGET}", "storage_options": {"deadline": DEADLINE, "on_failure": ON_FAILURE}}


def run_slowapi():
    from fastapi import FastAPI, Request
    from fastapi.responses import PlainTextResponse
    from slowapi import Limiter, _rate_limit_exceeded_handler
    from slowapi.errors import RateLimitExceeded

    def key(request: Request):
        return request.headers.get("x-api-key") or request.query_params.get("key") or "nobody"

    limiter = Limiter(key_func=key, headers_enabled=True, **storage())
    app = FastAPI()
    app.state.limiter = limiter
    app.add_exception_handler(RateLimitExceeded, _rate_limit_exceeded_handler)

    @app.get("/limited")
    @limiter.limit(f"{LIMIT}/hour")
    def limited(request: Request):
        return PlainTextResponse("ok")

    @app.get("/busy")
    @limiter.limit(f"{BUSY_LIMIT}/hour")
    def busy(request: Request):
        return PlainTextResponse("ok")

    @app.get("/exempt")
    async def exempt(request: Request):
        return PlainTextResponse("ok")

    serve_asgi(app)


def run_flask_limiter():
    from flask import Flask, request
    from flask_limiter import Limiter

    app = Flask(__name__)
    limiter = Limiter(
        lambda: request.headers.get("X-API-Key") or request.args.get("key") or "nobody",
        app=app,
        headers_enabled=True,
        **storage(),
    )

    @app.get("/limited")
    @limiter.limit(f"{LIMIT}/hour")
    def limited():
        return "ok"

    @app.get("/busy")
    @limiter.limit(f"{BUSY_LIMIT}/hour")
    def busy():
        return "ok"

    @app.get("/exempt")
    def exempt():
        return "ok"

    serve_wsgi(app)


if __name__ == "__main__":
    sys.modules["__main__"].urlpatterns = []
    {
        "fastapi-middleware": run_fastapi,
        "fastapi-dependency": run_fastapi,
        "django": run_django,
        "django-async": run_django,
        "slowapi": run_slowapi,
        "flask-limiter": run_flask_limiter,
    }[ADAPTER]()
