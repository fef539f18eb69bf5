"""The registry: every fault at once, local midnight, and what was in force when."""

from __future__ import annotations

from pathlib import Path

import pytest
from headwall.errors import ConfigurationError, UnknownThingError
from headwall.registry import Registry, load_registry
from headwall.wire.contract import UNIT_OF
from support.rules_house import at, make_registry

_DEMO = Path(__file__).parents[2] / "tools/headwall_sim/demo/registry.toml"
_EXAMPLES = Path(__file__).parents[2] / "docs/examples"


def _load(folder: Path, text: str) -> Registry:
    path = folder / "changed.toml"
    path.write_text(text, "utf-8")
    return load_registry(path)


def _faults(folder: Path, *changes: tuple[str, str]) -> list[str]:
    """The faults of the demo's registry after some replacements."""
    text = _DEMO.read_text("utf-8")
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    with pytest.raises(ConfigurationError) as caught:
        _load(folder, text)
    return caught.value.faults


def test_the_demo_registry_holds_together() -> None:
    assert [node.id for node in load_registry(_DEMO).nodes] == ["board-a", "board-b", "board-c", "board-d"]


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('id = "board-b"', 'id = "board-a"', "node id 'board-a' stands 2 times"),
        ("240ac400000b", "240ac400000a", "node mac '240ac400000a' stands 2 times"),
        ('id = "luis-ferrer"', 'id = "dana-voss"', "person id 'dana-voss' stands 2 times"),
        ('id = "main-street-lofts"', 'id = "sawmill-north"', "site id 'sawmill-north' stands 2 times"),
        ('id = "dana-voss"', 'id = "dana-moss"', "no person 'dana-voss'"),
        ('installer = "sam-okafor"', 'installer = "nobody"', "node board-a, installer: no person 'nobody'"),
        ('datastream = "board-a/rain.tips"', 'datastream = "board-x/rain.tips"', "no datastream 'board-x/rain.tips'"),
        ('municipality = "elmsford"\npermit', 'municipality = "elmwood"\npermit', "no municipality 'elmwood'"),
        ('profile = "elmsford"', 'profile = "atlantis"', "there is no such profile"),
        ('time_zone = "America/New_York"', 'time_zone = "America/Elmsford"', "unknown time zone"),
        ('tip = "0.01 in"\nfrom = 2026-03-10', "from = 2026-03-10", "needs `tip`"),
        ('tip = "0.01 in"', 'tip = "0.01 inch"', "tip"),
        ('tip = "0.01 in"', 'tip = "0.00 in"', "tip"),
        ('name = "rain.tips"', 'name = "rain.drops"', "must end in its quantity, .tips"),
        ('place = "pole at the north gate, Saw Mill Road"\n', "", "nodes.0.place"),
        ('legal_basis = "consent"', 'legal_basis = "because"', "nodes.0.legal_basis"),
        ('role = "smo", municipality = "elmsford", ', 'role = "smo", ', "needs `municipality`"),
        (
            'status = [{ status = "active", from = 2026-03-15, by = "Ruth Adler" }]',
            'status = [{ status = "active", from = 2026-03-15, by = "R" }, '
            '{ status = "closed", from = 2026-04-01, by = "R" }]',
            "site sawmill-north, status: the periods from 2026-03-15 and from 2026-04-01 overlap",
        ),
        (
            'status = [{ status = "active", from = 2026-03-15, by = "Ruth Adler" }]',
            'status = [{ status = "active", from = 2026-03-15, to = 2026-03-15, by = "R" }]',
            "`to` 2026-03-15 is not after `from` 2026-03-15",
        ),
        (
            'status = [{ status = "active", from = 2026-03-15, by = "Ruth Adler" }]',
            'status = [{ status = "active", from = 2026-03-08T02:30:00, by = "R" }]',
            "does not exist",
        ),
        ('roles = [{ role = "smo"', 'roles = [{ role = "king"', "people.0.roles.0.role"),
        ("from = 2026-03-15,", "from = 0,", "write a date such as 2026-03-15"),
        ('quantity = "tips"', 'quantity = "rain"', "no quantity 'rain'; there are battery, "),
        ('tip = "0.01 in"', 'tip = "0.01 in"\nplace = "elsewhere"', "needs `place`, `legal_basis` and"),
        ('tip = "0.01 in"', 'tip = "0.01 in"\nlegal_basis = "order"', "needs `place`, `legal_basis` and"),
        ('legal_reference = "', 'legal_reference = " " # "', "nodes.0.legal_reference"),
        ('place = "pole at the north gate, Saw Mill Road"', 'place = " "', "nodes.0.place"),
        ('kind = "construction"', 'kind = "garden"', "sites.0.kind"),
        ('name = "Dana Voss"', 'name = ""', "person dana-voss, name"),
        ('name = "Dana Voss"', r'name = "Dana\r\nBcc: evil@x.example"', "person dana-voss, name"),
        ('"dana@vossbuild.example"', r'"dana@vossbuild.example\nBcc: evil@x.example"', "person dana-voss, email"),
        ('"dana@vossbuild.example"', '"dana@vossbuild.example, evil@x.example"', "person dana-voss, email"),
        ('"dana@vossbuild.example"', '"Dana <dana@vossbuild.example>"', "person dana-voss, email"),
        ('"dana@vossbuild.example"', '"dana"', "person dana-voss, email"),
        ('"dana@vossbuild.example"', '"dana@b\u00fccher.example"', "person dana-voss, email"),
        ('"dana@vossbuild.example"', f'"{"d" * 250}@vossbuild.example"', "person dana-voss, email"),
    ],
)  # fmt: skip
def test_a_fault_is_named_where_it_stands(tmp_path: Path, old: str, new: str, says: str) -> None:
    faults = _faults(tmp_path, (old, new))
    assert any(says in fault for fault in faults), faults


def test_every_fault_is_reported_at_once(tmp_path: Path) -> None:
    faults = _faults(
        tmp_path,
        ('id = "board-b"', 'id = "board-a"'),
        ('datastream = "board-c/rain.tips"', 'datastream = "board-x/rain.tips"'),
        ('installer = "sam-okafor"', 'installer = "nobody"'),
        ('profile = "elmsford"', 'profile = "atlantis"'),
    )
    assert len(faults) >= 4 + 4


def test_a_missing_file_and_bad_toml_are_configuration_errors(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="cannot be read"):
        load_registry(tmp_path / "none.toml")
    with pytest.raises(ConfigurationError, match="is not TOML"):
        _load(tmp_path, "[[people]\n")


def test_a_date_means_local_midnight_of_the_municipality(tmp_path: Path) -> None:
    status = (
        '[{ status = "active", from = 2026-01-01, to = 2026-06-01, by = "O" },'
        ' { status = "closed", from = 2026-06-01, by = "O" }]'
    )
    registry = make_registry(tmp_path, status=status)
    found = [registry.status_of("yard", at(text)) for text in ("2026-06-01 03:59", "2026-06-01 04:00")]
    assert [each.status for each in found if each] == ["active", "closed"]
    assert registry.status_of("yard", at("2025-12-31 12:00")) is None


def test_a_time_with_an_offset_is_that_instant(tmp_path: Path) -> None:
    registry = make_registry(tmp_path, status='[{ status = "active", from = 2026-01-01T12:00:00Z, by = "O" }]')
    assert registry.status_of("yard", at("2026-01-01 11:59")) is None
    assert registry.status_of("yard", at("2026-01-01 12:00")) is not None


def test_the_example_of_sensors_holds_together_and_each_has_a_place_and_a_legal_basis() -> None:
    registry = load_registry(_EXAMPLES / "registry-sensors.toml")
    now_us = at("2026-06-10 12:00")
    kinds = {site.id: site.kind for site in registry.sites}
    wanted = {"outfall-7": "outfall", "brook-lane-12": "septic", "basin-3": "basin", "village-hall": "station"}
    assert kinds == wanted
    places = {name: registry.place_of(name, now_us) for name in registry.datastream_ids()}
    assert places["septic-12/sludge.level"] == "first chamber of the septic tank, 12 Brook Lane"
    assert places["outfall-7/stage.distance"] == "headwall of outfall 7, Saw Mill River"
    assert all(places.values())


@pytest.mark.parametrize("quantity", sorted(UNIT_OF))
def test_every_quantity_of_the_contract_can_be_registered(tmp_path: Path, quantity: str) -> None:
    text = (_EXAMPLES / "registry-sensors.toml").read_text("utf-8")
    tip = 'tip = "0.01 in"\n' if quantity == "tips" else ""
    text = text.replace(
        'name = "air.pressure"\nquantity = "pressure"\n', f'name = "air.{quantity}"\nquantity = "{quantity}"\n{tip}'
    ).replace(', of = "air_pressure"', "")
    assert f"station/air.{quantity}" in set(
        _load(tmp_path, text.replace("station/air.pressure", f"station/air.{quantity}")).datastream_ids()
    )


def test_a_sensor_of_a_site_must_exist(tmp_path: Path) -> None:
    text = (
        (_EXAMPLES / "registry-sensors.toml")
        .read_text("utf-8")
        .replace('"station/air.pressure"', '"station/air.humidity"')
    )
    with pytest.raises(ConfigurationError, match=r"site village-hall: no datastream 'station/air\.humidity'"):
        _load(tmp_path, text)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('angle_deg = 90', 'angle_deg = 110', "ratings.0.v_notch.angle_deg"),
        ("silent_after_min = 60", "silent_after_min = 1" + 30 * "0", "silent_after_min"),
        ("dwell_min = 120", "dwell_min = 1" + 30 * "0", "dwell_min"),
        ('to = 2026-05-01', 'to = 2026-06-01', "site outfall-7, rating: the periods from 2025-04-01 and from"),
        ('["0.10 m", "6.1 L/s"]', '["0.10 m", "0.1 L/s"]', "a rating must rise"),
        ('"6.1 L/s"', '"6.1 L"', "the unit must be one of m3/s, L/s, gpm, cfs"),
        ('zero = "1.20 m"', "zero = 1.2", "1.2 is no number with a unit"),
        ('method = "range_down" ', 'method = "level" ', "belong to a range"),
        ('of = "stage", from', 'of = "velocity", from', "stage.distance cannot be its velocity, which is a velocity"),
        ('of = "air_temperature"', 'of = "water_temperature"', "needs a sensor with of = 'air_temperature'"),
        ('[[sites.levels]]                   #', '[[sites.basins]]#', "sites.0.basins.0"),
        ('method = "table"\npoints', 'method = "area_velocity"\n#', "area_velocity.diameter"),
        ('baffle = "16 in"', 'baffle = "49 in"', "the baffle must end between the two"),
        ('kind = "septic"', 'kind = "basin"', "`tanks` are of septic sites"),
        ('of = "sludge"                  ', 'of = "scum" # ', "level of scum: no sensor of this site has of = 'scum'"),
        ('reason = "staff', 'reason = " " # "', "corrections.0.reason"),
    ],
)  # fmt: skip
def test_a_fault_of_a_sites_geometry_is_named(tmp_path: Path, old: str, new: str, says: str) -> None:
    text = (_EXAMPLES / "registry-sensors.toml").read_text("utf-8")
    assert old in text
    with pytest.raises(ConfigurationError) as raised:
        _load(tmp_path, text.replace(old, new))
    assert any(says in fault for fault in raised.value.faults), raised.value.faults


def test_an_outfall_has_a_gauge_whose_storms_ask_no_report_of_it(tmp_path: Path) -> None:
    text = _DEMO.read_text("utf-8").replace('kind = "construction"', 'kind = "outfall"')
    registry = _load(tmp_path, text)
    site = registry.sites[0].id
    assert [gauge.datastream for gauge in registry.gauges_of_site(site, at("2026-06-10 12:00"))]
    assert not any(registry.sites_of_gauge(name, at("2026-06-10 12:00")) for name in registry.datastream_ids())


def test_roles_gauges_and_people_count_as_they_were_in_force(tmp_path: Path) -> None:
    text = _DEMO.read_text("utf-8")
    text = text.replace(
        '{ role = "smo", municipality = "elmsford", from = 2025-01-01 }',
        '{ role = "smo", municipality = "elmsford", from = 2025-01-01, to = 2026-05-01 }',
    ).replace(
        '{ datastream = "board-a/rain.tips", distance_m = 40, from = 2026-03-10 }',
        '{ datastream = "board-a/rain.tips", distance_m = 40, from = 2026-03-10, to = 2026-05-01 },'
        ' { datastream = "board-c/rain.tips", distance_m = 900, from = 2026-05-01 }',
    )
    registry = _load(tmp_path, text)
    april, june = at("2026-04-15 12:00"), at("2026-06-15 12:00")
    assert [person.id for person in registry.officers("elmsford", april)] == ["ruth-adler"]
    assert registry.officers("elmsford", june) == []
    assert [site.id for site in registry.sites_of_gauge("board-a/rain.tips", april)] == ["sawmill-north"]
    assert registry.sites_of_gauge("board-a/rain.tips", june) == []
    assert [gauge.datastream for gauge in registry.gauges_of_site("sawmill-north", june)] == ["board-c/rain.tips"]
    assert [person.name for person in registry.people_at("sawmill-north", "developer", june)] == ["Dana Voss"]
    assert registry.people_at("sawmill-north", "developer", at("2026-02-01 12:00")) == []


def test_datastreams_are_found_only_while_in_force() -> None:
    registry = load_registry(_DEMO)
    assert registry.datastream("board-a/rain.tips", at("2026-03-10 03:59")) is None
    assert registry.datastream("board-a/rain.tips", at("2026-03-10 04:00")) is not None
    installer = registry.installer_of("board-a")
    assert installer is not None
    assert installer.id == "sam-okafor"


def test_the_newest_calibration_before_the_instant_counts(tmp_path: Path) -> None:
    text = _DEMO.read_text("utf-8").replace(
        'calibrations = [{ on = 2026-03-11, by = "Sam Okafor" }]',
        'calibrations = [{ on = 2026-03-11, by = "S" }, { on = 2026-05-02, by = "T" }]',
    )
    registry = _load(tmp_path, text)
    by = [registry.last_calibration("board-b/rain.tips", at(f"{day} 12:00")) for day in ("2026-04-01", "2026-06-01")]
    assert [each.by for each in by if each] == ["S", "T"]
    assert registry.last_calibration("board-b/rain.tips", at("2026-01-01 12:00")) is None


def test_unknown_names_are_answered_with_what_exists() -> None:
    registry = load_registry(_DEMO)
    with pytest.raises(UnknownThingError, match=r"board-x.*board-a, board-b"):
        registry.require_node("board-x")
    with pytest.raises(UnknownThingError, match=r"board-a/rain\.tips"):
        registry.require_datastream("rain.tips")


def test_dates_of_a_node_need_its_municipality_where_time_zones_differ(tmp_path: Path) -> None:
    text = _DEMO.read_text("utf-8").replace(
        "# --- people",
        '[[municipalities]]\nid = "west"\nname = "West"\nprofile = "elmsford"\ntime_zone = "America/Chicago"\n# ---',
        1,
    )
    with pytest.raises(ConfigurationError) as caught:
        _load(tmp_path, text)
    assert any("node board-a: needs `municipality`" in fault for fault in caught.value.faults)
