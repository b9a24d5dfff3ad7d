"""Names from files appear as visible text in exceptions, warnings, logs and pages."""

from __future__ import annotations

import ast
import json
import logging
import traceback
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote
from xml.etree import ElementTree

import numpy as np
import pytest
from hostile_names import EVIL, EVIL_FILE, PROOFS, harmful, tuning, write
from http_fake import FakeServer, answer
from web_page import ask

import sapwood
from sapwood import edm, errors, stripe
from sapwood.catalog import Catalog
from sapwood.catalog.web import CatalogPage
from sapwood.display.markup import escape
from sapwood.display.printable import printable, printable_lines
from sapwood.errors.log import SourceEvent
from sapwood.monitoring._jsonl import JsonLines
from sapwood.monitoring._log import logger
from sapwood.monitoring._prometheus import _IN_TOTAL, Metrics
from sapwood.monitoring._record import FileRecord
from sapwood.monitoring.collector import Receiver, Store, WebPage, parse
from sapwood.report.cost import ReadReport
from sapwood.report.layout import draw, layout_of
from sapwood.report.sources import SourceUse
from sapwood.studies.chain.sweep import ChainPoint, Measurement, Sweep

TREE, TEXT = f"tree{EVIL}", f"text{EVIL}"
SOURCES = sorted(Path(sapwood.__file__).parent.rglob("*.py"))


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("names") / f"{EVIL_FILE}.root")


@pytest.fixture(scope="module")
def unreadable(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("names") / f"{EVIL_FILE}.root", readable=False)


def check_shown(text: str) -> None:
    """It has something of the hostile words, as visible text."""
    assert any(proof in text for proof in PROOFS) and not harmful(text), text


def check_page(text: str) -> None:
    """The same of HTML or SVG, in which no word is a tag."""
    check_shown(text)
    assert "<script" not in text and "&lt;script&gt;" in text


def check_svg(text: str) -> None:
    check_page(text)
    assert ElementTree.fromstring(text).tag == "{http://www.w3.org/2000/svg}svg"


class TestPrintable:
    def test_ordinary_text_stays(self) -> None:
        ordinary = "Muon_pt µ é e\u0301 中文 → \u00a0\u3000 \\x1b 'q' <b>"
        assert printable(ordinary) == ordinary

    def test_control_and_invisible_characters_are_escaped(self) -> None:
        assert printable("\x1b]0;x\x07\0\n\r\t\x7f\x9b") == r"\x1b]0;x\x07\x00\n\r\t\x7f\x9b"
        hidden = "\u202e\u2066\u200b\u200e\u061c\ufeff\u2028\U000e0041\ud800\ue000"
        assert printable(hidden) == r"\u202e\u2066\u200b\u200e\u061c\ufeff\u2028\U000e0041\ud800\ue000"

    def test_doing_it_again_changes_nothing(self) -> None:
        assert printable(printable(EVIL)) == printable(EVIL)

    def test_lines_stay_apart(self) -> None:
        assert printable_lines("a\n\x07b\n") == "a\n\\x07b\n"

    def test_markup_is_text(self) -> None:
        assert escape("<a href='x'>&\x00\"") == "&lt;a href=&#x27;x&#x27;&gt;&amp;\\x00&quot;"

    def test_the_core_does_the_same(self) -> None:
        ranges = (1, 32), (127, 160), (0xAD, 0xAE), (0x600, 0x606), (0x200B, 0x2010), (0x2028, 0x202F)
        hidden = "".join(chr(code) for start, stop in ranges for code in range(start, stop))
        with pytest.raises(errors.SapwoodError) as caught:
            stripe.open(f"/nowhere/a{hidden}b")
        # What the core composed, before Python shows it.
        assert f"a{printable(hidden)}b" in caught.value.message


class TestNamesStayExact:
    def test_programs_get_what_the_file_says(self, path: Path) -> None:
        with sapwood.open(path) as file:
            assert set(file.keys(cycle=False)) == {TREE, f"histogram{EVIL}"}
            tree = file[TREE]
            assert tree.title == f"title{EVIL}" and TEXT in tree
            assert tree[f"record{EVIL}"].typename == f"vector<C{EVIL}>"
            assert tree[TEXT].array(library="np")[0] == f"value{EVIL}"
            assert file[f"histogram{EVIL}"].name == f"histogram{EVIL}"

    def test_exceptions_have_them_too(self, path: Path) -> None:
        with sapwood.open(path) as file, pytest.raises(errors.KeyInFileError) as caught:
            file[TREE][f"x{EVIL}y"]
        assert caught.value.key == f"x{EVIL}y" and f"x{EVIL}" in caught.value.keys


def representations(path: Path, unreadable: Path, folder: Path) -> Iterator[Any]:
    """Objects that show names of the file."""
    file = sapwood.open(path)
    yield file
    yield from file.values()
    tree = file[TREE]
    yield from tree.values()
    yield from (branch.interpretation for branch in tree.values())
    yield from (branch.interpretation for branch in sapwood.open(unreadable)[TREE].values())
    yield from sapwood.open(unreadable)[TREE].values()
    yield tree.lazy()
    events = tree.events()
    yield events
    yield next(iter(events))
    yield from file.report().lazy
    yield file.report()
    for batch, report in tree.iterate(step_size=2, report=True, library="np"):
        yield report
        yield batch[f"record{EVIL}.a"]
    yield file[f"histogram{EVIL}"].axes[0]
    yield sapwood.objects.Object(f"C{EVIL}", {f"member{EVIL}": 1})
    yield sapwood.objects.Parameter(f"C{EVIL}", {"fName": EVIL, "fVal": 1.0})
    profile = sapwood.Profile(folder / f"{EVIL_FILE}.json")
    yield profile
    place = folder / f"dataset{EVIL_FILE}"
    yield stripe.create(place, [f"{path}:{TREE}"])
    with Catalog(folder / f"{EVIL_FILE}.sqlite") as catalog:
        yield catalog
        yield catalog.add(place, name=f"name{EVIL}")
    with sapwood.recreate(folder / f"{EVIL_FILE}.root") as new:
        yield new
        yield new.mktree(f"tree{EVIL}", {"x": "int32"})
    yield SourceEvent(1.0, f"h{EVIL}:1", "left", EVIL)


def test_nothing_shows_raw_names(path: Path, unreadable: Path, tmp_path: Path) -> None:
    shown = 0
    for one in representations(path, unreadable, tmp_path):
        # NumPy breaks the lines of arrays.
        text = repr(one)
        assert not harmful(text), (type(one), text)
        shown += any(proof in text for proof in PROOFS)
        if not isinstance(one, np.ndarray):
            assert not harmful(str(one)), type(one)
    assert shown > 20


def test_every_representation_is_made_printable() -> None:
    for source in SOURCES:
        for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and node.name == "__repr__":
                by_decorator = any(ast.unparse(one) == "shows_printable" for one in node.decorator_list)
                by_python = ast.unparse(node.body[-1]).startswith("return repr(")
                assert by_decorator or by_python, f"{source}:{node.lineno} needs @shows_printable"


def test_tables_and_reports_are_visible_text(
    path: Path, unreadable: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for where in (path, unreadable):
        tree = sapwood.open(where)[TREE]
        tree.show(name_width=200, typename_width=200)
        tree[f"record{EVIL}"].show()
        check_shown(capsys.readouterr().out)
    profile = sapwood.Profile(tmp_path / f"{EVIL_FILE}.json")
    profile.add(TREE, "0f2e41bd", {TEXT: (1, 2)})
    profile.show()
    check_shown(capsys.readouterr().out)
    tree = sapwood.open(path)[TREE]
    next(iter(tree.events()))
    check_shown(str(tree.file.report()))
    check_shown(str(tree.file.report().lazy[0]))


def test_a_branch_that_is_skipped_is_named_in_visible_text(unreadable: Path) -> None:
    tree = sapwood.open(unreadable)[TREE]
    with pytest.warns(errors.BranchSkippedWarning) as caught:
        tree.arrays(library="np")
    check_shown(str(caught[0].message))
    # As Python shows it.
    check_shown(warnings.formatwarning(caught[0].message, errors.BranchSkippedWarning, "f.py", 1, ""))


def test_every_warning_is_made_printable() -> None:
    """By its class, or where it is composed."""
    known = {name for name in dir(errors) if name.endswith("Warning")} | {"LumiIndexWarning"}
    assert issubclass(edm.LumiIndexWarning, errors.SapwoodWarning)
    for name in known & set(dir(errors)):
        assert issubclass(getattr(errors, name), errors.SapwoodWarning)
        assert str(getattr(errors, name)(EVIL)) == printable(EVIL)
    for source in SOURCES:
        for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "warnings.warn":
                kind = ast.unparse(node.args[1]) if len(node.args) > 1 else "none"
                by_hand = ast.unparse(node.args[0]).startswith("printable(")
                assert kind in known or by_hand, f"{source}:{node.lineno} may show raw names"


def failures(path: Path, unreadable: Path, folder: Path) -> Iterator[Any]:
    """Calls that fail because of what they are given."""
    file = sapwood.open(path)
    yield lambda: file[f"nothing{EVIL}"]
    yield lambda: file[TREE][f"nothing{EVIL}"]
    yield lambda: file[TREE].arrays([f"y{EVIL}"])
    yield lambda: file[TREE].arrays(filter_name="x*", cut=f"y{EVIL_FILE}")
    yield lambda: sapwood.objects.Object(f"C{EVIL}", {}).member_that_is_not_there
    yield lambda: sapwood.open(unreadable)[TREE][f"record{EVIL}"].array()
    yield lambda: sapwood.open(unreadable)[TREE][f"record{EVIL}/record{EVIL}.a"].array()
    yield lambda: sapwood.open(folder / f"{EVIL_FILE}.root")
    damaged = folder / f"damaged{EVIL_FILE}.root"
    damaged.write_bytes(path.read_bytes()[:5000])
    yield lambda: sapwood.open(damaged)[TREE].arrays()
    garbage = folder / f"garbage{EVIL_FILE}.root"
    garbage.write_bytes(EVIL.encode() * 100)
    yield lambda: sapwood.open(garbage)
    yield lambda: sapwood.repack(path, folder / "out.root", keep=f"y{EVIL}")
    yield lambda: sapwood.merge([path, unreadable], path)
    yield lambda: stripe.open(folder / f"dataset{EVIL_FILE}")


def test_failures_are_reported_in_visible_text(path: Path, unreadable: Path, tmp_path: Path) -> None:
    for fail in failures(path, unreadable, tmp_path):
        with pytest.raises(Exception) as caught:
            fail()
        check_shown(str(caught.value))
        assert not harmful(repr(caught.value)) and "\n" not in str(caught.value)
        # What ends a program that does not catch it; the source lines are ours.
        last = traceback.format_exception_only(caught.type, caught.value)
        assert not harmful("".join(last))


def test_the_log_below_a_traceback_is_visible_text() -> None:
    error = errors.NetworkError("lost")
    error.add_log([SourceEvent(1.0, f"h{EVIL}:1094", "left", f"it said {EVIL}")])
    shown = "".join(traceback.format_exception_only(type(error), error))
    check_shown(shown)
    assert len(shown.strip().splitlines()) == 3


def test_log_lines_of_the_core_are_visible_text(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with FakeServer(path.read_bytes()) as server:
        # Head, tail and a probe are requested at the same time, and only the head is retried.
        busy = iter([answer("503 Busy", EVIL_FILE)] * 3)
        server.behave = lambda request: next(busy, None)
        with (
            caplog.at_level(logging.INFO, "sapwood"),
            sapwood.open(f"{server.url}/\x1b[2J\u202e.root") as file,
        ):
            shown = [str(event) for event in file.report().log]
    messages = [record.getMessage() for record in caplog.records if record.name.startswith("sapwood")]
    assert any("retry" in message for message in messages) and shown
    for message in messages:
        check_shown(message)
        assert "\n" not in message
    assert not any(map(harmful, shown))


def test_log_lines_of_monitoring_are_visible_text(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "sapwood"):
        logger("sapwood.monitoring").warning("%s: %d", EVIL, 1)
    check_shown(caplog.text)
    assert caplog.records[0].getMessage() == f"{printable(EVIL)}: 1"
    for source in SOURCES:
        if source.name != "_log.py":
            assert "getLogger" not in source.read_text(encoding="utf-8"), f"{source}: use _log.logger"


class TestPages:
    def test_the_picture_of_a_layout(self, path: Path) -> None:
        check_svg(draw(layout_of(sapwood.open(path)[TREE], [f"x{EVIL}"])))

    def test_the_requests_over_time(self, path: Path, tmp_path: Path) -> None:
        report = sapwood.open(path).report()
        (report + report).save(tmp_path / "two.svg")
        check_svg((tmp_path / "two.svg").read_text(encoding="utf-8"))
        names = [f"h{EVIL}:1"]
        timeline = [(0.0, 1.0, 0, 10, 1, names[0])]
        log = [(0.0, names[0], "left", EVIL, 1)]
        ReadReport.from_counters(EVIL, {}, size=10, timeline=timeline, log=log).save(tmp_path / "one.svg")
        check_svg((tmp_path / "one.svg").read_text(encoding="utf-8"))

    def test_fetches_of_a_lazy_reader(self, path: Path, tmp_path: Path) -> None:
        tree = sapwood.open(path)[TREE]
        for event in tree.events():
            event[f"x{EVIL}"]
        tree.file.report().lazy[0].save(tmp_path / "fetched.svg")
        check_svg((tmp_path / "fetched.svg").read_text(encoding="utf-8"))

    def test_layouts_that_were_tuned(self) -> None:
        check_page(tuning(f"{EVIL_FILE}.root").to_html())

    def test_a_chain_that_was_measured(self) -> None:
        point = ChainPoint(f"{EVIL_FILE}.root:{TREE}", EVIL, "read", 144, 1024, True, 1, 1)
        machine = {"sapwood": "0", "processor": f"p{EVIL}", "cores": 2}
        page = Sweep((Measurement(point, error=f"failed: {EVIL}"),), machine).to_html()
        check_page(page)

    def test_the_catalogue(self, path: Path, tmp_path: Path) -> None:
        place = tmp_path / f"dataset{EVIL_FILE}"
        stripe.create(place, [f"{path}:{TREE}"], who=f"who{EVIL}")
        with Catalog(tmp_path / "catalog.sqlite") as catalog:
            catalog.add(place, name=f"name{EVIL}")
            page = CatalogPage("127.0.0.1", 0, catalog)
            try:
                check_page(ask(page.address, "/")[2])
                for name in (f"name{EVIL}", f"nothing{EVIL}"):
                    check_page(ask(page.address, f"/dataset?name={quote(name)}")[2])
            finally:
                page.close()

    def test_the_monitor(self, tmp_path: Path) -> None:
        """Its page shows what this document says, as text."""
        packet = {"read_bytes": 1, "server_host": f"h{EVIL}", "site_name": EVIL, "file_lfn": f"/f{EVIL}"}
        receiver = Receiver("127.0.0.1", 0, tmp_path / "m.sqlite")
        try:
            store = Store(tmp_path / "m.sqlite")
            store.add([(0.0 + 2e9, parse(json.dumps(packet).encode()))])
            store.close()
            page = WebPage("127.0.0.1", 0, tmp_path / "m.sqlite", receiver.counts)
            try:
                text = ask(page.address, "/data.json?seconds=1e9")[2]
            finally:
                page.close()
        finally:
            receiver.close()
        assert text.isascii() and not harmful(text)
        (latest,) = json.loads(text)["latest"]
        assert not harmful(latest["file"] + latest["site"] + latest["server"])

    def test_metrics_and_records(self, tmp_path: Path) -> None:
        use = SourceUse(f"h{EVIL}:1")
        figures = dict.fromkeys(_IN_TOTAL, 0)
        log = [SourceEvent(0.0, EVIL, "left", EVIL)]
        record = FileRecord(EVIL, 1, 1, 0.0, 1.0, True, figures, [use], log)
        metrics = Metrics()
        metrics._servers[use.server] = use
        check_shown(metrics.now())
        lines = tmp_path / "lines.jsonl"
        JsonLines(lines).tell(record)
        text = lines.read_text(encoding="ascii")
        assert not harmful(text) and json.loads(text)["file"] == EVIL

    def test_one_function_escapes_them_all(self) -> None:
        for source in SOURCES:
            text = source.read_text(encoding="utf-8")
            if source.name != "markup.py":
                others = ("saxutils", "import html", "from html")
                assert not any(other in text for other in others), f"{source}: use display.markup.escape"
