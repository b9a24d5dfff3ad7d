"""Real XRootD servers for tests and benchmarks on free local ports.

    python scripts/xrootd_server.py --root DIR                one data server
    python scripts/xrootd_server.py --root DIR --root DIR2    a redirector with a data server for each folder

Prints one line of JSON when it is ready, {"url": "root://localhost:PORT", "servers": ["localhost:PORT", …]},
and serves until its standard input ends. Needs `xrootd`, and `cmsd` for a redirector: scripts/xrootd.sh
installs them. The servers refuse to run as root, so root starts them as nobody, who must be able to read the
folders.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import certificate
from certificate import Certificate
from local_server import free_port, is_ready, listens, parser, serve, stop

READY_SECONDS = 30.0
STOP_SECONDS = 5.0


def missing() -> str | None:
    """The missing software, or None."""
    if absent := [name for name in ("xrootd", "cmsd") if shutil.which(name) is None]:
        return f"{' and '.join(absent)} not installed (Debian and Ubuntu: apt install xrootd-server)"
    return None


@dataclass
class Server:
    """One running XRootD server, or a redirector with its servers."""

    port: int
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)
    servers: list[Server] = field(default_factory=list)

    @property
    def address(self) -> str:
        """Host and port."""
        return f"localhost:{self.port}"

    @property
    def url(self) -> str:
        """The URL of the server, without the two slashes before a path."""
        return f"root://{self.address}"

    def kill(self) -> None:
        """Kills the server, like a crash."""
        for process in self.processes:
            process.kill()
            process.wait(STOP_SECONDS)


@contextmanager
def data_server(root: Path, settings: str = "", port: int | None = None) -> Iterator[Server]:
    """A server of one folder; `settings` are added to its configuration."""
    with ExitStack() as stack:
        folder = stack.enter_context(_folder())
        port = port or free_port()
        config = f"xrd.port {port}\noss.localroot {root}\nall.export /\n{settings}"
        server = Server(port, [_start(stack, "xrootd", folder, "data", config)])
        try:
            _wait_until_open(port, folder, server.processes)
        except RuntimeError:
            if (server.processes[0].returncode or 0) >= 0:
                raise
            # XRootD itself crashes at its start now and then.
            server.processes = [_start(stack, "xrootd", folder, "data", config)]
            _wait_until_open(port, folder, server.processes)
        yield server


@contextmanager
def secure_server(root: Path) -> Iterator[tuple[Server, Certificate]]:
    """A server for roots://, with TLS, and its certificate."""
    with tempfile.TemporaryDirectory(prefix="xrd-tls") as name:
        folder = Path(name)
        folder.chmod(0o755)
        shown = certificate.make(folder)
        if os.geteuid() == 0:
            shutil.chown(shown.key, "nobody")
        tls = f"xrd.tls {shown.certificate} {shown.key}\nxrd.tlsca certfile {shown.authority}\n"
        with data_server(root, f"{tls}xrootd.tls capable all\n") as server:
            yield server, shown


@contextmanager
def redirector(roots: list[Path]) -> Iterator[Server]:
    """A redirector with a data server for each folder."""
    with ExitStack() as stack:
        folder = stack.enter_context(_folder())
        port, cluster_port = free_port(), free_port()
        manager = f"all.manager localhost:{cluster_port}\nall.export /\n"
        # The servers register at once, so the usual 90 s of waiting for them are unnecessary.
        config = (
            f"all.role manager\n{manager}xrd.port {port} if exec xrootd\n"
            f"xrd.port {cluster_port} if exec cmsd\n"
            "cms.delay startup 1 servers 1 lookup 1 suspend 1\ncms.conwait 1\n"
        )
        processes = [_start(stack, name, folder, "manager", config) for name in ("cmsd", "xrootd")]
        head = Server(port, processes)
        for number, root in enumerate(roots):
            own_port = free_port()
            config = (
                f"all.role server\n{manager}xrd.port {own_port} if exec xrootd\noss.localroot {root}\n"
                "cms.delay startup 1\n"
            )
            name = f"data{number}"
            processes = [_start(stack, program, folder, name, config) for program in ("cmsd", "xrootd")]
            head.servers.append(Server(own_port, processes))
        for server in (head, *head.servers):
            _wait_until_open(server.port, folder, server.processes)
        if roots:
            _wait_until_registered(folder, len(roots))
        yield head


@contextmanager
def _folder() -> Iterator[Path]:
    """A folder for sockets, process numbers and logs. Its path is short, because sockets require that."""
    with tempfile.TemporaryDirectory(prefix="xrd", ignore_cleanup_errors=True) as name:
        os.chmod(name, 0o777)
        yield Path(name)


def _start(stack: ExitStack, program: str, folder: Path, name: str, config: str) -> subprocess.Popen[bytes]:
    file = folder / f"{name}.cfg"
    file.write_text(
        # Only local clients have access.
        f"{config}\nxrd.allow host localhost\nxrootd.async off\n"
        f"all.adminpath {folder}\nall.pidpath {folder}\n"
    )
    command = [program, "-c", str(file), "-n", name, "-l", str(folder / f"{program}.log")]
    if os.geteuid() == 0:
        command += ["-R", "nobody"]
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder
    )
    stack.callback(_stop, process)
    return process


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    stop(process, seconds=STOP_SECONDS)


def _wait_until_open(port: int, folder: Path, processes: list[subprocess.Popen[bytes]]) -> None:
    if is_ready(lambda: listens(port), READY_SECONDS, *processes):
        return
    logs = "\n".join(path.read_text(errors="replace")[-2000:] for path in sorted(folder.glob("**/*.log")))
    raise RuntimeError(f"the XRootD server on port {port} does not start:\n{logs}")


def _wait_until_registered(folder: Path, servers: int) -> None:
    """Waits until the redirector knows its servers. Before that, it makes clients wait for ten seconds."""
    log = folder / "manager" / "cmsd.log"

    def text() -> str:
        return log.read_text(errors="replace") if log.is_file() else ""

    def ready() -> bool:
        return text().count("Primary server") >= servers and "Status changed to active" in text()

    if not is_ready(ready, READY_SECONDS):
        raise RuntimeError(f"the XRootD servers do not find each other:\n{text()[-2000:]}")


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("--root", type=Path, action="append", required=True, help="folder to serve")
    roots = [root.resolve() for root in arguments.parse_args().root]
    if (lack := missing()) is not None:
        raise SystemExit(f"xrootd_server: {lack}")
    with data_server(roots[0]) if len(roots) == 1 else redirector(roots) as server:
        serve({"url": server.url, "servers": [one.address for one in server.servers or [server]]})


if __name__ == "__main__":
    main()
