"""The live page on loopback: only for who has its address, only from its own pages, and nothing written but labels."""

from __future__ import annotations

import errno
import secrets
import socket
from collections.abc import Callable
from typing import TYPE_CHECKING

from perpend.canon import json_object
from perpend.errors import DataError, PerpendError, SpecError
from perpend.view.live import LiveView
from perpend.view.page import policy, shell

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

HOST = "127.0.0.1"
_NAMES = (HOST, "localhost")
_LARGEST_BODY = 1 << 20
_HEADERS = {
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}
_MISSING = (
    "the live page needs two more packages: pip install 'perpend[view]'. With --out page.html the page is a file, and "
    "needs none"
)


class Guard:
    """Lets a request through that names this machine, has the token, and comes from the page itself."""

    def __init__(self, app: ASGIApp, token: str, port: int) -> None:
        self.app, self.token = app, token.encode()
        self.hosts = {f"{name}:{port}".encode() for name in _NAMES}
        headers = {**_HEADERS, "content-security-policy": f"{policy('live')}; frame-ancestors 'none'"}
        self.headers = {name.encode(): value.encode() for name, value in headers.items()}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            return  # no socket stays open, and nothing is to be started or ended

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                kept = [(name, value) for name, value in message.get("headers", []) if name not in self.headers]
                message["headers"] = [*kept, *self.headers.items()]
            await send(message)

        refusal = self._refusal(scope)
        if refusal is None:
            scope = {**scope, "path": scope["path"][1 + len(self.token) :], "root_path": ""}
            await self.app(scope, receive, guarded)
            return
        from starlette.responses import PlainTextResponse

        status, text = refusal
        await PlainTextResponse(text, status)(scope, receive, guarded)

    def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        """Why a request is turned away; it learns nothing more. None where it is not."""
        headers: dict[bytes, list[bytes]] = {}
        for name, value in scope["headers"]:
            headers.setdefault(name.lower(), []).append(value)
        hosts, origins = headers.get(b"host", []), headers.get(b"origin", [])
        if len(hosts) != 1 or hosts[0] not in self.hosts:
            return 421, "This server answers only to its own address.\n"
        first, slash, _ = scope["path"].encode("utf-8", "replace").removeprefix(b"/").partition(b"/")
        if not slash or not secrets.compare_digest(first, self.token):
            return 404, "Not found. The address has a token: use it as it was printed.\n"
        is_reading = scope["method"] in ("GET", "HEAD")
        if origins != [b"http://" + hosts[0]] and (origins or not is_reading):
            return 403, "Only the page itself may ask.\n"
        if headers.get(b"sec-fetch-site", [b"same-origin"])[0] not in (b"same-origin", b"none"):
            return 403, "Only the page itself may ask.\n"
        return None


def application(live: LiveView, token: str, port: int) -> Guard:
    """The page, its index and its chunks by GET, labels by POST; all below /TOKEN/."""
    return Guard(_routes(live), token, port)


def _routes(live: LiveView) -> Starlette:
    from starlette.applications import Starlette
    from starlette.responses import HTMLResponse, JSONResponse, Response
    from starlette.routing import Route

    page = "".join(shell("live", ""))

    def index_page(_request: Request) -> Response:
        return HTMLResponse(page)

    def index(request: Request) -> Response:
        return _answered(lambda: live.index(request.query_params.get("since", "")), 204)

    def chunk(request: Request) -> Response:
        return _answered(lambda: live.chunk(request.path_params["number"]), 404)

    def _answered(work: Callable[[], bytes | None], otherwise: int) -> Response:
        try:
            data = work()
        except PerpendError as error:
            return JSONResponse({"error": str(error)}, 503)
        return Response(status_code=otherwise) if data is None else Response(data, media_type="application/json")

    async def labels(request: Request) -> Response:
        from starlette.concurrency import run_in_threadpool

        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json":
            return JSONResponse({"error": "labels are sent as application/json"}, 415)
        data = bytearray()
        async for part in request.stream():
            data += part
            if len(data) > _LARGEST_BODY:
                return JSONResponse({"error": f"more than {_LARGEST_BODY} bytes at once"}, 413)
        try:
            body = json_object(data.decode("utf-8"), "the request")
            lines = await run_in_threadpool(live.label, body)
        except UnicodeDecodeError:
            return JSONResponse({"error": "not UTF-8"}, 400)
        except DataError as error:
            return JSONResponse({"error": str(error)}, 400)
        except PerpendError as error:
            return JSONResponse({"error": str(error)}, 409)
        return JSONResponse({"labels": lines})

    return Starlette(
        routes=[
            Route("/", index_page, methods=["GET"]),
            Route("/api/index", index, methods=["GET"]),
            Route("/api/chunk/{number:int}", chunk, methods=["GET"]),
            Route("/api/labels", labels, methods=["POST"]),
        ]
    )


def listening(port: int) -> socket.socket:
    """A socket on loopback; port 0 takes a free one. A port that is in use is a SpecError."""
    own = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        own.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        own.bind((HOST, port))
        own.listen()  # who opens the address at once waits for its answer
    except OSError as error:
        own.close()
        why = {errno.EADDRINUSE: "is in use", errno.EACCES: "needs more rights"}.get(error.errno or 0)
        raise SpecError(f"port {port} {why or f'cannot be had: {error}'}; give another --port, or none") from None
    return own


def serve(make: Callable[[], LiveView], port: int, ready: Callable[[str], None]) -> None:
    """Serve the page until it is interrupted. `ready` is called with its address once it is listening."""
    try:
        import starlette  # noqa: F401
        import uvicorn
    except ImportError:
        raise SpecError(_MISSING) from None
    with listening(port) as own:
        token, number = secrets.token_urlsafe(24), own.getsockname()[1]
        app = application(make(), token, number)
        config = uvicorn.Config(
            app,
            http="h11",
            ws="none",
            lifespan="off",
            access_log=False,
            log_level="error",
            server_header=False,
            limit_concurrency=64,
            timeout_graceful_shutdown=1,
        )
        server = uvicorn.Server(config)
        ready(f"http://{HOST}:{number}/{token}/")
        server.run(sockets=[own])
