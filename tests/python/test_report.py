"""Reports of cost: consistent numbers, as text, as JSON and as a picture."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from report_sums import assert_adds_up

import sapwood
from sapwood import errors
from sapwood.display.units import counted
from sapwood.report import FetchedRange, ReadReport
from sapwood.report.requests import requests_of

SVG = "{http://www.w3.org/2000/svg}"


def made_up(opened: float, *timeline: FetchedRange, path: str = "a.root", **numbers: int) -> ReadReport:
    """A report of a file of 1,000 bytes."""
    return ReadReport.from_counters(path, numbers, size=1000, opened=opened, timeline=timeline)


def two_servers() -> ReadReport:
    """Three requests: two at once to one server, and after a gap one of two ranges to another."""
    return made_up(
        100.0,
        FetchedRange(0.0, 0.2, 0, 100, 0, "one:1094"),
        FetchedRange(0.1, 0.3, 900, 100, 1, "one:1094"),
        FetchedRange(0.7, 1.0, 400, 50, 2, "two:1094"),
        FetchedRange(0.7, 1.0, 600, 50, 2, "two:1094"),
        requests=3,
        fetched_bytes=300,
        wait_ns=600_000_000,
    )


def drawn(report: ReadReport, folder: Path) -> ElementTree.Element:
    """The picture, parsed."""
    report.save(folder / "report.svg")
    return ElementTree.parse(folder / "report.svg").getroot()


def request_groups(picture: ElementTree.Element) -> list[ElementTree.Element]:
    """The requests in a picture."""
    (requests,) = (group for group in picture.iter(f"{SVG}g") if group.get("class") == "requests")
    return list(requests.findall(f"{SVG}g"))


def test_nothing_is_read_around_the_planner(events_file: Path) -> None:
    with sapwood.open(f"{events_file}:Events") as tree:
        tree.arrays(library="np")
        for _ in tree.iterate(step_size=130, library="np"):
            pass
        report = tree.file.report()
    assert report.unplanned_reads == 0
    assert report.fetched_bytes > 0


def test_local_files_wait_for_no_server(events_file: Path) -> None:
    with sapwood.open(f"{events_file}:Events") as tree:
        assert_adds_up(tree.file.report())
        tree.arrays(library="np")
        report = tree.file.report()
    assert_adds_up(report)
    assert (report.round_trips, [use.server for use in report.sources]) == (0, ["local"])
    assert "  round trips                       0\n" in str(report)
    requests, ranges = counted(report.requests, "request"), counted(report.ranges, "range")
    assert f"from local: {requests}, {ranges}" in str(report)


def test_requests_without_bytes_count_for_their_server() -> None:
    messages = [("head:1094", 1, 0), ("one:1094", 4, 5), (None, 2, 3)]
    report = replace(two_servers(), requests=7, ranges=8, messages=tuple(messages))
    assert list(report.by_server) == ["one:1094", "two:1094"]
    found = {use.server: (use.requests, use.ranges, use.reads) for use in report.sources}
    assert found == {"one:1094": (4, 5, 2), "two:1094": (1, 2, 1), "head:1094": (1, 0, 0), "local": (2, 3, 0)}
    assert "from head:1094: 1 request, 0 ranges, 0 B" in str(report)
    both = report + report
    assert {use.server: use.requests for use in both.sources}["one:1094"] == 8


def test_the_timeline_holds_all_that_was_fetched(events_file: Path) -> None:
    with sapwood.open(f"{events_file}:Events") as tree:
        tree.arrays(library="np")
        report = tree.file.report()
    assert sum(fetched.nbytes for fetched in report.timeline) == report.fetched_bytes
    assert len(report.timeline) == report.ranges
    assert all(
        0 <= one.asked <= one.answered and 0 <= one.offset <= one.offset + one.nbytes <= report.size
        for one in report.timeline
    )
    (local,) = report.by_server.items()
    assert local[0] == "local"
    assert (local[1].ranges, local[1].fetched_bytes) == (report.ranges, report.fetched_bytes)


def test_decompression_and_decoding_are_timed_separately(events_file: Path) -> None:
    with sapwood.open(f"{events_file}:Events") as tree:
        opened = tree.file.report()
        assert (opened.decompress_seconds, opened.decode_seconds) == (0, 0)
        tree.arrays(library="np", threads=1)
        read = tree.file.report()
        assert read.decompress_seconds > 0
        assert read.decode_seconds > 0


def test_a_closed_file_still_tells(events_file: Path) -> None:
    with sapwood.open(f"{events_file}:Events") as tree:
        tree["met"].array(library="np")
        before = tree.file.report()
    assert before.baskets == 4
    assert tree.file.report() == before
    assert len(tree.file.trace()) == len(before.timeline)


def test_idle_is_when_nothing_is_in_flight() -> None:
    report = two_servers()
    assert report.elapsed_seconds == pytest.approx(1.0)
    assert report.idle_seconds == pytest.approx(0.4)
    assert report.idle_spans() == [(pytest.approx(0.3), pytest.approx(0.7))]
    assert [len(request.ranges) for request in requests_of(report)] == [1, 1, 2]


def test_servers_are_counted_separately() -> None:
    one, two = two_servers().by_server.values()
    assert (one.requests, one.ranges, one.fetched_bytes) == (2, 2, 200)
    assert (two.requests, two.ranges, two.fetched_bytes) == (1, 2, 100)
    assert one.busy_seconds == pytest.approx(0.3)


def test_reports_add_up() -> None:
    first, second = two_servers(), made_up(100.5, FetchedRange(0.0, 0.1, 0, 10, 0, None), requests=1)
    third = made_up(103.0, FetchedRange(0.0, 0.5, 0, 1000, 0, None), path="c.root", requests=1)
    total = sum([first, second, third])
    assert isinstance(total, ReadReport)
    assert total.by_file == (first, second, third)
    assert (total.requests, total.size, total.fetched_bytes) == (5, 3000, 300)
    assert total.wait_seconds == first.wait_seconds
    assert list(total.by_server) == ["one:1094", "local", "two:1094"]
    # On one clock: the second file was read in a gap of the first, the third two seconds later.
    assert total.elapsed_seconds == pytest.approx(3.5)
    assert total.idle_seconds == pytest.approx(0.3 + 2.0)
    assert "3 files" in str(total) and "in c.root: 1 request" in str(total)
    with pytest.raises(TypeError):
        first + 1  # type: ignore[operator]


def test_many_files_cost_what_each_costs(events_file: Path) -> None:
    files = [f"{events_file}:Events"] * 3
    arrays, cost = sapwood.concatenate(files, ["met"], library="np", cost=True)
    assert len(arrays["met"]) == 3000
    assert len(cost.files) == 3
    assert cost.baskets == sum(one.baskets for one in cost.files) == 12
    read = {report.file: None for _, report in sapwood.iterate(files, "met", library="np", report=True)}
    assert sum(file.report().baskets for file in read) == 12


def test_text_is_short_or_whole() -> None:
    report = two_servers()
    assert repr(report).startswith("<ReadReport 'a.root': 3 requests, 0 round trips, 300 B read")
    assert "\n" not in repr(report)
    lines = str(report).splitlines()
    assert lines[0] == "a.root"
    assert any(line.split() == ["wait", "seconds", "0.600000"] for line in lines)
    assert "  from two:1094: 1 request, 2 ranges, 100 B" in lines


def test_json_holds_numbers_and_timeline() -> None:
    document: dict[str, Any] = json.loads((two_servers() + made_up(101.0)).to_json())
    assert document["requests"] == 3
    assert [one["file_path"] for one in document["files"]] == ["a.root", "a.root"]
    assert document["servers"]["two:1094"]["fetched_bytes"] == 100
    assert document["timeline"][-1]["ranges"] == [[400, 50], [600, 50]]
    assert {"idle_seconds", "decompress_seconds", "decode_seconds", "wait_seconds"} <= document.keys()


def test_the_picture_shows_requests_in_their_place(tmp_path: Path) -> None:
    picture = drawn(two_servers(), tmp_path)
    groups = request_groups(picture)
    assert [len(group.findall(f"{SVG}rect")) for group in groups] == [1, 1, 2]
    colours = [group.get("fill") for group in groups]
    assert colours[0] == colours[1] != colours[2]
    first, second, third = (group.findall(f"{SVG}rect")[0] for group in groups)
    # The first lies at the beginning of the file, which is at the bottom, and the second at its end.
    assert float(first.get("y", 0)) > float(third.get("y", 0)) > float(second.get("y", -1)) >= 0
    assert float(third.get("x", 0)) / float(second.get("x", 1)) == pytest.approx(7, rel=0.01)
    idle = [rect for rect in picture.iter(f"{SVG}rect") if rect.get("class") == "idle" and not rect.get("y")]
    assert len(idle) == 1
    assert float(idle[0].get("width", 0)) / float(third.get("width", 1)) == pytest.approx(4 / 3, rel=0.01)
    texts = {text.text for text in picture.iter(f"{SVG}text")}
    assert {"one:1094", "two:1094", "nothing in flight", "time since opening began (s)"} <= texts
    assert "offset in the file (kB)" in texts


def test_the_picture_of_several_files_names_them(tmp_path: Path) -> None:
    report = two_servers() + made_up(100.0, FetchedRange(0.1, 0.2, 0, 9, 0, None), path="<&>.root")
    picture = drawn(report, tmp_path)
    assert {"a.root", "<&>.root"} <= {text.text for text in picture.iter(f"{SVG}text")}
    assert len(request_groups(picture)) == 4


def test_the_picture_of_a_real_read(events_file: Path, tmp_path: Path) -> None:
    with sapwood.open(f"{events_file}:Events") as tree:
        tree.arrays(library="np")
        report = tree.file.report()
    assert len(request_groups(drawn(report, tmp_path))) == len(requests_of(report)) > 0


def test_a_picture_is_svg_and_nothing_else(tmp_path: Path) -> None:
    with pytest.raises(errors.UsageError, match=r"\.svg"):
        made_up(0.0).save(tmp_path / "report.png")
    assert not request_groups(drawn(made_up(0.0), tmp_path))


def test_over_read_is_the_same_everywhere(events_file: Path) -> None:
    with sapwood.open(events_file) as file:
        assert file.report().overread_bytes == file.report().fetched_bytes > 0
        layout = sapwood.layout.layout_of(file["Events"], ["met"], 0, 10)
        cost = file.report()
    assert cost.overread_bytes == cost.fetched_bytes - cost.wanted_bytes
    assert cost.fetched_bytes == sum(nbytes for _, nbytes in layout.fetched)
    wanted, overread = (sapwood.layout.human_bytes(one) for one in (cost.wanted_bytes, cost.overread_bytes))
    assert f"{wanted} in {cost.requests} request" in layout.notes[0]
    assert f"plus {overread} over-read" in layout.notes[0]
