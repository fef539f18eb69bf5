"""The templates of the page."""

from __future__ import annotations

import jinja2

from headwall.notify import wording
from headwall.notify.render import line_html


def render(template: str, **values: object) -> str:
    return _TEMPLATES.get_template(template).render(**values)


def _environment() -> jinja2.Environment:
    made = jinja2.Environment(
        loader=jinja2.PackageLoader("headwall.web"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(
        local=wording.full_time,
        ago=wording.duration,
        inches=wording.inches,
        words=lambda text: str(text).replace("_", " "),
        line_html=line_html,
    )
    return made


_TEMPLATES = _environment()
