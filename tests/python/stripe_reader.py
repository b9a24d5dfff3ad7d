"""Reads datasets in a directory by docs/specs/stripe.md alone, without sapwood: the text is enough."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cramjam
import numpy as np
from xxhash import xxh64_intdigest as checksum

DIGITS = "0123456789abcdefghjkmnpqrstvwxyz"


def unpack(payload: bytes, length: int) -> bytes:
    """The content of a record, or of a packed block, as ROOT stores it; or in planes, or steps."""
    parts, at = [], 0
    while len(payload) != length and at < len(payload):
        tag, width = payload[at : at + 2], payload[at + 2]
        assert (tag, width) in ((b"ZS", 1), (b"ZP", 2), (b"ZP", 4), (b"ZP", 8), (b"ZT", 4))
        at, size = at + 9, int.from_bytes(payload[at + 3 : at + 6], "little")
        stored = payload[at : at + size]
        block = bytes(cramjam.zstd.decompress(stored[4:] if tag == b"ZT" else stored))
        if tag != b"ZS":
            end = len(block) // width * width
            planes = np.frombuffer(block[:end], np.uint8).reshape(width, -1)
            numbers, left = planes.T.tobytes(), block[end:]
            if tag == b"ZT":
                numbers = np.cumsum(np.frombuffer(numbers, ">u4"), dtype=np.uint32).astype(">u4").tobytes()
            block = numbers + left
        if tag == b"ZT":
            assert checksum(block) % (1 << 32) == int.from_bytes(stored[:4], "little")
        parts.append(block)
        at += size
    return b"".join(parts) or payload


class Reader:
    """Takes bytes in order."""

    def __init__(self, content: bytes) -> None:
        self.content, self.at = content, 0

    def take(self, length: int) -> bytes:
        self.at += length
        assert self.at <= len(self.content)
        return self.content[self.at - length : self.at]

    def numbers(self, form: str) -> tuple[Any, ...]:
        return struct.unpack("<" + form, self.take(struct.calcsize("<" + form)))

    def packed(self) -> bytes:
        stored, length = self.numbers("II")
        return unpack(self.take(stored), length)

    def planes(self, count: int, width: int) -> np.ndarray:
        planes = np.frombuffer(self.take(count * width), np.uint8).reshape(width, count)
        return np.ascontiguousarray(planes.T).view(f"<u{width}")[:, 0] if count else planes[:0, 0]


def content(thing: bytes, kind: int) -> bytes:
    """What is in an object of that kind."""
    magic, of, version, _, readers, _, header, stored, length, body, more = struct.unpack_from(
        "<8sBBHIIIQQQQ", thing
    )
    assert (magic, of, version, readers, header, more) == (b"\x89SAPW\r\n\x1a", kind, 1, 0, 64, 0)
    assert checksum(thing[:56]) == struct.unpack_from("<Q", thing, 56)[0]
    assert stored == length == len(thing) - 64 and checksum(thing[64:]) == body
    return thing[64:]


def snapshot(thing: bytes) -> tuple[dict[str, Any], list[bytes]]:
    """A snapshot's description, and its schemas."""
    reader = Reader(content(thing, 2))
    description = json.loads(reader.packed())
    return description, [reader.packed() for _ in description["schemas"]]


def directory(thing: bytes) -> list[tuple[str, int, int, list[bytes]]]:
    """What a stripe holds: product, first entry, entries, records of baskets."""
    reader = Reader(content(thing, 4))
    assert reader.numbers("Q")[0] == checksum(
        reader.content[8 : 16 + struct.unpack_from("<I", reader.content, 8)[0]]
    )
    listed, members = Reader(reader.packed()), []
    for _ in range(listed.numbers("I")[0]):
        name = listed.take(listed.numbers("H")[0]).decode()
        first, entries, count = listed.numbers("QQI")
        lengths, sums = listed.numbers(f"{count}I"), listed.numbers(f"{count}Q")
        records = [reader.take(length) for length in lengths]
        assert [checksum(record) for record in records] == list(sums)
        members.append((name, first, entries, records))
    return members


def name_of(number: int) -> str:
    return "".join(DIGITS[number >> 5 * place & 31] for place in reversed(range(20)))


def listed(section: bytes) -> tuple[Reader, Reader, dict[str, Any]]:
    """The columns of a stripe list, what follows them, and the list's numbers with the stripes' branches."""
    reader = Reader(section)
    magic, version, features, *numbers = reader.numbers("4sHHQQIII")
    assert (magic, version, features & ~7) == (b"SPLT", 1, 0)
    found = dict(zip(("entries", "count", "branches", "objects", "inline"), numbers, strict=True))
    count, objects = found["count"], found["objects"]
    baskets = reader.numbers("Q")[0] if features & 1 else found["branches"] * count
    columns = Reader(reader.packed())
    bases, low, high = (columns.planes(objects, width).tolist() for width in (4, 8, 4))
    found["sizes"] = columns.planes(objects, 8).tolist() if features & 2 else [0] * objects
    found["of stripes"] = columns.planes(count, 8).tolist()
    if features & 1:
        firsts, several = (columns.planes(count, 4).tolist() for _ in range(2))
    else:
        firsts, several = [0] * count, [found["branches"]] * count
    found["spans"] = [range(one, one + number) for one, number in zip(firsts, several, strict=True)]
    assert sum(several) == baskets
    found["names"], number = [], 0
    for base, lowest, highest in zip(bases, low, high, strict=True):
        number = (number + lowest + (highest << 64)) % (1 << 96)
        found["names"].append((base, name_of(number)))
    return columns, reader, found


def stripes(section: bytes) -> Iterator[tuple[range, int, int | bytes, str, int, list[int], list[int]]]:
    """For each stripe: branches, entries, base (or bytes), object, offset, lengths of baskets, checksums."""
    columns, _, found = listed(section)
    count, spans, ends = found["count"], found["spans"], [0] * found["branches"]
    which = np.cumsum(columns.planes(count, 4), dtype=np.uint32).tolist()
    offsets = columns.planes(count, 8).tolist()
    places = [(branch, stripe) for stripe, span in enumerate(spans) for branch in span]
    places.sort()
    lengths = dict(zip(places, columns.planes(len(places), 4).tolist(), strict=True))
    sums = dict(zip(places, np.frombuffer(columns.take(8 * len(places)), "<u8").tolist(), strict=True))
    here = columns.take(found["inline"])
    assert columns.at == len(columns.content)
    for stripe, (span, entries) in enumerate(zip(spans, found["of stripes"], strict=True)):
        assert len({ends[branch] for branch in span}) == 1
        for branch in span:
            ends[branch] += entries
        place = which[stripe]
        base, name = (here, "") if place == 2**32 - 1 else found["names"][place]
        of_stripe = [[column[branch, stripe] for branch in span] for column in (lengths, sums)]
        yield span, entries, base, name, offsets[stripe], *of_stripe
    assert set(ends) == {found["entries"]}


def statistics(section: bytes) -> list[list[tuple[int, int, Any, Any] | None]]:
    """For each branch, by stripe: number of values, of NaN, least and greatest (or None); or nothing."""
    _, reader, list_of = listed(section)
    count, spans = list_of["count"], list_of["spans"]
    columns = Reader(reader.packed())
    assert reader.at == len(section)
    found: list[list[tuple[int, int, Any, Any] | None]] = []
    kinds = columns.take(list_of["branches"]) if columns.content else bytes(list_of["branches"])
    for branch, kind in enumerate(kinds):
        known: list[tuple[int, int, Any, Any] | None] = [None] * count
        if kind:
            values, nans, low, high = (columns.planes(count, 8) for _ in range(4))
            form = {1: "<i8", 2: "<u8", 3: "<f8", 4: "<u8"}[kind]
            rows = zip(values, nans, low.view(form), high.view(form), strict=True)
            for stripe, (number, not_numbers, least, greatest) in enumerate(rows):
                ends = (least.item(), greatest.item()) if number > not_numbers and kind != 4 else (None, None)
                if number != 2**64 - 1:
                    known[stripe] = (int(number), int(not_numbers), *ends)
        found.append([one for one, span in zip(known, spans, strict=True) if branch in span])
    assert columns.at == len(columns.content)
    return found


def events(thing: bytes) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Runs, luminosity blocks and event numbers."""
    reader = Reader(content(thing, 5))
    entries, blocks = reader.numbers("QI")
    bounds = [reader.numbers("IIQIIQIQ") for _ in range(blocks)]
    assert checksum(reader.content[: reader.at]) == reader.numbers("Q")[0]
    columns: list[list[np.ndarray]] = [[], [], []]
    for number, bound in enumerate(bounds):
        block = reader.take(bound[6])
        assert checksum(block) == bound[7]
        planes = Reader(Reader(block).packed())
        for column, width in zip(columns, (4, 4, 8), strict=True):
            steps = planes.planes(min(65_536, entries - 65_536 * number), width)
            one = steps.dtype.type(1)
            column.append(
                np.cumsum((steps >> one) ^ (np.zeros_like(steps) - (steps & one)), dtype=steps.dtype)
            )
    runs, lumis, numbers = (np.concatenate(column or [np.zeros(0)]) for column in columns)
    return runs, lumis, numbers


class Dataset:
    """The last version of a dataset in a directory."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        assert json.loads(content((folder / "fmt").read_bytes(), 1))["log_elsewhere"] is False
        last = max((folder / "log").iterdir(), key=lambda entry: entry.name)
        self.version = json.loads(content(last.read_bytes(), 6))
        found = snapshot((folder / "snap" / self.version["snapshot"]).read_bytes())
        self.description, self.schemas = found

    def sections(self, product: dict[str, Any]) -> Iterator[bytes]:
        """The stripe list of a product in each segment."""
        for segment in self.description["segments"]:
            where = segment["lists"][str(product["id"])]
            listed = (self.folder / "list" / where["id"]).read_bytes()
            section = listed[where["offset"] : where["offset"] + where["len"]]
            assert checksum(section) == where["checksum"] and where["base"] == 0
            yield section

    def baskets(self, product: dict[str, Any], place: int) -> Iterator[tuple[int, bytes]]:
        """Entries and content of each basket of a branch, by its place; none if it has no leaves."""
        for section in self.sections(product):
            for span, entries, base, name, offset, lengths, sums in stripes(section):
                if place not in span:
                    continue
                thing = (
                    base if isinstance(base, bytes) else (self.folder / "d" / name[-2:] / name).read_bytes()
                )
                number = place - span.start
                start = offset + sum(lengths[:number])
                record = thing[start : start + lengths[number]]
                assert checksum(record) == sums[number]
                if not record:
                    continue
                length, key = struct.unpack_from(">6xI4xH", record)
                yield entries, unpack(record[key:], length)
