"""A letter as a file that an officer opens and changes in a word processor."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from headwall.reports.letter import Heading, Items, Letter, Paragraph, Picture, Rows

if TYPE_CHECKING:
    from docx.document import Document


def as_docx(letter: Letter, *, foot: str) -> bytes:
    """A draft: what is to be signed is a PDF, made of this by whoever finished it."""
    import docx  # takes long to load, and few commands need it
    from docx.enum.text import WD_BREAK
    from docx.shared import Cm, Pt

    document = docx.Document()
    document.core_properties.title = letter.title
    document.core_properties.author = ""
    document.core_properties.comments = ""
    body: Any = document.styles["Normal"]
    body.font.name, body.font.size = "Liberation Serif", Pt(11)
    page = document.sections[0]
    page.page_width, page.page_height = Cm(21.59), Cm(27.94)
    page.left_margin = page.right_margin = Cm(2.3)
    told = "not signed, not to be sent" if letter.letter else "for counsel, not a letter and not an order"
    _red(page.header.paragraphs[0], f"DRAFT: {told}", bold=True)
    page.footer.paragraphs[0].add_run(foot).font.size = Pt(8)
    for line in letter.sender:
        document.add_paragraph(line).paragraph_format.space_after = Pt(0)
    document.add_heading(letter.title, level=1)
    for line in letter.warning:
        _red(document.add_paragraph(), line)
    _pieces(document, letter)
    if letter.letter:
        document.add_paragraph("\n\n_________________________________\nSignature, name, title, date")
    if letter.left:
        document.add_paragraph().add_run().add_break(WD_BREAK.PAGE)
        document.add_heading("For the officer: what is left to do", level=2)
        _red(document.add_paragraph(), "This page is part of the draft alone: delete it.")
        for line in letter.left:
            document.add_paragraph(f"☐ {line}")
    out = io.BytesIO()
    document.save(out)
    return out.getvalue()


def _pieces(document: Document, letter: Letter) -> None:
    from docx.shared import Cm

    for piece in letter.pieces:
        match piece:
            case Heading(text):
                document.add_heading(text, level=2)
            case Paragraph(text):
                document.add_paragraph(text)
            case Rows(rows):
                table = document.add_table(rows=0, cols=2, style="Table Grid")
                table.autofit = False
                for label, lines in rows:
                    left, right = table.add_row().cells
                    left.text, right.text = label, "\n".join(lines)
                for column, width in zip(table.columns, (Cm(4.8), Cm(12.1)), strict=True):
                    column.width = width
                    for cell in column.cells:
                        cell.width = width
                document.add_paragraph()
            case Items(items, boxes):
                for item in items:
                    document.add_paragraph(f"☐ {item}" if boxes else item, style=None if boxes else "List Bullet")
            case Picture(png, says):
                document.add_picture(io.BytesIO(png), width=Cm(16.9))
                document.add_paragraph(says)


def _red(paragraph: Any, text: str, *, bold: bool = False) -> None:
    from docx.shared import RGBColor

    run = paragraph.add_run(text)
    run.font.color.rgb, run.bold = RGBColor(0x9B, 0x1C, 0x1C), bold
