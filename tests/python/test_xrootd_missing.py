"""The error for root:// without XRootD's client."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import pytest


def test_it_is_said_what_to_install() -> None:
    code = """
        import sapwood
        for call in (sapwood.open, sapwood.concatenate):
            try:
                call("root://localhost//f*.root?token=sesame")
            except sapwood.errors.UnsupportedTypeError as error:
                print(error.url, error.hint, error)
    """
    finished = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "SAPWOOD_XRDCL": "/nonexistent/shim.so"},
    )
    assert finished.returncode == 0, finished.stderr
    said = finished.stdout.splitlines()
    assert len(said) == 2 and all(line.startswith("root://localhost//") for line in said)
    assert finished.stdout.count("libxrootd-client-dev") == 4 and "sesame" not in finished.stdout


@pytest.mark.parametrize("count", ["0", "17", "many", ""])
def test_a_number_of_connections_that_is_none_is_refused(count: str) -> None:
    finished = subprocess.run(
        [sys.executable, "-c", "import sapwood; sapwood.open('root://localhost//f.root')"],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "SAPWOOD_ROOT_CONNECTIONS": count},
    )
    message = f"SAPWOOD_ROOT_CONNECTIONS is '{count}': a number of connections, 1 to 16, is expected"
    assert message in finished.stderr and "UsageError" in finished.stderr
