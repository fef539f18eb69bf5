"""When something that is due is told again: before it is due, when it was due, and to the next person. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Stage = Literal["before", "overdue", "escalated", "open", "moved"]


@dataclass(frozen=True)
class Due:
    """Something that somebody has to meet.

    Attributes:
        told_us: when its due time, as it is now, was first told.
        acknowledged: a named person has said that it was seen.
        line: how many groups of persons there are to tell, one after the other.
        at_once_us: for what is due at once: how long after it each group of the line is told; the last goes for all
            that follow. Empty: by the usual time.
        remind_us: asked for again then, whatever the leads are.
        moved: its time was told otherwise before, or was over when it was learned: it is told anew.
        not_before: nobody is late after `due_us`, and nothing may be done before.
    """

    due_us: int
    told_us: int
    acknowledged: bool
    line: int
    at_once_us: Sequence[int] = ()
    remind_us: int | None = None
    moved: bool = False
    not_before: bool = False

    def escalates_us(self, group: int, usual_us: int) -> int:
        """How long a group of the line is told after the time is over."""
        if not self.at_once_us:
            return group * usual_us
        return self.at_once_us[min(group, len(self.at_once_us) - 1)]


@dataclass(frozen=True)
class Message:
    """What is told at an instant to a group of the line.

    Attributes:
        name: tells it from the others of the same due time.
    """

    at_us: int
    stage: Stage
    group: int
    name: str


def messages(due: Due, leads_us: Sequence[int], escalate_us: int) -> list[Message]:
    """All that is to be told, by time.

    Nothing is repeated soon after it was told: a reminder needs half its lead behind it, and what was due before
    anybody knew was told as overdue already. The next person is told when the ones before have had their time.
    """
    if due.not_before:
        return [Message(due.due_us, "open", 0, "open")] if due.due_us > due.told_us else []
    found = [
        Message(due.due_us - lead_us, "before", 0, f"{lead_us // 60_000_000}min")
        for lead_us in leads_us
        if due.due_us - lead_us >= due.told_us + lead_us // 2
    ]
    if due.remind_us is not None and due.told_us < due.remind_us < due.due_us:
        found.append(Message(due.remind_us, "before", 0, "again"))
    if due.moved:
        found.append(Message(due.told_us, "moved", 0, f"moved{due.told_us // 1_000_000}"))
    if due.due_us > due.told_us:
        found.append(Message(due.due_us, "overdue", 0, "overdue"))
    if not due.acknowledged:
        since_us = max(due.due_us, due.told_us)
        found += [
            Message(since_us + due.escalates_us(group, escalate_us), "escalated", group, f"next{group}")
            for group in range(1, due.line)
        ]
    return sorted(found, key=lambda message: (message.at_us, message.group))


def come(told: Sequence[Message], now_us: int) -> list[Message]:
    """Those to be told by an instant: to each group the newest that has come, which says what those before would."""
    newest = {message.group: message for message in told if message.at_us <= now_us}
    return list(newest.values())


def next_us(told: Sequence[Message], now_us: int) -> int | None:
    """When the next one comes."""
    return next((message.at_us for message in told if message.at_us > now_us), None)
