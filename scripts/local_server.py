"""The common parts of the test servers: free ports, start, stop, and the protocol of the command line."""

from __future__ import annotations

import argparse
import json
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

STOP_SECONDS = 10.0


def free_port() -> int:
    """A port without a listener."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def listens(port: int) -> bool:
    """Whether a server accepts connections on a local port."""
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


def is_ready(ready: Callable[[], bool], seconds: float, *processes: subprocess.Popen[bytes]) -> bool:
    """Waits for a condition; False if the time is up, or one of the processes has ended."""
    end = time.monotonic() + seconds
    while time.monotonic() < end and all(process.poll() is None for process in processes):
        if ready():
            return True
        time.sleep(0.02)
    return False


def stop(process: subprocess.Popen[bytes], *, seconds: float = STOP_SECONDS) -> None:
    """Waits for the end of a process that was asked to stop, and kills it after the given time."""
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def parser(description: str | None) -> argparse.ArgumentParser:
    """A parser that prints the description as it is."""
    layout = argparse.RawDescriptionHelpFormatter
    return argparse.ArgumentParser(description=description, formatter_class=layout)


def serve(document: dict[str, Any]) -> None:
    """Prints the addresses as one line of JSON, and waits until standard input ends."""
    print(json.dumps(document), flush=True)
    sys.stdin.read()
