"""`sapwood monitor`: collects what programs tell of their reads, and shows it in the browser."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Annotated

import typer

from ._output import print_line
from ._run import command


@command
def monitor(
    listen: Annotated[
        str, typer.Option(metavar="HOST:PORT", help="Where packets come in, by UDP.")
    ] = "127.0.0.1:9331",
    web: Annotated[str, typer.Option(metavar="HOST:PORT", help="Where the page is.")] = "127.0.0.1:8331",
    database: Annotated[
        Path | None,
        typer.Option(metavar="PATH", help="The SQLite database. [default: monitor.sqlite of this user]"),
    ] = None,
    days: Annotated[float, typer.Option(min=0.01, help="Days after which packets are forgotten.")] = 7.0,
    rows: Annotated[int, typer.Option(min=1, help="Packets that are kept, at most.")] = 1_000_000,
) -> None:
    """Collect what programs tell of their reads, and show it in the browser.

    Programs tell it if SAPWOOD_MONITORING=udp://HOST:PORT is set, and CMSSW's if that is its destination of
    statistics. Nobody is asked for a password: let others than this machine in only where all may see it.

    \b
    sapwood monitor
    SAPWOOD_MONITORING=udp://127.0.0.1:9331 python analysis.py
    """
    from ..monitoring._udp import host_and_port
    from ..monitoring.collector import Receiver, WebPage
    from ..options.outputs import DATABASE, check_name

    path = Path(check_name(database or _default_path(), DATABASE))
    path.parent.mkdir(parents=True, exist_ok=True)
    receiver = Receiver(*host_and_port(listen, 9331), path, days=days, rows=rows)
    try:
        page = WebPage(*host_and_port(web, 8331), path, receiver.counts)
        try:
            print_line(f"packets: udp://{receiver.address[0]}:{receiver.address[1]}", flush=True)
            print_line(f"page:    {page.url}", flush=True)
            while True:
                time.sleep(3600)
        except KeyboardInterrupt:
            print_line("stopped")
        finally:
            page.close()
    finally:
        receiver.close()


def _default_path() -> Path:
    base = os.environ.get("XDG_STATE_HOME", "")
    return (Path(base) if os.path.isabs(base) else Path.home() / ".local/state") / "sapwood/monitor.sqlite"
