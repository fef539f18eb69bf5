"""Serving the page: uvicorn in a thread of its own."""

from __future__ import annotations

import socket
import threading
import time

import uvicorn
from fastapi import FastAPI

from headwall.errors import HeadwallError

_START_WITHIN_S = 10.0
_STOP_WITHIN_S = 8.0


class WebServerError(HeadwallError):
    """The page cannot be served."""


class WebServer:
    """Serves an app at HOST:PORT. `port` is the real one after `start`, also where 0 was asked for."""

    def __init__(self, app: FastAPI, host: str, port: int) -> None:
        self.host, self.port = host, port
        self._config = uvicorn.Config(app, log_config=None, access_log=False, timeout_graceful_shutdown=3)
        self._server: uvicorn.Server | None = None
        self._thread: threading.Thread | None = None

    @property
    def url(self) -> str:
        return f"http://{self.host}:{self.port}"

    def start(self) -> None:
        """Listen; returns when the page can be had.

        Raises:
            WebServerError: the address cannot be listened on.
        """
        if self._thread is not None:
            raise RuntimeError("the web server already runs; stop() it first")
        listening = self._listen()
        server = uvicorn.Server(self._config)
        self._server = server
        self._thread = threading.Thread(target=lambda: server.run(sockets=[listening]), name="web", daemon=True)
        self._thread.start()
        until = time.monotonic() + _START_WITHIN_S
        while not server.started:
            if not self._thread.is_alive() or time.monotonic() > until:
                self.stop()
                raise WebServerError(f"the page at {self.url} did not start; its log says why")
            time.sleep(0.01)

    def stop(self) -> None:
        """Stop listening and end the thread within ten seconds; open requests have three to finish."""
        server, thread = self._server, self._thread
        self._server = self._thread = None
        if server is None or thread is None:
            return
        server.should_exit = True
        thread.join(_STOP_WITHIN_S)
        server.force_exit = True

    def healthy(self) -> str | None:
        if self._thread is not None and not self._thread.is_alive():
            return f"the page at {self.url} is not served any more; restart the service and report its log"
        return None

    def stuck(self) -> str | None:
        return self.healthy()  # it serves or it has ended

    def _listen(self) -> socket.socket:
        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        made = socket.socket(family, socket.SOCK_STREAM)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            made.bind((self.host, self.port))
        except OSError as error:
            made.close()
            raise WebServerError(
                f"the page cannot be served at {self.url}: {error.strerror}; set web.port (or web.host) to a free one"
            ) from error
        self.port = made.getsockname()[1]
        return made
