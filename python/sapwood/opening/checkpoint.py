"""Checkpoints: files that say how far a loop over files is, so that another process can go on."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from .. import _core
from ..errors import UsageError
from ..model.branches import HasBranches
from ..options.outputs import Format, check_output
from ..options.paths import FileSpec
from ..options.whole_file import write_whole
from ..report.loop import LostFile

FORMAT, VERSION = "sapwood loop", 1
_CHECKPOINT = Format("a checkpoint, which is JSON", (".json",))


@dataclass
class Position:
    """How far a loop is.

    Attributes:
        file: the index of the file that it is in.
        done: number of entries of that file that are done, in the order in which they are delivered.
        offset: number of entries of the trees before.
        entries: number of entries that are done, in all files.
        missing: number of files that were skipped because they lack the tree or a column.
        lost: the files that were skipped.
        seen: what identifies the file that it is in; empty if it has not been opened.
        state: what the loop's body keeps.
    """

    file: int = 0
    done: int = 0
    offset: int = 0
    entries: int = 0
    missing: int = 0
    lost: list[LostFile] = field(default_factory=list)
    seen: str = ""
    state: dict[str, Any] = field(default_factory=dict)


class Checkpoint:
    """The file of a loop's position. It is replaced as a whole: a kill leaves the old one or the new.

    Raises:
        UsageError: there is a file that is not a checkpoint, or the checkpoint of a loop over other files.
        FileNotFoundError: its directory does not exist.
    """

    def __init__(self, path: str | os.PathLike[str], specs: Sequence[FileSpec]) -> None:
        self.path = Path(check_output(path, _CHECKPOINT, overwrite=True))
        names = [_name(spec) for spec in specs]
        self._inputs = hashlib.sha256("\n".join(names).encode(errors="surrogateescape")).hexdigest()
        self._files = len(specs)
        self.position = self._read()

    def save(self) -> None:
        """Writes the position and the state together.

        Raises:
            UsageError: the state cannot be stored as JSON.
        """
        document = {"format": FORMAT, "version": VERSION, "inputs": self._inputs, "files": self._files}
        try:
            text = json.dumps(document | asdict(self.position), indent=1)
        except (TypeError, ValueError) as error:
            raise UsageError(
                f"the state of the loop cannot be stored in {self.path}: {error}. Keep only dicts, lists, "
                "texts and Python numbers in it: float(x), or array.tolist()"
            ) from None
        write_whole(self.path, text + "\n")

    def _read(self) -> Position:
        try:
            document = json.loads(self.path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return Position()
        except (ValueError, RecursionError) as error:
            raise self._refused(f"it is damaged or not a checkpoint ({error})") from None
        if not isinstance(document, dict) or document.get("format") != FORMAT:
            raise self._refused("it is not the checkpoint of a loop")
        if document.get("version") != VERSION:
            raise self._refused(f"it has version {document.get('version')!r}; this sapwood reads {VERSION}")
        if document.get("inputs") != self._inputs:
            raise self._refused("it belongs to a loop over other files")
        try:
            lost = [LostFile(**one) for one in document["lost"]]
            numbers = {name: document[name] for name in ("file", "done", "offset", "entries", "missing")}
            if not all(type(number) is int and number >= 0 for number in numbers.values()):
                raise ValueError(f"not whole numbers: {numbers}")
            return Position(**numbers, lost=lost, seen=str(document["seen"]), state=dict(document["state"]))
        except (KeyError, TypeError, ValueError) as error:
            raise self._refused(f"it is damaged ({type(error).__name__}: {error})") from None

    def _refused(self, why: str) -> UsageError:
        path = str(self.path)
        return UsageError(f"cannot resume from {path!r}: {why}. Delete it to start again", url=path)


def identity(source: HasBranches) -> str:
    """What shows that a file was replaced: its UUID, the path of the tree and the number of its entries."""
    return f"{source.file.uuid} {source.object_path} {source.tree.num_entries}"


def shown(spec: FileSpec) -> str:
    """The path or URL of a file, without secrets."""
    file = spec.file
    if isinstance(file, HasBranches):
        return file.file.file_path
    return _core.redact(file) if isinstance(file, str) else f"<{type(file).__name__}>"


def _name(spec: FileSpec) -> str:
    """A file, the object and the entries in it."""
    seen = identity(spec.file) if isinstance(spec.file, HasBranches) else ""
    return f"{shown(spec)}\t{seen}\t{spec.object_path}\t{spec.steps}"
