"""Files that appear whole, or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .outputs import refuse_existing


@contextmanager
def whole_file(path: str | os.PathLike[str], *, overwrite: bool = True) -> Iterator[Path]:
    """A file beside it, which takes its place when all went well, and is removed otherwise.

    A process that is killed leaves that file, whose name begins with a dot and ends with ".part". A link
    stays a link: the file that it names is replaced, and its permissions stay.

    Raises:
        UsageError: if the file exists by then and is not to be replaced.
    """
    part = part_of(path)
    try:
        yield part
        take_place(part, path, overwrite=overwrite)
    except OSError as error:
        # Nobody knows the file beside it.
        if error.filename in (part, str(part)):
            error.filename, error.filename2 = str(path), None
        raise
    finally:
        part.unlink(missing_ok=True)


def part_of(path: str | os.PathLike[str]) -> Path:
    """A new name beside a file, for what is to take its place."""
    place = Path(os.path.realpath(path))
    return place.with_name(f".{place.name}.{secrets.token_hex(4)}.part")


def take_place(part: Path, path: str | os.PathLike[str], *, overwrite: bool) -> None:
    """Puts a complete file in its place."""
    if not overwrite:
        refuse_existing(path)
    place = Path(os.path.realpath(path))
    if place.exists():
        # What it replaces must not be lost for something that is only in memory yet.
        os.chmod(part, place.stat().st_mode & 0o7777)
        with open(part, "rb") as file:
            os.fsync(file.fileno())
    os.replace(part, place)


def write_whole(path: str | os.PathLike[str], text: str, *, overwrite: bool = True) -> None:
    """Writes a text in UTF-8."""
    with whole_file(path, overwrite=overwrite) as part:
        part.write_text(text, encoding="utf-8")
