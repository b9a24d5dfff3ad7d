"""Sapwood under uproot's names: how programs switch it on and off, and when uproot goes on alone."""

from __future__ import annotations

import inspect
import logging
import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

uproot = pytest.importorskip("uproot")
if tuple(map(int, uproot.__version__.split(".")[:2])) < (5, 7):
    pytest.skip("uproot is too old", allow_module_level=True)


def test_strict_logs_what_is_left_to_uproot(
    events_file: Path,
    switch: Callable[[bool], None],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    switch(True)
    monkeypatch.setenv("SAPWOOD_UPROOT", "strict")
    with caplog.at_level(logging.WARNING, "sapwood.uproot"):
        tree = uproot.open(events_file)["Events"]
        tree.arrays(["met"])
        assert not caplog.messages
        tree["met"].array(">i4")
    assert len(caplog.messages) == 1
    assert "left to uproot: the branch 'met'" in caplog.text


def test_an_unexpected_uproot_goes_on_alone(
    events_file: Path, switch: Callable[[bool], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    from sapwood.uproot import switch_on

    machinery, file_class = uproot.behaviors.TBranch, uproot.reading.ReadOnlyFile
    for owner, name, value, reason in (
        (machinery, "_keys_deep", None, "its function _keys_deep"),
        (machinery, "_keys_deep", lambda hasbranches, depth: None, "its function _keys_deep"),
        (machinery.HasBranches, "_eager_arrays", None, "its trees have no method _eager_arrays"),
        (file_class, "hook_before_create_source", None, "its files have no method hook_before"),
    ):
        switch(False)
        with monkeypatch.context() as patch:
            patch.delattr(owner, name)
            if value is not None:
                patch.setattr(owner, name, value, raising=False)
            with pytest.warns(UserWarning, match=f"without sapwood, because {reason}") as warned:
                assert not switch_on()
            assert len(warned) == 1
        assert type(uproot.open(events_file)["Events"]).__module__ == "uproot.models.TTree"


WITHOUT = """
    import sys, uproot
    sys.modules["uproot.source.fsspec"] = None
    import sapwood.uproot as names
    print(type(names.open(sys.argv[1])["Events"]).__module__)
"""


def test_an_uproot_without_a_module_goes_on_alone(events_file: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(WITHOUT), str(events_file)],
        check=False,
        capture_output=True,
        text=True,
    )
    assert "because it is built otherwise (" in run.stderr and run.stderr.count("SapwoodWarning") == 1
    assert run.stdout.split() == ["uproot.models.TTree"], run.stderr


def test_switching_off_restores_uproot(events_file: Path, switch: Callable[[bool], None]) -> None:
    switch(False)
    before = dict(uproot.classes)
    switch(True)
    assert dict(uproot.classes) != before
    switch(False)
    assert dict(uproot.classes) == before
    assert type(uproot.open(events_file).file.source).__name__ == "FSSpecSource"


PROGRAM = """
    import sys, uproot
    tree = uproot.open(sys.argv[1])["Events"]
    print(type(tree).__module__, len(tree["met"].array()))
"""


def run(*arguments: object, **variables: str) -> str:
    """What a process of Python prints."""
    environment = {**os.environ, **variables}
    command = [sys.executable, *map(str, arguments)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_programs_run_unchanged(events_file: Path, tmp_path: Path) -> None:
    program = tmp_path / "analysis.py"
    program.write_text(textwrap.dedent(PROGRAM))
    with_sapwood, without = "sapwood.uproot._models 1000", "uproot.models.TTree 1000"
    assert run(program, events_file) == without
    assert run("-m", "sapwood.uproot", program, events_file) == with_sapwood
    # As the start file does.
    start = f"import sapwood.startup, sys; sapwood.startup.watch(); sys.argv[1:] = ['{events_file}'];"
    assert run("-c", start + textwrap.dedent(PROGRAM), SAPWOOD_UPROOT="1") == with_sapwood
    assert run("-c", start + textwrap.dedent(PROGRAM), SAPWOOD_UPROOT="0") == without
    assert run("-c", "import sapwood, uproot; print(uproot.classes['TTree'].__module__)") == (
        "uproot.models.TTree"
    )


RESET = """
    import pickle, sys, uproot, sapwood.uproot
    early = uproot.open(sys.argv[1])["Events"]
    uproot.reset_classes()
    late = uproot.open(sys.argv[1])["Events"]
    for tree in (early, late):
        print(type(tree).__module__, tree.arrays(["met"]).fields, tree._is_unread, tree.member("fEntries"))
        print(len(pickle.loads(pickle.dumps(tree))["met"].array()))
    sapwood.uproot.switch_off()
    print(type(uproot.open(sys.argv[1])["Events"]).__module__)
"""


def test_sapwood_reads_again_after_the_classes_were_reset(events_file: Path) -> None:
    shown = run("-c", textwrap.dedent(RESET), events_file).splitlines()
    assert shown == [*["sapwood.uproot._models ['met'] True 1000", "1000"] * 2, "uproot.models.TTree"]


def test_the_start_file_can_be_installed_and_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from sapwood import startup

    monkeypatch.setattr(startup.sysconfig, "get_path", lambda _: str(tmp_path))
    path = Path(startup.install())
    assert path.parent == tmp_path and path.read_text().startswith("import os;")
    compile(path.read_text(), "start file", "exec")
    startup.uninstall()
    assert not path.exists()


def test_the_module_has_the_names_of_uproot(switch: Callable[[bool], None]) -> None:
    import sapwood.uproot

    assert sapwood.uproot.open is uproot.open
    assert sapwood.uproot.behaviors is uproot.behaviors
    assert {"open", "concatenate", "TTree"} <= set(dir(sapwood.uproot))
    assert next(iter(inspect.signature(sapwood.uproot.iterate).parameters)) == "files"
