"""The register of approvals: what each code asks of one, what covers a flow and when, and the command on it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from headwall.codes import code_of
from headwall.errors import InputError, UnknownThingError
from headwall.law.profile import load_profile
from headwall.ledger import approvals, log_book, schema
from headwall.ledger.ledger import Ledger
from headwall.registry import load_registry
from headwall.rules.approval_spans import Book
from hypothesis import given, settings
from hypothesis import strategies as st
from support.desk import Desk
from support.empty_ledger import empty_ledger
from support.place_house import place
from support.profile_text import profile_text
from support.rules_house import HOUR, at

SITE = "outfall-7"
CODES = ("bayville", "elmsford", "hillburn", "horseheads", "north_castle")
WHO = ("--site", SITE, "--by", "Ruth Adler", "--granted-by", "Olive Officer", "--holder", "Brook Water Co.")
REFERENCE = ("--reference", "letter 12")
DAY = ("--from", "2025-06-02 08:00", "--to", "2025-06-02 16:00")
START, END = at("2025-06-02 12:00"), at("2025-06-02 20:00")  # New York is four hours behind


def desk_under(folder: Path, code: str) -> Desk:
    place(folder, "stage.level", "", code)
    (folder / "headwall.db").write_bytes(empty_ledger())
    return Desk(folder)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return desk_under(tmp_path, "hillburn")


def spans(desk: Desk, start_us: int = START - 48 * HOUR, end_us: int = END + 48 * HOUR) -> list[tuple[int, int, str]]:
    ledger = Ledger.open(desk.url)
    with ledger.read() as conn:
        assert log_book.verify(conn) is None
        registry = load_registry(desk.folder / "registry.toml")
        profile = code_of(conn, registry, "elmsford")
        found = Book.of(conn, registry, profile, SITE).allowed_between(start_us, end_us)
    ledger.close()
    return [(each.start_us, each.end_us, each.kind) for each in found]


def refused(desk: Desk, says: str, *arguments: str) -> None:
    with pytest.raises(InputError, match=says):
        desk.run("approval", *arguments)
    assert desk.rows(schema.approvals) == []
    assert desk.rows(schema.records) == []


DISCHARGE = ("add", "discharge", *WHO, *REFERENCE, "--what", "flushed main")
DYE = ("add", "dye-test", *WHO, *REFERENCE, *DAY, "--dye", "fluorescein")


@pytest.mark.parametrize("code", CODES)
def test_a_discharge_is_approved_in_writing_and_where_the_code_says_so_for_a_period(tmp_path: Path, code: str) -> None:
    desk = desk_under(tmp_path, code)
    refused(desk, 'asks for it "in writing", so give --means with these words', *DISCHARGE, *DAY)
    refused(desk, 'asks for it "in writing", not', *DISCHARGE, *DAY, "--means", "by word of mouth")
    open_ended = (*DISCHARGE, *DAY[:2], "--means", "in writing")
    if code == "elmsford":
        assert "until it is ended" in desk.run("approval", *open_ended)
        assert spans(desk) == [(START, END + 48 * HOUR, "discharge")]
        return
    refused(desk, "approved for a stated period; write --to", *open_ended)
    told = desk.run("approval", *DISCHARGE, *DAY, "--means", "in writing")
    assert told.startswith("Approval 1: discharge of flushed main (Brook Water Co.), 2025-06-02 08:00 to 2025-06-02")
    assert spans(desk) == [(START, END, "discharge")]


@pytest.mark.parametrize("code", CODES)
def test_notice_of_a_dye_test_has_the_form_of_the_code_and_comes_before_it(tmp_path: Path, code: str) -> None:
    desk = desk_under(tmp_path, code)
    form, other = ("in writing", "by word of mouth") if code == "hillburn" else ("by word of mouth", "in writing")
    refused(desk, f'asks for it "{form}"', *DYE, "--told", "2025-06-02 08:00", "--means", other)
    assert "the notice that the code wants before the test is not on record" in desk.run("approval", *DYE)
    assert spans(desk) == []
    told = ("approval", "step", "1", "told", "--done-by", "Brook Water Co.", "--means", form, "--by", "Ruth Adler")
    with pytest.raises(InputError, match=f'asks for it "{form}"'):
        desk.run(*told[:-3], other, *told[-2:])
    assert "is not on record" in desk.run(*told, "--at", "2025-06-02 08:01")
    assert spans(desk) == []
    assert "is not on record" not in desk.run(*told[:2], "2", *told[3:], "--at", "2025-06-02 08:00")
    assert spans(desk) == [(START, END, "dye_test")]
    with pytest.raises(InputError, match="approval 3 has this already"):
        desk.run(*told[:2], "3", *told[3:], "--at", "2025-06-02 08:00")


PERMIT = ("add", "state-permit", *WHO, *REFERENCE, *DAY, "--permit", "NY0012345")
EXEMPT = ("add", "exempt", *WHO, *REFERENCE, "--from", "2025-06-02 08:00", "--source")


@pytest.mark.parametrize("code", CODES)
def test_a_source_is_exempt_as_its_code_names_it(tmp_path: Path, code: str) -> None:
    desk = desk_under(tmp_path, code)
    refused(desk, "does not exempt 'beer'; it knows: water line flushing", *EXEMPT, "beer")
    more: list[str] = []
    if code == "hillburn":
        refused(desk, r"\(only if uncontaminated\); say in --condition", *EXEMPT, "springs")
        more = ["--condition", "sampled 2025-05-30"]
    if code in ("horseheads", "north_castle"):
        refused(desk, "asks for a plan .*name it in --plan, or say in --no-plan", *EXEMPT, "springs")
        more = ["--no-plan", "clear groundwater"]
    desk.run("approval", *EXEMPT, "springs", *more)
    assert spans(desk) == [(START, END + 48 * HOUR, "exempt")]


@pytest.mark.parametrize("code", CODES)
def test_an_exemption_is_lost_from_a_time_where_the_code_has_it_so(tmp_path: Path, code: str) -> None:
    desk = desk_under(tmp_path, code)
    desk.run("approval", *EXEMPT, "springs", "--condition", "sampled", "--plan", "letter 4")
    lost = ("approval", "add", "determination", *WHO, *REFERENCE, "--source", "springs", "--finding", "ammonia 4 mg/L")
    if code == "elmsford":
        with pytest.raises(InputError, match="names no way in which an exemption is lost"):
            desk.run(*lost)
        return
    assert "exempt no more: springs, ammonia 4 mg/L" in desk.run(*lost, "--from", "2025-06-02 16:00")
    assert spans(desk) == [(START, END, "exempt")]
    desk.run(
        "approval", "end", "2", "--at", "2025-06-03 16:00", "--reason", "second sample clean", "--by", "Ruth Adler"
    )
    assert spans(desk) == [(START, END, "exempt"), (END + 24 * HOUR, END + 48 * HOUR, "exempt")]
    assert [row.kind for row in desk.rows(schema.records)] == ["approval", "approval", "approval_ended"]


@pytest.mark.parametrize(
    ("code", "source"),
    [
        ("elmsford", "basement sump pumps"),
        ("elmsford", "irrigation water"),
        ("elmsford", "street wash water"),
        ("bayville", "foundation or footing drains"),
    ],
)
def test_what_a_code_does_not_list_plainly_waits_for_the_officers_ruling(
    tmp_path: Path, code: str, source: str
) -> None:
    desk = desk_under(tmp_path, code)
    add = ("approval", *EXEMPT, source, "--condition", "clear, sampled")
    assert "until the officer has ruled on it" in desk.run(*add)
    assert spans(desk) == []
    desk.run(*add, "--ruling", "water without pollutants, by sample 4", "--replaces", "1")
    assert spans(desk) == [(START, END + 48 * HOUR, "exempt")]


CHOICE = """
[[choice]]
key = "{key}"
value = {value}
from = 2025-01-01
by = "Board of Trustees"
reason = "resolution 12"
"""


def desk_that_chose(folder: Path, code: str, key: str, value: str) -> Desk:
    """Under a code whose municipality has read an open question in its own way."""
    own = folder / "own.toml"
    own.write_text(profile_text(code) + CHOICE.format(key=key, value=value), "utf-8")
    return desk_under(folder, str(own))


def test_a_municipality_may_choose_that_footing_drains_by_gravity_are_exempt(tmp_path: Path) -> None:
    desk = desk_that_chose(tmp_path, "bayville", "exempt.gravity_footing_drain", "true")
    desk.run("approval", *EXEMPT, "foundation or footing drains", "--condition", "clear")
    assert spans(desk) == [(START, END + 48 * HOUR, "exempt")]


def test_a_municipality_may_choose_who_grants_what_its_code_leaves_open(tmp_path: Path) -> None:
    for code, chosen, grants in (("horseheads", "the Board", "the Board"), ("bayville", "the Board", "the Stormwater")):
        folder = tmp_path / code
        folder.mkdir()
        desk = desk_that_chose(folder, code, "approval.grantor", f'"{chosen}"')
        told = desk.run("approval", *PERMIT, *(("--means", "in writing") if code == "bayville" else ()))
        assert f"is for {grants}" in told
    assert "is for the Stormwater Management Officer" in desk_under(tmp_path, "horseheads").run("approval", *PERMIT)


def test_a_municipality_may_choose_that_a_plan_has_to_be_filed(tmp_path: Path) -> None:
    desk = desk_that_chose(tmp_path, "horseheads", "exempt.plan_mode", '"required"')
    refused(desk, "name it in --plan: here it has to be filed", *EXEMPT, "springs", "--no-plan", "clear")
    desk.run("approval", *EXEMPT, "springs", "--plan", "plan 4 of May 2025")


def test_hillburn_allows_a_permitted_discharge_once_the_copy_is_filed(desk: Desk) -> None:
    refused(desk, 'asks for it "a written copy"', *PERMIT, "--filed", "2025-06-02 10:00")
    assert "until a copy of the approval was filed: `headwall approval step 1 filed`" in desk.run("approval", *PERMIT)
    assert spans(desk) == []
    step = ("approval", "step", "1", "filed", "--by", "Ruth Adler", "--done-by", "Brook Water Co.")
    desk.run(*step, "--means", "a written copy", "--at", "2025-06-02 10:00")
    assert spans(desk) == [(START + 2 * HOUR, END, "state_permit")]


@pytest.mark.parametrize("code", CODES)
def test_proof_of_compliance_comes_first_where_it_is_asked_for(tmp_path: Path, code: str) -> None:
    desk = desk_under(tmp_path, code)
    means = {"hillburn": ("--filed", "2025-06-01 10:00", "--means", "a written copy")}
    means |= {"bayville": ("--means", "in writing")}
    add = ("approval", *PERMIT, *means.get(code, ()), "--activity", "construction")
    desk.run(*add)
    assert spans(desk) == ([] if code == "hillburn" else [(START, END, "state_permit")])
    desk.run(*add, "--proof-asked", "--replaces", "1")
    assert spans(desk) == []
    desk.run("approval", "step", "2", "proof", "--by", "Ruth Adler", "--at", "2025-06-02 09:00")
    assert spans(desk) == [(START + HOUR, END, "state_permit")]


def test_elsewhere_nothing_is_filed(tmp_path: Path) -> None:
    desk = desk_under(tmp_path, "horseheads")
    desk.run("approval", *PERMIT)
    assert spans(desk) == [(START, END, "state_permit")]


CONNECT = ("add", "connection-permit", *WHO, *REFERENCE, "--means", "the officer's form")


def test_a_connection_permit_ends_with_the_states_permit_and_covers_no_flow(tmp_path: Path) -> None:
    desk = desk_under(tmp_path, "bayville")
    add = (*CONNECT, *DAY, "--type")
    refused(desk, "knows no type 'temporary' of permit; it knows: general, special", *add, "temporary")
    refused(desk, "ends with the State's permit", *add, "permitted discharge")
    told = desk.run("approval", *add, "permitted discharge", "--state-permit-until", "2025-06-02 12:00")
    assert "It ends 2025-06-02 12:00 with the end of the State's permit." in told
    assert spans(desk) == []


@pytest.mark.parametrize(
    ("kind", "change", "ends"),
    [
        ("permitted discharge", "owner", "with a change of owner"),
        ("permitted discharge", "use", "with a change of use"),
        ("special", "owner", "with a change of owner"),
        ("special", "use", ""),
        ("general", "owner", ""),
    ],
)
def test_a_change_of_owner_or_use_ends_a_connection_permit_by_its_type(
    tmp_path: Path, kind: str, change: str, ends: str
) -> None:
    desk = desk_under(tmp_path, "bayville")
    until = ("--state-permit-until", "2027-01-01 00:00") if kind == "permitted discharge" else ()
    desk.run("approval", *CONNECT, "--from", "2024-05-01 08:00", "--type", kind, *until)
    desk.run("approval", "add", "premises-change", *WHO, *REFERENCE, "--what", change, "--from", "2025-03-01 00:00")
    assert (f"It ends 2025-03-01 00:00 {ends}" in " ".join(desk.run("approval", "show", "1").split())) == bool(ends)
    if kind == "special" and ends:
        desk.run("approval", "step", "2", "approved", "--by", "Olive Officer", "--at", "2025-03-05 09:00")
        assert "It ends" not in desk.run("approval", "show", "1")


@pytest.mark.parametrize("code", ["elmsford", "hillburn", "horseheads", "north_castle"])
def test_a_code_without_connection_permits_refuses_them(tmp_path: Path, code: str) -> None:
    add = ("add", "connection-permit", *WHO, *REFERENCE, *DAY, "--type", "general")
    refused(desk_under(tmp_path, code), "has no clause for connection permit", *add)


SUSPEND = ("add", "suspension", *WHO, *REFERENCE, "--reason", "solvent in the pipe")


@pytest.mark.parametrize("code", CODES)
def test_nothing_covers_a_flow_while_access_is_suspended(tmp_path: Path, code: str) -> None:
    desk = desk_under(tmp_path, code)
    desk.run("approval", *DISCHARGE, *DAY, "--means", "in writing")
    desk.run("approval", *SUSPEND, "--from", "2025-06-02 10:00")
    assert spans(desk) == [(START, START + 2 * HOUR, "discharge")]
    told = desk.run("approval", "end", "2", "--at", "2025-06-02 12:00", "--reason", "mended", "--by", "Olive Officer")
    assert "access reinstated as of 2025-06-02 12:00 by Olive Officer" in told
    assert spans(desk) == [(START, START + 2 * HOUR, "discharge"), (START + 4 * HOUR, END, "discharge")]
    assert [row.kind for row in desk.rows(schema.records)] == ["approval", "approval", "reinstatement"]


def test_access_is_ended_by_its_step_and_not_by_the_proposal(desk: Desk) -> None:
    desk.run("approval", *DISCHARGE, *DAY, "--means", "in writing")
    desk.run("approval", "add", "termination", *WHO, *REFERENCE, *DAY[:2], "--reason", "sewage, twice")
    assert spans(desk) == [(START, END, "discharge")]
    desk.run("approval", "step", "2", "terminated", "--by", "Olive Officer", "--at", "2025-06-02 11:00")
    assert spans(desk) == [(START, START + 3 * HOUR, "discharge")]


def test_a_lien_follows_the_hearing_after_its_days_and_in_hillburn_alone(tmp_path: Path) -> None:
    lien = ("lien", "--by", "Village Attorney")
    desk = desk_under(tmp_path, "bayville")
    desk.run("approval", *SUSPEND, *DAY[:2])
    with pytest.raises(InputError, match="makes no lien of what an emergency cost"):
        desk.run("approval", "step", "1", *lien, "--at", "2025-08-01 09:00")
    (tmp_path / "hillburn").mkdir()
    desk = desk_under(tmp_path / "hillburn", "hillburn")
    desk.run("approval", *SUSPEND, *DAY[:2])
    with pytest.raises(InputError, match="wants a hearing first"):
        desk.run("approval", "step", "1", *lien, "--at", "2025-08-01 09:00")
    desk.run("approval", "step", "1", "hearing", "--by", "Olive Officer", "--at", "2025-06-10 19:00")
    with pytest.raises(InputError, match="from the hearing: here Jun 21 00:00 EDT"):  # ten whole days after June 10
        desk.run("approval", "step", "2", *lien, "--at", "2025-06-20 23:59")
    assert "the costs became a lien" in desk.run("approval", "step", "2", *lien, "--at", "2025-06-24 00:00")


def test_what_holds_for_the_whole_municipality_holds_at_each_site(desk: Desk) -> None:
    everywhere = ("--municipality", "elmsford", *WHO[2:])
    discharge = ("add", "discharge", *everywhere, *REFERENCE, *DAY, "--what", "flood water", "--means", "in writing")
    desk.run("approval", *discharge)
    assert spans(desk) == [(START, END, "discharge")]
    assert "all of elmsford" in desk.run("approval", "show", "1")
    assert "flood water" in desk.run("approval", "list", "--site", SITE, "--at", "2025-06-02 09:00")
    assert "Nothing stands" in desk.run("approval", "list", "--site", SITE, "--at", "2025-06-02 16:00")


def test_one_that_was_never_right_is_ended_from_its_beginning_and_stays_on_record(desk: Desk) -> None:
    desk.run("approval", *DYE, "--told", "2025-06-01 08:00", "--means", "in writing")
    desk.run("approval", "end", "1", "--at", "2025-06-02 08:00", "--reason", "other outfall", "--by", "Ruth Adler")
    assert spans(desk) == []
    kept = json.loads(desk.run("approval", "list", "--all", "--json"))
    assert [(each["id"], each["replaces"], each["replaced_by"]) for each in kept] == [(1, None, 2), (2, 1, None)]
    for number in ("1", "2"):
        with pytest.raises(InputError, match=f"approval {number} was ended: other outfall"):
            desk.run("approval", "end", number, "--reason", "again", "--by", "Ruth Adler")
    with pytest.raises(InputError, match="approval 1 stands no more: 2 replaced it"):
        desk.run("approval", *DYE, "--replaces", "1")


def test_the_same_again_adds_nothing_and_a_correction_stands_in_its_stead(desk: Desk) -> None:
    add = ("approval", *DYE, "--means", "in writing", "--told")
    desk.run(*add, "2025-06-01 08:00")
    assert "already" in desk.run(*add, "2025-06-01 08:00")
    desk.run(*add, "2025-06-01 09:00", "--replaces", "1")
    assert len(spans(desk)) == 1
    assert "letter 12; replaced by 2" in " ".join(desk.run("approval", "list", "--all").split())
    with pytest.raises(InputError, match="was entered as 1, for which 2 stands now"):
        desk.run(*add, "2025-06-01 08:00")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("add", "permission", *WHO, *REFERENCE), "KIND 'permission' is not known; it is one of discharge, dye-test"),
        (
            (*DYE, "--told", "2025-06-01 08:00", "--means", "in writing", "--source", "springs"),
            "dye test has no --source",
        ),
        ((*DISCHARGE, *DAY, "--told", "2025-06-01 08:00", "--means", "in writing"), "discharge has no --told"),
        ((*DYE[:6], *DYE[6:8], *REFERENCE, *WHO[6:], *DAY[:2], "--dye", "x"), "a dye test needs --to"),
        (
            ("add", "work-hold", *WHO, *REFERENCE, "--reason", "no silt fence"),
            "has no clause for work hold",
        ),
        ((*DISCHARGE, "--means", "in writing", *DAY[:2], "--to", "2025-06-02 07:00"), "must end after it begins"),
        (("add", "discharge", *WHO[2:], *REFERENCE, "--what", "x"), "say where: --site, or --municipality"),
        ((*DISCHARGE[:4], "--by", " ", *DISCHARGE[6:], *DAY, "--means", "in writing"), "--by needs the name"),
        (("end", "9", "--reason", "x", "--by", "Ruth"), "there is no approval 9"),
        (
            (*SUSPEND, "--under", "hillburn-192-12a3-dye-test"),
            "no clause for suspension with the id hillburn-192-12a3-dye-test",
        ),
    ],
)
def test_what_cannot_be_entered_is_told_with_its_option(desk: Desk, arguments: tuple[str, ...], says: str) -> None:
    refused(desk, says, *arguments)


def test_unknown_places_are_told(desk: Desk) -> None:
    with pytest.raises(UnknownThingError, match="no site"):
        desk.run("approval", "add", "discharge", "--site", "outfall-9", *WHO[2:], *REFERENCE, "--what", "x")
    with pytest.raises(UnknownThingError, match="it has elmsford"):
        desk.run("approval", "list", "--municipality", "nowhere")
    with pytest.raises(UnknownThingError, match="no approval 4"):
        desk.run("approval", "show", "4")


@settings(max_examples=25, deadline=None)
@given(
    given_spans=st.lists(st.tuples(st.integers(0, 20), st.integers(1, 10), st.booleans()), max_size=5),
    asked=st.tuples(st.integers(0, 20), st.integers(1, 15)),
)
def test_at_every_instant_an_approval_covers_unless_a_suspension_bars(
    tmp_path_factory: pytest.TempPathFactory, given_spans: list[tuple[int, int, bool]], asked: tuple[int, int]
) -> None:
    registry = place(tmp_path_factory.mktemp("place"), "stage.level", "")
    ledger = Ledger.open("sqlite://")
    common = {"provision": "x", "holder": "H", "granted_by": "G"}
    with ledger.begin() as conn:
        for n, (start, length, bars) in enumerate(given_spans):
            said = {**common, "reference": f"letter {n}"}
            body = approvals.Suspension(**said, reason="r") if bars else approvals.Discharge(**said, what="w")
            span = {"from_us": start, "to_us": start + length}
            approvals.add_approval(conn, body, municipality="elmsford", site=SITE, **span, by="R", now_us=0)
        book = Book.of(conn, registry, load_profile("elmsford"), SITE)
        found = book.allowed_between(asked[0], asked[0] + asked[1])
    ledger.close()
    for instant in range(40):
        inside = asked[0] <= instant < asked[0] + asked[1]
        holding = [bars for start, length, bars in given_spans if start <= instant < start + length]
        covered = [each for each in found if each.start_us <= instant < each.end_us]
        assert len(covered) == (len(holding) if inside and not any(holding) else 0)
