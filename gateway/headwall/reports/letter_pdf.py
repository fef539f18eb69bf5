"""A letter as PDF, laid out by typst."""

from __future__ import annotations

import json
import tempfile
from importlib.resources import files
from pathlib import Path
from typing import Any

from headwall.reports.letter import Heading, Items, Letter, Paragraph, Piece, Rows


def as_pdf(letter: Letter, *, draft: bool, foot: str, signed: str = "") -> bytes:
    """Pages of Letter size.

    Args:
        draft: each page says so, and what is left to do stands at the end.
        foot: stands below each page: of which case it was made and when.
        signed: who signed and when.
    """
    import typst  # takes long to load, and few commands need it

    with tempfile.TemporaryDirectory() as folder:
        data = {
            "title": letter.title,
            "sender": letter.sender,
            "draft": draft,
            "foot": foot,
            "signed": signed,
            "letter": letter.letter,
            "warning": letter.warning if draft else [],
            "left": letter.left if draft else [],
            "pieces": [_piece(each, n, Path(folder)) for n, each in enumerate(letter.pieces)],
        }
        template = files(__package__).joinpath("templates", "letter.typ").read_text(encoding="utf-8")
        source = Path(folder, "letter.typ")
        source.write_text(template, encoding="utf-8")
        made: bytes = typst.compile(source, sys_inputs={"data": json.dumps(data)}, ignore_system_fonts=True)
        return made


def _piece(piece: Piece, n: int, folder: Path) -> dict[str, Any]:
    match piece:
        case Heading(text):
            return {"is": "heading", "text": text}
        case Paragraph(text):
            return {"is": "paragraph", "text": text}
        case Rows(rows):
            return {"is": "rows", "rows": rows}
        case Items(items, boxes):
            return {"is": "items", "items": items, "boxes": boxes}
        case _:
            name = f"{n}.png"
            (folder / name).write_bytes(piece.png)
            return {"is": "picture", "file": name, "says": piece.says}
