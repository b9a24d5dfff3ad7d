"""SAPWOOD_UPROOT=1 reaches the processes that an engine starts."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from served_files import Served

from sapwood import startup

PROGRAM = """
    import sys

    def opened(path):
        import os, uproot
        tree = uproot.open(path)["Events"]
        return os.getpid(), type(tree).__module__, len(tree["met"].array(entry_stop=10))

    if __name__ == "__main__":
        import os
        results = run(opened, sys.argv[1])
        assert {one[0] for one in results} - {os.getpid()}
        print(*{one[1:] for one in results})
"""
ENGINES = {
    "multiprocessing": """
        def run(function, path):
            import multiprocessing
            with multiprocessing.get_context("spawn").Pool(2) as pool:
                return pool.map(function, [path] * 4)
    """,
    "loky": """
        def run(function, path):
            import loky
            return list(loky.get_reusable_executor(2).map(function, [path] * 4))
    """,
    "distributed": """
        def run(function, path):
            from distributed import Client, LocalCluster
            settings = {"processes": True, "threads_per_worker": 1, "dashboard_address": None}
            with LocalCluster(n_workers=2, **settings) as cluster, Client(cluster) as client:
                return client.gather(client.map(function, [path] * 4, pure=False))
    """,
    "parsl": """
        def run(function, path):
            import parsl
            from parsl.executors import HighThroughputExecutor
            from parsl.providers import LocalProvider
            provider = LocalProvider(init_blocks=1, max_blocks=1)
            executor = HighThroughputExecutor(address="127.0.0.1", max_workers_per_node=1, provider=provider)
            with parsl.load(parsl.Config(executors=[executor], strategy="none")):
                app = parsl.python_app(function)
                return [one.result() for one in [app(path), app(path)]]
    """,
}


@pytest.mark.parametrize("engine", ENGINES)
def test_the_switch_reaches_workers(engine: str, served: Served, tmp_path: Path) -> None:
    pytest.importorskip(engine)
    (tmp_path / "program.py").write_text(textwrap.dedent(ENGINES[engine]) + textwrap.dedent(PROGRAM))
    # What `python -m sapwood.uproot --install` puts into the folder of packages.
    (tmp_path / "sitecustomize.py").write_text(startup.START_LINE)
    places = [str(tmp_path), str(Path(startup.__file__).parents[1])]
    done = subprocess.run(
        [sys.executable, "program.py", str(served.folder / "00.root")],
        cwd=tmp_path,
        env={
            **os.environ,
            "SAPWOOD_UPROOT": "1",
            "PYTHONPATH": os.pathsep.join(places),
            "PATH": os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]]),
        },
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.stdout.strip() == "('sapwood.uproot._models', 10)", done.stderr[-2000:]
