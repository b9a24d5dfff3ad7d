"""`sapwood monitor`: collects records of reads from programs, and shows them in the browser."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from ._output import print_line
from ._run import command, listening, wait_for_interrupt


@command
def monitor(
    listen: Annotated[
        str, typer.Option(metavar="HOST:PORT", help="The UDP address that receives packets.")
    ] = "127.0.0.1:9331",
    web: Annotated[
        str, typer.Option(metavar="HOST:PORT", help="The address of the web page.")
    ] = "127.0.0.1:8331",
    database: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH", help="SQLite database. [default: ~/.local/state/sapwood/monitor.sqlite]"
        ),
    ] = None,
    days: Annotated[
        float, typer.Option(metavar="N", min=0.01, help="Days after which packets are deleted.")
    ] = 7.0,
    rows: Annotated[
        int, typer.Option(metavar="N", min=1, help="The most packets that are kept.")
    ] = 1_000_000,
) -> None:
    """Collect records of reads, and show them in the browser.

    Programs send them if SAPWOOD_MONITORING=udp://HOST:PORT is set; CMSSW sends them if this address is its
    statistics destination. There is no password: listen beyond this machine only if everyone may see the
    data.

    \b
    sapwood monitor
    SAPWOOD_MONITORING=udp://127.0.0.1:9331 python analysis.py
    """
    from ..monitoring._udp import host_and_port
    from ..monitoring.collector import Receiver, WebPage
    from ..options.outputs import DATABASE, check_name

    path = Path(check_name(database or _default_path(), DATABASE))
    path.parent.mkdir(parents=True, exist_ok=True)
    with listening(listen, "--listen"):
        receiver = Receiver(*host_and_port(listen, 9331), path, days=days, rows=rows)
    try:
        with listening(web, "--web"):
            page = WebPage(*host_and_port(web, 8331), path, receiver.counts)
        try:
            print_line(f"packets: udp://{receiver.address[0]}:{receiver.address[1]}", flush=True)
            print_line(f"page:    {page.url}", flush=True)
            wait_for_interrupt()
        finally:
            page.close()
    finally:
        receiver.close()


def _default_path() -> Path:
    base = os.environ.get("XDG_STATE_HOME", "")
    return (Path(base) if os.path.isabs(base) else Path.home() / ".local/state") / "sapwood/monitor.sqlite"
