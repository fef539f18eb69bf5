"""A real PostgreSQL on loopback, its files in a folder of its own, stopped by its process id."""

from __future__ import annotations

import os
import pwd
import secrets
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

from headwall_sim import parts
from headwall_sim.server_process import HOST, ServerProcess, accepts, free_port

#: PostgreSQL refuses to run as root; its Debian package makes this account
UNPRIVILEGED = "postgres"


class PostgresServer:
    """PostgreSQL with an administrator "headwall" who needs no password on loopback."""

    def __init__(self) -> None:
        pg_ctl = parts.find("postgresql")
        if pg_ctl is None:
            raise RuntimeError(parts.why_absent("postgresql"))
        self._bin = pg_ctl.resolve().parent
        self._user = UNPRIVILEGED if os.geteuid() == 0 else None
        self.folder = Path(tempfile.mkdtemp(prefix="headwall-pg-"))  # pytest's folders are closed to other accounts
        if self._user:
            shutil.chown(self.folder, self._user)
        self.port = free_port()
        self._process = ServerProcess(
            "postgres",
            # -F: no fsync, as its files are gone before this machine could lose power
            [str(self._bin / "postgres"), "-F", "-D", str(self._data), "-p", str(self.port), "-k", str(self.folder)],
            self.folder / "postgres.log",
            self._serves,
            self._user,
        )

    @property
    def _data(self) -> Path:
        return self.folder / "data"

    def start(self) -> None:
        """Make its files and start it."""
        self._run("initdb", "-D", str(self._data), "-U", "headwall", "-A", "trust", "-E", "UTF8", "--no-sync")
        self._process.start()

    def remove(self) -> None:
        """Stop it (immediate shutdown: nothing of it is kept) and remove its files."""
        self._process.stop(signal.SIGQUIT)
        shutil.rmtree(self.folder, ignore_errors=True)

    def make_database(self) -> str:
        """A new empty database; returns its SQLAlchemy URL."""
        name = f"t{secrets.token_hex(6)}"
        self._run("createdb", "-h", HOST, "-p", str(self.port), "-U", "headwall", name)
        return f"postgresql+psycopg://headwall@{HOST}:{self.port}/{name}"

    def _run(self, program: str, *arguments: str) -> None:
        environment = {**os.environ, "LC_ALL": "C.UTF-8"}
        if self._user:
            environment["HOME"] = pwd.getpwnam(self._user).pw_dir
        subprocess.run(
            [str(self._bin / program), *arguments],
            check=True,
            capture_output=True,
            cwd=self.folder,
            env=environment,
            user=self._user,
        )

    def _serves(self) -> bool:
        return accepts(self.port) and (self.folder / f".s.PGSQL.{self.port}").exists()
