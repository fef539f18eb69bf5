"""The kinds of cases against the five codes: what each may break, and which clauses of its article go with it."""

from __future__ import annotations

import pytest
from headwall.cases.kinds import KINDS, kind_of
from headwall.errors import InputError
from headwall.law.profile import load_profile, profile_names

_CLAUSE_KINDS = {each.kind for name in profile_names() for each in load_profile(name).provisions}


@pytest.mark.parametrize("name", KINDS)
def test_a_kind_breaks_kinds_of_clauses_that_codes_have(name: str) -> None:
    kind = kind_of(name)
    assert kind.breaks
    assert set(kind.breaks) <= _CLAUSE_KINDS
    assert len(set(kind.breaks)) == len(kind.breaks)
    assert "smo" in kind.told


def test_an_unknown_kind_is_refused_with_those_there_are() -> None:
    with pytest.raises(InputError, match="no kind of case 'flood'; known are suspected_discharge, failing_system"):
        kind_of("flood")
