"""A real PostgreSQL server for tests on a free local port, with an empty database.

    python scripts/postgres_server.py

Prints one line of JSON when it is ready, {"url": "postgresql://…"}, and serves until its standard input ends.
scripts/postgres.sh installs PostgreSQL. The server refuses to run as root, so root starts it as postgres or
nobody.
"""

from __future__ import annotations

import getpass
import os
import pwd
import secrets
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from local_server import free_port, is_ready, serve, stop

READY_SECONDS = 120.0
USER = "catalogue"
# A test may lose its database, so nothing needs to wait for the disk.
SETTINGS = {
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "shared_buffers": "16MB",
    "max_connections": "60",
    "listen_addresses": "127.0.0.1",
}


def programs() -> Path | None:
    """The folder of the server's programs, or None. On Debian, it is not on PATH."""
    versions = [path.parent for path in Path("/usr/lib/postgresql").glob("*/bin/postgres")]
    versions.sort(key=lambda folder: float(folder.parent.name))
    if found := shutil.which("postgres"):
        versions.append(Path(found).parent)
    whole = [folder for folder in versions if (folder / "initdb").exists()]
    return whole[-1] if whole else None


def missing() -> str | None:
    """The missing software, or None."""
    return None if programs() else "PostgreSQL is not installed (Debian and Ubuntu: apt install postgresql)"


@dataclass(frozen=True)
class Server:
    """A running server."""

    port: int
    password: str
    process: subprocess.Popen[bytes]

    @property
    def url(self) -> str:
        """The URL of its database, with user and password."""
        return f"postgresql://{USER}:{self.password}@127.0.0.1:{self.port}/postgres"

    @contextmanager
    def database(self) -> Iterator[str]:
        """The URL of a new, empty database, which is removed at the end."""
        import psycopg

        name = f"test_{secrets.token_hex(6)}"
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        url = f"{self.url.rpartition('/')[0]}/{name}"
        try:
            yield url
        finally:
            self.drop(url)

    def drop(self, url: str) -> None:
        """Removes a database, and closes the connections to it."""
        import psycopg

        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(f"DROP DATABASE IF EXISTS {url.rpartition('/')[2]} WITH (FORCE)")


@contextmanager
def postgres_server() -> Iterator[Server]:
    """A server with the empty database ``postgres``."""
    binaries = programs()
    if binaries is None:
        raise RuntimeError(missing())
    user, password = _user(), secrets.token_hex(8)
    with tempfile.TemporaryDirectory(prefix="sapwood-postgres-") as name:
        folder = Path(name)
        (folder / "password").write_text(password)
        for path in (folder, folder / "password"):
            shutil.chown(path, user)
        data, port = folder / "data", free_port()
        how = ["--auth=scram-sha-256", f"--pwfile={folder}/password", f"--username={USER}", "--no-sync"]
        encoding = ["--encoding=UTF8", "--locale=C"]
        made = [str(binaries / "initdb"), *how, *encoding, f"--pgdata={data}"]
        subprocess.run(made, check=True, capture_output=True, user=user, cwd=folder, timeout=READY_SECONDS)
        settings = {**SETTINGS, "port": str(port), "unix_socket_directories": str(folder)}
        options = [part for key, value in settings.items() for part in ("-c", f"{key}={value}")]
        command = [str(binaries / "postgres"), "-D", str(data), *options]
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, user=user, cwd=folder
            )
        server = Server(port, password, process)
        try:
            _wait_until_ready(data, server)
            yield server
        finally:
            # Fast shutdown, which closes connections.
            process.send_signal(2)
            stop(process)


def _user() -> str:
    """The user of the server, which must not be root."""
    if os.getuid() != 0:
        return getpass.getuser()
    names = {one.pw_name for one in pwd.getpwall()}
    return "postgres" if "postgres" in names else "nobody"


def _wait_until_ready(data: Path, server: Server) -> None:
    def ready() -> bool:
        with suppress(OSError, IndexError):
            # The eighth line of this file is the state of the server.
            return (data / "postmaster.pid").read_text().splitlines()[7].strip() == "ready"
        return False

    if not is_ready(ready, READY_SECONDS, server.process):
        raise RuntimeError(f"PostgreSQL on port {server.port} does not start")


def main() -> None:
    if (lack := missing()) is not None:
        raise SystemExit(f"postgres_server: {lack}")
    with postgres_server() as server:
        serve({"url": server.url})


if __name__ == "__main__":
    main()
