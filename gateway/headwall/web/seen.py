"""Behind the link of a mail: what it was about, as it stands now, and a form to say by name that it was seen.

Programs that check mails open every link, so opening one changes nothing: only the form does, and it carries a word
that was made for the page it stands on. Who holds the link may send it; nobody logs in. Acknowledging is noted by name
and ends that the next person is told. It closes and decides nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import parse_qs

import sqlalchemy as sa
from anyio import to_thread
from fastapi import FastAPI, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse

from headwall.cases.states import STATES
from headwall.clock import Clock
from headwall.errors import HeadwallError, InputError, UnknownThingError
from headwall.law.profile import Profile
from headwall.ledger import acknowledgements, cases
from headwall.ledger.acknowledgements import Acknowledgement
from headwall.ledger.ledger import Ledger
from headwall.notify import matters, outbox, wording
from headwall.notify.compose import Contents
from headwall.notify.grouping import Batch
from headwall.notify.links import PATH, LinkError, Links
from headwall.registry import Registry
from headwall.registry.model import Person
from headwall.rules import duties as duty_book
from headwall.settings import NotifySettings
from headwall.web.rendering import render

_POLICY: Final = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; img-src 'self'; base-uri 'none'; "
    "form-action 'self'; frame-ancestors 'none'"
}
_MOST_BYTES: Final = 65_536  # of a form
_MOST_SECTIONS: Final = 60


class _RefusedError(HeadwallError):
    """The form is not taken; the page says why."""


@dataclass(frozen=True)
class Matter:
    """A line of the form.

    Attributes:
        key: "duty/12".
        municipality: whose it is.
        state: in words.
        seen: who has said so, with the time.
        waits: whether somebody still has to do something.
    """

    key: str
    municipality: str
    where: str
    state: str
    seen: list[str]
    waits: bool


class SeenPage:
    """The handlers."""

    @classmethod
    def add(
        cls,
        app: FastAPI,
        ledger: Ledger,
        registry: Registry,
        profiles: Mapping[str, Profile],
        clock: Clock,
        settings: NotifySettings,
    ) -> None:
        """Serve the page, where links can be signed."""
        links = Links.of(settings)
        if links is not None:
            page = cls(links, ledger, registry, clock, Contents(settings, ledger, registry, profiles))
            app.get(f"{PATH}/{{token}}", response_class=HTMLResponse)(page.show)
            app.post(f"{PATH}/{{token}}", response_class=HTMLResponse)(page.take)

    def __init__(self, links: Links, ledger: Ledger, registry: Registry, clock: Clock, contents: Contents) -> None:
        self._links, self._ledger, self._registry = links, ledger, registry
        self._clock, self._contents = clock, contents

    def show(self, token: str) -> Response:
        """What the mail was about. Changes nothing."""
        try:
            return self._page(token)
        except LinkError as error:
            return _fault(str(error), 403)

    async def take(self, request: Request, token: str) -> Response:
        """The form: a named person has seen what is ticked."""
        if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            return _fault("The form was sent from another page. Open the link of the mail and send its form.", 403)
        form = b""
        async for part in request.stream():
            form += part
            if len(form) > _MOST_BYTES:
                return _fault("The form is too long. Open the link of the mail and send its form.", 413)
        return await to_thread.run_sync(self._take, token, form)

    def _take(self, token: str, form: bytes) -> Response:
        said = parse_qs(form.decode("utf-8", "replace"))
        now_us = self._clock.now_us()
        try:
            mail = self._links.read(token, now_us)
            self._links.check_form(said.get("form", [""])[0], mail, now_us)
            self._note(mail, said, now_us)
        except LinkError as error:
            return _fault(str(error), 403)
        except (InputError, UnknownThingError, _RefusedError) as error:
            return self._page(token, fault=str(error))
        self._ledger.announce()
        return RedirectResponse(f"{PATH}/{token}", status_code=303)

    def _note(self, mail: str, said: Mapping[str, Sequence[str]], now_us: int) -> None:
        with self._ledger.begin() as conn:
            known = matters.of_rows(conn, outbox.carried(conn, mail))
            name = self._name(said, self._people([self._line(conn, key, ()) for key in known], now_us))
            ticked = [each for each in known if each in said.get("matter", ())]
            if not ticked:
                raise _RefusedError("Nothing was ticked: tick what you have seen.")
            for each in ticked:
                acknowledgements.add(conn, each, by=name, now_us=now_us)

    def _name(self, said: Mapping[str, Sequence[str]], people: Sequence[Person]) -> str:
        """The name that was typed, or that of the chosen person."""
        typed, chosen = (said.get(key, [""])[0].strip() for key in ("name", "person"))
        person = next((each for each in people if each.id == chosen), None)
        if typed and person is not None and person.name != typed:
            raise _RefusedError("A person was chosen and another name typed: do one of the two.")
        if typed:
            return wording.one_line(typed)
        if person is None:
            raise _RefusedError("Choose your name, or type it: what was seen is noted by name.")
        return person.name

    # --- the page ---

    def _page(self, token: str, fault: str = "") -> Response:
        now_us = self._clock.now_us()
        mail = self._links.read(token, now_us)
        with self._ledger.read() as conn:
            rows = outbox.carried(conn, mail)
            keys = matters.of_rows(conn, rows)
            seen = acknowledgements.of(conn, keys)
            lines = [self._line(conn, key, seen.get(key, ())) for key in keys]
        if not rows:
            return _fault("That mail is not known any more: it was composed anew. Open the link of the newer one.", 404)
        batch = Batch(rows[0].person, rows[0].how == "digest", tuple(rows))
        reader = Person(id="anybody", name="NAME", email="")
        text = render(
            "seen.html.j2",
            content=self._contents.content(batch, reader, now_us),
            most=_MOST_SECTIONS,
            matters=lines,
            ticked=not batch.digest,
            people=self._people(lines, now_us),
            form=self._links.form(mail, now_us),
            fault=fault,
        )
        return HTMLResponse(text, status_code=400 if fault else 200, headers=_POLICY)

    def _people(self, lines: Sequence[Matter], now_us: int) -> list[Person]:
        """Those who act for the municipalities that it is about: officers, their deputies, then the operators."""
        towns = dict.fromkeys(line.municipality for line in lines)
        known = [each for town in towns for group in self._registry.line(town, now_us) for each in group]
        return list({each.id: each for each in known}.values())

    def _line(self, conn: sa.Connection, key: str, seen: Sequence[Acknowledgement]) -> Matter:
        kind, number = acknowledgements.parse(key)
        if kind == "duty":
            duty = duty_book.get(conn, number)
            site, municipality, waits = duty.body.site, duty.body.municipality, duty.state == "open"
            state = duty.state.replace("_", " ") + (f" by {duty.closed_by}" if duty.closed_by else "")
        else:
            case = cases.case(conn, number)
            site, municipality, waits = case.site, case.municipality, case.state == "suspected"
            state = STATES.get(case.state, case.state)
        zone, found = self._registry.zone(municipality), self._registry.site(site)
        told = [f"{each.by}, {wording.full_time(each.at_us, zone)}" for each in seen]
        return Matter(key, municipality, found.name if found else site, state, told, waits)


def _fault(text: str, status: int) -> Response:
    return HTMLResponse(render("seen_fault.html.j2", text=text), status_code=status)
