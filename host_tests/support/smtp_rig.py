"""Settings for the local mailbox, and a server that says nothing."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from headwall.settings import SmtpSettings
from headwall_board.certs import Authority
from headwall_sim.mailbox import Mailbox

SENDER = "headwall@village.example"


def settings_for(mailbox: Mailbox, ca: Authority) -> SmtpSettings:
    """What reaches the mailbox with STARTTLS and its account."""
    return SmtpSettings.model_validate(
        {
            "host": mailbox.host,
            "port": mailbox.port,
            "security": "starttls",
            "username": mailbox.username,
            "password": mailbox.password,
            "ca_file": ca.cert,
            "sender": SENDER,
        }
    )


@contextmanager
def mute_server() -> Iterator[tuple[int, threading.Event]]:
    """A port that accepts and never says a word, and an event that is set when somebody has connected."""
    connected = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listening:
        kept: list[socket.socket] = []

        def accept() -> None:
            try:
                while True:
                    kept.append(listening.accept()[0])
                    connected.set()
            except OSError:
                pass  # closed at the end of the test

        threading.Thread(target=accept, daemon=True).start()
        yield listening.getsockname()[1], connected
        listening.shutdown(socket.SHUT_RDWR)
        for each in kept:
            each.close()
