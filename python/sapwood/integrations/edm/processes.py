"""The histories of processes in a file: which steps ran, and with what."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ...model.branch import Branch
    from ...model.file import File


@dataclass(frozen=True)
class ProcessInfo:
    """A step of a process history: the process at a position (0 came first), and what it ran with."""

    history: int
    position: int
    process: str
    release: str
    parameter_set_id: str


def processes_of(file: File) -> list[ProcessInfo]:
    """The histories of processes of a file, one after the other; empty if it has none."""
    branch = metadata_branch(file, "ProcessHistory") or metadata_branch(file, "ProcessHistoryMap")
    if branch is None:
        return []
    entry = branch.array(entry_stop=1)[0].to_list()
    # Before CMSSW 3_9 it was a map from IDs.
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
    """The items of a vector, or of the one member that a class around a vector has."""
    while isinstance(value, dict):
        value = value["data_"] if "data_" in value else next(iter(value.values()), [])
    return list(value)


def _hash(step: dict[str, Any]) -> str:
    return hash_text(step.get("parameterSetID_", {}).get("hash_", ""))


def hash_text(stored: str | bytes) -> str:
    """A hash in hexadecimal digits. Files have it as those, or as the 16 bytes that they stand for."""
    raw = stored.encode("utf-8", "surrogateescape") if isinstance(stored, str) else stored
    return raw.hex() if len(raw) == 16 else raw.decode("ascii", "replace")
