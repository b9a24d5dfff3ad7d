"""Process histories of an EDM file: the processing steps and their releases and parameter sets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ...model.branch import Branch
    from ...model.file import File


@dataclass(frozen=True)
class ProcessInfo:
    """A step of a process history.

    Attributes:
        history: the number of the history in the file, from 0.
        position: the position of the step in its history; 0 is the first.
        process: the name of the process.
        release: the CMSSW release.
        parameter_set_id: the ID of its configuration in :func:`parameter_sets`.
    """

    history: int
    position: int
    process: str
    release: str
    parameter_set_id: str


def processes_of(file: File) -> list[ProcessInfo]:
    """The steps of all process histories of a file, in order; empty if it has none."""
    branch = metadata_branch(file, "ProcessHistory") or metadata_branch(file, "ProcessHistoryMap")
    if branch is None:
        return []
    entry = branch.array(entry_stop=1)[0].to_list()
    # Before CMSSW 3_9, the branch held a map from IDs to histories.
    histories = [item[1] if isinstance(item, tuple) else item for item in _listed(entry)]
    return [
        ProcessInfo(number, position, step["processName_"], step["releaseVersion_"], _hash(step))
        for number, history in enumerate(histories)
        for position, step in enumerate(_listed(history))
    ]


def metadata_branch(file: File, name: str) -> Branch | None:
    """A branch of the MetaData tree, or None."""
    if "MetaData" not in file:
        return None
    tree = file.tree_at("MetaData")
    return tree.get(name) if tree.num_entries else None


def _listed(value: Any) -> list[Any]:
    """The items of a vector, or of the vector that is the only member of a class."""
    while isinstance(value, dict):
        value = value["data_"] if "data_" in value else next(iter(value.values()), [])
    return list(value)


def _hash(step: dict[str, Any]) -> str:
    return hash_text(step.get("parameterSetID_", {}).get("hash_", ""))


def hash_text(stored: str | bytes) -> str:
    """A hash in hexadecimal digits. Files store either those digits or the 16 bytes themselves."""
    raw = stored.encode("utf-8", "surrogateescape") if isinstance(stored, str) else stored
    return raw.hex() if len(raw) == 16 else raw.decode("ascii", "replace")
