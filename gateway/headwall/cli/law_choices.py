"""`headwall law choices|choose|permit`: how a municipality reads what its code leaves open, and the State's permits."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import Annotated, Any

import typer

from headwall import codes
from headwall.cli.common import DEFAULT_CONFIG, AsJson, ConfigOption, Decider, Reason, print_json, wrapped
from headwall.cli.opened import Opened, named, opened
from headwall.errors import InputError, UnknownThingError
from headwall.law import localtime
from headwall.law.ambiguities import Setting, question_of, settings
from headwall.law.choices import Choice, choice_on, typed
from headwall.law.profile import Profile, load_profile
from headwall.law.state_permit import StatePermit

Code = Annotated[str, typer.Argument(metavar="CODE", help="id of a municipality, or name or path of a profile")]


def register(law: typer.Typer) -> None:
    permit = typer.Typer(no_args_is_help=True, help="Permits of the State, with the numbers that a person enters.")
    permit.command("enter")(enter_permit)
    permit.command("show")(show_permits)
    law.command("choices")(list_choices)
    law.command("choose")(choose)
    law.add_typer(permit, name="permit")


def list_choices(code: Code, config: ConfigOption = DEFAULT_CONFIG, as_json: AsJson = False) -> None:
    """What the code leaves open and a municipality may read in its own way: the default, and what is in force."""
    with gateway_if_any(config) as at:
        profile, today = _read(code, at)
    rows = [_row(profile, setting, today) for setting in settings().values()]
    if as_json:
        print_json(rows)
        return
    for row in rows:
        print(_told(row))
        for each in row["later"]:
            print(f"    from {each['from']}: {_or_code(each['value'])}, by {each['by']}")
        print(wrapped("    ", f"{row['about']} May be {row['allowed']}."))


def choose(
    code: Code,
    key: Annotated[str, typer.Argument(metavar="KEY", help="see headwall law choices CODE")],
    value: Annotated[str, typer.Argument(metavar="VALUE", help='as the list has it; several by commas; "" for none')],
    since: Annotated[str, typer.Option("--from", help="the day from which it holds: 2026-07-01")],
    by: Decider,
    reason: Reason,
    config: ConfigOption = DEFAULT_CONFIG,
    as_json: AsJson = False,
) -> None:
    """Decide how the municipality reads an open question from a day on; what that day touches is judged again."""
    setting = settings().get(key)
    if setting is None:
        raise UnknownThingError(f"there is no key {key!r}; `headwall law choices {code}` lists them")
    try:
        written = setting.parse(value)
    except ValueError as error:
        raise InputError(str(error)) from None
    day = _day(since)
    choice = Choice.model_validate(
        {"key": key, "value": written, "from": day, "by": named(by), "reason": _said(reason, "--reason")}
    )
    with opened(config) as at:
        profile = _own(code, at)
        with at.ledger.begin() as conn:
            codes.choose(conn, profile, choice, at.clock.now_us())
        profile, _ = _read(code, at)
    if as_json:
        print(json.dumps(_row(profile, setting, day), ensure_ascii=False))
        return
    print(f"{profile.municipality}: {key} is {_or_code(choice.written)} from {day} on, by {choice.by}.")
    print(setting.about)


def enter_permit(
    code: Code,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="as docs/templates/state-permit.toml")],
    by: Annotated[str, typer.Option("--by", help="name of the person who read the numbers in the permit in force")],
    config: ConfigOption = DEFAULT_CONFIG,
    as_json: AsJson = False,
) -> None:
    """Enter the numbers of a permit of the State; its provisions are judged from its date on as those of the code."""
    who = named(by)
    try:
        text = file.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{file} cannot be read: {error}") from None
    with opened(config) as at:
        profile = _own(code, at)
        with at.ledger.begin() as conn:
            permit = codes.enter_permit(conn, profile, text, str(file), who, at.clock.now_us())
    told = _permit_row(permit.model_copy(update={"entered_by": who}))
    if as_json:
        print(json.dumps(told, ensure_ascii=False))
    else:
        print(f"{profile.municipality}: {permit.permit} is in force from {permit.valid_from} on, entered by {who}.")
        print(f"Its provisions: {', '.join(told['provisions'])}. `headwall law show PROVISION` shows each.")


def show_permits(code: Code, config: ConfigOption = DEFAULT_CONFIG, as_json: AsJson = False) -> None:
    """The permits of the State that persons have entered beside a code."""
    with gateway_if_any(config) as at:
        profile, today = _read(code, at)
    rows = [_permit_row(each) for each in profile.permits]
    if as_json:
        print_json({"notice": profile.state_permit_notice(today), "permits": rows})
        return
    if notice := profile.state_permit_notice(today):
        print(notice)
    for row in rows:
        until = f" to {row['to']}" if row["to"] else ""
        print(f"{row['permit']} ({row['program']}), from {row['from']}{until}; {row['source']}")
        print(f"  entered by {row['entered_by']}; provisions: {', '.join(row['provisions'])}")


def _row(profile: Profile, setting: Setting, day: date) -> dict[str, Any]:
    made = choice_on(profile.choices, setting.key, day)
    later = [each for each in profile.choices if each.key == setting.key and each.valid_from > day]
    return {
        "key": setting.key,
        "question": question_of(setting.key),
        "value": typed(setting.default) if made is None else made.written,
        "default": typed(setting.default),
        "since": made.valid_from.isoformat() if made else None,
        "by": made.by if made else None,
        "reason": made.reason if made else None,
        "later": [{"from": each.valid_from.isoformat(), "value": each.written, "by": each.by} for each in later],
        "allowed": setting.wanted,
        "about": setting.about,
    }


def _told(row: dict[str, Any]) -> str:
    """What is in force of a key, in a line."""
    head = f"{row['key']} ({row['question']}): {_or_code(row['value'])}"
    if row["by"] is None:
        return f"{head}, by default"
    reason = f": {row['reason']}" if row["reason"] else ""
    return wrapped("", f"{head}, from {row['since']} by {row['by']}{reason} (by default {_or_code(row['default'])})")


def _or_code(value: str) -> str:
    return value or "as the code has it"


def _permit_row(permit: StatePermit) -> dict[str, Any]:
    return {
        "permit": permit.permit,
        "program": permit.program,
        "source": permit.source,
        "from": permit.valid_from.isoformat(),
        "to": permit.valid_to.isoformat() if permit.valid_to else None,
        "entered_by": permit.entered_by,
        "provisions": [each.id for each in permit.provisions],
    }


@contextmanager
def gateway_if_any(config: Path) -> Iterator[Opened | None]:
    """The gateway where there is one: codes and their defaults can be read without."""
    if config.exists():
        with opened(config) as at:
            yield at
    else:
        yield None


def _read(code: str, at: Opened | None) -> tuple[Profile, date]:
    """A code as it is read at this gateway, and today there."""
    if at is None:
        return load_profile(code), date.max
    name = _names(at).get(code, code)
    with at.ledger.read() as conn:
        profile = codes.in_force(conn, {name: load_profile(name)})[name]
    return profile, localtime.day_of(at.clock.now_us(), at.zone)


def _names(at: Opened) -> dict[str, str]:
    """Profiles by how a person may call them: their own names, and the ids of the municipalities that have them."""
    towns = at.registry.municipalities
    return {each.id: each.profile for each in towns} | {each.profile: each.profile for each in towns}


def _own(code: str, at: Opened) -> Profile:
    """A code of a municipality of the registry: for another nothing can be decided here."""
    known = _names(at)
    if code not in known:
        raise UnknownThingError(f"the registry has no municipality or profile {code!r}, only {', '.join(known)}")
    return load_profile(known[code])


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise InputError(f"--from {text!r} is no day; write 2026-07-01") from None


def _said(text: str, option: str) -> str:
    if not text.strip():
        raise InputError(f"{option} needs words: it stands in the log book")
    return text.strip()
