"""The page: what stands where, each duty with its readings, and the same as JSON. No JavaScript needed.

All of it only reads, but for what stands behind the link of a mail (`web.seen`).
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Annotated

import anyio.to_thread
import sqlalchemy as sa
import structlog
from fastapi import FastAPI, HTTPException, Path, Request, Response
from fastapi.responses import HTMLResponse, JSONResponse

from headwall.clock import Clock
from headwall.errors import UnknownThingError
from headwall.law.profile import Profile
from headwall.ledger import schema
from headwall.ledger.ledger import Ledger
from headwall.notify.duty_section import duty_section
from headwall.notify.lookup import Lookup
from headwall.registry import Registry
from headwall.rules import duties as duty_book
from headwall.rules.facts import DutyFact
from headwall.settings import NotifySettings
from headwall.web.rendering import render
from headwall.web.seen import SeenPage
from headwall.web.server import WebServer, WebServerError
from headwall.web.status import Health, build_status, duty_line, to_json

__all__ = ["WebServer", "WebServerError", "create_app"]

log = structlog.get_logger("web")

#: nothing from elsewhere, no scripts: whatever a board calls itself can do no harm
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src 'self'; base-uri 'none'; form-action 'none'"
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
#: of a duty, as far as a database counts
Number = Annotated[int, Path(ge=1, lt=2**63)]
#: requests that are answered at once; the others wait
_AT_ONCE = 3


def create_app(
    ledger: Ledger,
    registry: Registry,
    profiles: Mapping[str, Profile],
    clock: Clock,
    health: Health,
    settings: NotifySettings | None = None,
) -> FastAPI:
    """The page and its JSON.

    Args:
        health: the unhealthy parts with the reason, empty when all is well.
        settings: from when on a duty was learned late, and the key of links, as in mails; None for the default.
    """
    app = FastAPI(title="Headwall", docs_url=None, redoc_url=None, lifespan=_few_at_once)
    page = _Page(ledger, registry, profiles, clock, health, settings or NotifySettings())
    app.middleware("http")(_add_headers)
    app.get("/", response_class=HTMLResponse)(page.index)
    app.get("/duties/{number}", response_class=HTMLResponse)(page.duty)
    app.get("/duties/{number}/hyetograph.png", response_class=Response)(page.hyetograph)
    app.get("/api/status")(page.status)
    app.get("/healthz")(page.healthz)
    SeenPage.add(app, ledger, registry, profiles, clock, settings or NotifySettings())
    return app


@asynccontextmanager
async def _few_at_once(_app: FastAPI) -> AsyncIterator[None]:
    """However many ask: more threads would answer no sooner, and take ledger connections and time from ingest."""
    anyio.to_thread.current_default_thread_limiter().total_tokens = _AT_ONCE
    yield


async def _add_headers(request: Request, call_next: Callable[[Request], Awaitable[Response]]) -> Response:
    response = await call_next(request)
    for name, value in _HEADERS.items():
        response.headers.setdefault(name, value)  # a page with a form has a policy of its own
    return response


class _Page:
    """The handlers. Plain functions: FastAPI runs them in its threads, each with a connection of its own."""

    def __init__(
        self,
        ledger: Ledger,
        registry: Registry,
        profiles: Mapping[str, Profile],
        clock: Clock,
        health: Health,
        settings: NotifySettings,
    ) -> None:
        self._ledger, self._registry, self._profiles = ledger, registry, profiles
        self._clock, self._health = clock, health
        self._late_us = settings.late_after_us

    def index(self) -> HTMLResponse:
        status = build_status(self._ledger, self._registry, self._profiles, self._clock.now_us(), self._health())
        zone = self._registry.zone(self._registry.municipalities[0].id)
        return HTMLResponse(render("status.html.j2", status=status, zone=zone))

    def status(self) -> JSONResponse:
        """The same as the page. Instants are µs UTC, depths exact decimals as text."""
        now_us = self._clock.now_us()
        return JSONResponse(to_json(build_status(self._ledger, self._registry, self._profiles, now_us, self._health())))

    def healthz(self) -> JSONResponse:
        """200 while every part is healthy, else 503 with the reasons."""
        unhealthy = dict(self._health())
        try:
            with self._ledger.read() as conn:
                conn.execute(sa.select(schema.append_position.c.pos))
        except sa.exc.SQLAlchemyError as error:
            unhealthy["ledger"] = f"cannot be read: {error}"
        state = "unhealthy" if unhealthy else "ok"
        return JSONResponse({"status": state, "parts": unhealthy}, status_code=503 if unhealthy else 200)

    def duty(self, number: Number) -> HTMLResponse:
        found, versions = self._duty(number)
        section = duty_section(self._look(), found.body, self._late_us, cid="hyetograph")
        text = render(
            "duty.html.j2",
            duty=duty_line(found, self._registry, self._clock.now_us()),
            section=section,
            versions=versions,
            zone=self._look().zone(found.body.municipality),
        )
        return HTMLResponse(text)

    def hyetograph(self, number: Number) -> Response:
        found, _ = self._duty(number)
        picture = duty_section(self._look(), found.body, self._late_us, cid="hyetograph").picture
        if picture is None:
            raise HTTPException(404, f"duty {number} has no readings to draw")
        return Response(picture.draw(), media_type="image/png")

    def _look(self) -> Lookup:
        return Lookup(self._registry, self._profiles, self._ledger, self._clock.now_us())

    def _duty(self, number: int) -> tuple[duty_book.AnyDuty, list[DutyFact]]:
        """A duty and all its versions, newest first."""
        try:
            with self._ledger.read() as conn:
                return duty_book.get(conn, number), duty_book.versions(conn, number)
        except UnknownThingError as error:
            raise HTTPException(404, str(error)) from error
