"""The signed link of a mail: whoever holds it may see what the mail was about and say, by name, that it was seen.

The key stands in a file that is made when it is first needed. A link names its mail and the instant up to which it
holds, so that it can be checked without a session, and no other link can be made from it.
"""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Final

from itsdangerous import BadSignature, Signer

from headwall.errors import ConfigurationError, InputError
from headwall.law.localtime import HOUR_US
from headwall.settings import NotifySettings

_KEY_BYTES: Final = 32
_MAIL_CHARS: Final = 16
_FORM_US: Final = 24 * HOUR_US
PATH: Final = "/seen"


class LinkError(InputError):
    """A link, or the form behind it, is not one of ours or holds no longer. Says what to do."""


class Links:
    """Makes links and reads them.

    Args:
        page: the address of the page as mails print it.
    """

    def __init__(self, key_file: Path, page: str, days: float) -> None:
        self._file = key_file
        self._page = page.rstrip("/")
        self._holds_us = round(days * 24 * HOUR_US)

    @classmethod
    def of(cls, settings: NotifySettings) -> Links | None:
        """As the settings have it; None where no file for the key is named."""
        if settings.link_key is None:
            return None
        return cls(settings.link_key, settings.public_url, settings.link_days)

    def url(self, message_id: str, now_us: int) -> str:
        """The link of a mail."""
        mail = message_id.strip("<>").partition("@")[0][:_MAIL_CHARS]
        return f"{self._page}{PATH}/{self._sign('mail', mail, now_us + self._holds_us)}"

    def read(self, token: str, now_us: int) -> str:
        """The beginning of the Message-ID that a link is for.

        Raises:
            LinkError: it was not made here, or holds no longer.
        """
        return self._read("mail", token, now_us, "This link is too old. Open that of a newer mail")

    def form(self, mail: str, now_us: int) -> str:
        """What a form carries to show that the page of the mail was opened before it was sent."""
        return self._sign("form", mail, now_us + _FORM_US)

    def check_form(self, text: str, mail: str, now_us: int) -> None:
        """LinkError unless a form was made for that mail's page a short while ago."""
        if self._read("form", text, now_us, "The page was open for more than a day. Open the link again") != mail:
            raise LinkError("The form belongs to the link of another mail. Open the link again and send its form.")

    def _sign(self, what: str, mail: str, until_us: int) -> str:
        """Short, since people copy it: the mail, the hour up to which it holds, the signature."""
        return self._signer(what).sign(f"{mail}-{until_us // HOUR_US + 1:x}").decode("ascii")

    def _read(self, what: str, text: str, now_us: int, too_old: str) -> str:
        try:
            mail, _, until = self._signer(what).unsign(text).decode("ascii").partition("-")
        except (BadSignature, UnicodeError):
            raise LinkError(
                "This link was not made here, or was cut off. Open it as it stands in the mail, whole; where the mail "
                "program breaks it, copy it by hand."
            ) from None
        if now_us >= int(until, 16) * HOUR_US:
            raise LinkError(f"{too_old}, or use the command line (`headwall mail seen`).")
        return mail

    def _signer(self, salt: str) -> Signer:
        return Signer(self._key, salt=salt)

    @cached_property
    def _key(self) -> bytes:
        try:
            if not self._file.exists():
                _make_key(self._file)
            text = self._file.read_text(encoding="ascii", errors="replace").strip()
        except OSError as error:
            raise ConfigurationError(
                str(self._file), [f"the key of links cannot be kept there: {error.strerror}; see notify.link_key"]
            ) from None
        try:
            key = bytes.fromhex(text)
        except ValueError:
            key = b""
        if len(key) < _KEY_BYTES:
            holds = "is empty" if not text else "holds no key of 64 hexadecimal digits"
            raise ConfigurationError(
                str(self._file),
                [f"the key of links {holds}; take it from a backup, or delete it: a new one is made, old links end"],
            )
        return key


def _make_key(file: Path) -> None:
    """Write a new key beside its place, whole and on the disk, before it gets its name; one that is there stays."""
    new = file.with_name(f"{file.name}.{secrets.token_hex(_KEY_BYTES)}.new")
    made = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(made, "w", encoding="ascii") as written:
            written.write(secrets.token_hex(_KEY_BYTES) + "\n")
            written.flush()
            os.fsync(written.fileno())
        with suppress(FileExistsError):  # another process was first: its key counts
            os.link(new, file)
        folder = os.open(file.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    finally:
        new.unlink(missing_ok=True)
