"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .outputs import refuse_existing


@contextmanager
def whole_file(path: str | os.PathLike[str], *, overwrite: bool = True) -> Iterator[Path]:
    """A temporary file beside ``path``, which replaces it on success, and is removed otherwise.

    A killed process leaves the temporary file, whose name begins with a dot and ends with ".part". A link
    stays a link: its target is replaced, with the same permissions.

    Raises:
        UsageError: if the file exists by then, without ``overwrite``.
    """
    part = part_of(path)
    try:
        yield part
        take_place(part, path, overwrite=overwrite)
    except OSError as error:
        # The caller knows only the final name.
        if error.filename in (part, str(part)):
            error.filename, error.filename2 = str(path), None
        raise
    finally:
        part.unlink(missing_ok=True)


def part_of(path: str | os.PathLike[str]) -> Path:
    """A new name beside a file, for its replacement."""
    place = Path(os.path.realpath(path))
    return place.with_name(f".{place.name}.{uuid.uuid4().hex[:8]}.part")


def take_place(part: Path, path: str | os.PathLike[str], *, overwrite: bool) -> None:
    """Moves a complete file into place."""
    if not overwrite:
        refuse_existing(path)
    place = Path(os.path.realpath(path))
    if place.exists():
        # The old file must not be lost before the new one is on disk.
        os.chmod(part, place.stat().st_mode & 0o7777)
        with open(part, "rb") as file:
            os.fsync(file.fileno())
    os.replace(part, place)


def write_whole(path: str | os.PathLike[str], text: str, *, overwrite: bool = True) -> None:
    """Writes a text in UTF-8, whole or not at all."""
    with whole_file(path, overwrite=overwrite) as part:
        part.write_text(text, encoding="utf-8")
