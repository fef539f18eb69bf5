"""Topics: what the gateway subscribes to and whom a message is from."""

from __future__ import annotations

import re

from headwall.wire.contract import TOPIC_ROOT, contract
from headwall.wire.errors import TopicError

_TOPIC = re.compile(rf"{re.escape(TOPIC_ROOT)}/([a-z0-9][a-z0-9-]{{0,31}})/([a-z]+)")
#: the kinds that nodes publish
FROM_NODE: tuple[str, ...] = tuple(kind for kind, spec in contract()["topics"].items() if spec["from"] == "node")


def subscriptions() -> list[str]:
    """The topic filters of all that nodes publish."""
    return [f"{TOPIC_ROOT}/+/{kind}" for kind in FROM_NODE]


def split_topic(topic: str) -> tuple[str, str]:
    """Node id and kind of a topic that a node publishes to.

    Raises:
        TopicError: "bad_topic" for anything else.
    """
    match = _TOPIC.fullmatch(topic)
    if match is None or match[2] not in FROM_NODE:
        raise TopicError("bad_topic", f"{topic[:200]!r} is not {TOPIC_ROOT}/<node>/{'|'.join(FROM_NODE)}")
    return match[1], match[2]
