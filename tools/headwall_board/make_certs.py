"""Certificates for an installation's broker: python -m headwall_board.make_certs FOLDER NAME…

    ca.key      the authority's key: keep it off broker and boards
    ca.pem      for gateway and broker, ca.der for boards
    server.pem  the broker's certificate, server.key its key

An authority that is in the folder already signs again, so that boards need no new file when the broker's
certificate is renewed.
"""

from __future__ import annotations

import argparse
from datetime import UTC, datetime, timedelta
from pathlib import Path

from headwall_board.certs import Authority, issue_server, make_ca

#: before any board's program was built: a board that does not know the time takes that of its build
_NOT_BEFORE = datetime(2025, 1, 1, tzinfo=UTC)


def main() -> None:
    """Make or renew them, and say what goes where."""
    parser = argparse.ArgumentParser(
        prog="python -m headwall_board.make_certs", description="Certificates for the broker."
    )
    parser.add_argument("folder", type=Path, help="where they go; an authority in it is used again")
    parser.add_argument("names", nargs="+", metavar="name", help="host names and addresses that boards and gateway use")
    parser.add_argument(
        "--days", type=int, default=825, help="how long the broker's certificate is valid (%(default)s)"
    )
    given = parser.parse_args()
    if given.days < 1:
        parser.error("--days must be 1 or more")
    authority = _authority(given.folder)
    server = issue_server(
        given.folder, authority, given.names, _NOT_BEFORE, datetime.now(UTC) + timedelta(days=given.days)
    )
    print(f"broker:  {server.cert} and {server.key}, for {', '.join(given.names)}, valid {given.days} days")
    print(f"gateway: {authority.cert}")
    print(f"boards:  {authority.der}")
    print(f"keep to yourself: {authority.key}")


def _authority(folder: Path) -> Authority:
    found = Authority(folder / "ca.pem", folder / "ca.der", folder / "ca.key")
    if all(path.is_file() for path in (found.cert, found.der, found.key)):
        return found
    return make_ca(folder, "ca", _NOT_BEFORE, datetime(2049, 12, 31, tzinfo=UTC))


if __name__ == "__main__":
    main()
