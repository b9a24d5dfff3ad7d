"""Every file of the corpus is called sound, unless something is truly wrong with it, as listed here."""

from __future__ import annotations

import pytest
from corpus import CORPUS

import sapwood

FILES = sorted((CORPUS / "files").glob("*.root"))

DAMAGED = {
    "coffea__bad_delphes.root": "never closed",  # its writer crashed: it has no list of keys
}
"""What is wrong with a file, as the message says it."""

NOTED = {
    # The tree of references of POOL: its branches were filled, the tree never was.
    "skhep__string-example.root": "the tree says 0 entries",
    # The writer left 22 bytes behind the list of keys that belong to nothing.
    "skhep__uproot-issue261.root": "neither a record nor free",
    # A file that was written over one that was longer.
    "uproot5-hist__src__uproot__my-output__data-part0__078645bf.root": "bytes follow the end of the file",
    # Classes with code of their own (KM3NeT, nEXO, MaGe): no basket is what the description in the file says.
    "skhep__uproot-issue-607.root": "cannot be decoded",
    "skhep__uproot-issue-76.root": "cannot be decoded",
    "skhep__uproot-issue124.root": "cannot be decoded",
    "skhep__uproot-issue407.root": "cannot be decoded",
    "skhep__uproot-issue433-splitlevel2.root": "cannot be decoded",
    "skhep__uproot-issue475.root": "cannot be decoded",
}
"""What is unusual about a file, and costs nothing."""


@pytest.mark.skipif(not FILES, reason="there is no corpus")
def test_real_files_are_sound_but_for_those_that_are_not() -> None:
    reports = sapwood.verify([{path: None} for path in map(str, FILES)]).files
    wrong = []
    for path, report in zip(FILES, reports, strict=True):
        damage = [finding.message for finding in report.damage]
        expected = DAMAGED.get(path.name)
        if report.error is not None or bool(damage) != (expected is not None):
            wrong.append(f"{path.name}: {report.error} {damage}")
        elif expected is not None and not any(expected in message for message in damage):
            wrong.append(f"{path.name}: {damage}, not '{expected}'")
        notes = [finding.message for finding in report.findings if not finding.damage]
        noted = NOTED.get(path.name)
        if any(noted is None or noted not in message for message in notes) or (noted and not notes):
            wrong.append(f"{path.name}: notes {notes}, not '{noted}'")
        assert report.error is not None or damage or report.checked_bytes == path.stat().st_size
    assert not wrong, "\n".join(wrong)
