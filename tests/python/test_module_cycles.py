"""`make layers` finds cycles between the modules of a crate, and only those."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def check(root: Path) -> subprocess.CompletedProcess:
    command = [sys.executable, ROOT / "scripts/check_module_cycles.py", root]
    return subprocess.run(command, capture_output=True, text=True)


def crate(folder: Path, **files: str) -> Path:
    """A workspace with the crate `planted`; `a__b` stands for `a/b.rs`."""
    for name, text in files.items():
        path = folder / "crates/planted/src" / (name.replace("__", "/") + ".rs")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def arrows(result: subprocess.CompletedProcess) -> list[str]:
    assert result.returncode == 1, result.stderr
    lines = result.stderr.splitlines()
    assert lines[0].startswith("error: crates/planted: a cycle between ")
    return [line.strip().replace("crates/planted/src/", "") for line in lines if line.startswith("  ")]


def test_a_clean_crate_passes(tmp_path):
    root = crate(
        tmp_path,
        lib="mod high; mod low; pub use high::High; pub use low::Low;",
        low="//! See [`crate::High`].\n/* use crate::High; /* nested */ */\npub struct Low<'a>(&'a str);\n",
        high="""
            use crate::Low;
            pub struct High(Low<'static>);
            pub const QUOTED: &str = "crate::low::Low";
        """,
    )
    assert (check(root).returncode, check(root).stderr) == (0, "")


def test_a_cycle_of_two_files_is_printed_with_its_lines(tmp_path):
    root = crate(
        tmp_path,
        lib="mod left; mod right;",
        left="use super::right::Right;\npub struct Left;\n",
        right="pub struct Right;\n\nfn f() -> crate::left::Left { crate::left::Left }\n",
    )
    assert arrows(check(root)) == [
        "left.rs:1 uses super::right::Right of right.rs",
        "right.rs:3 uses crate::left::Left of left.rs",
    ]


@pytest.mark.parametrize(
    "reexport",
    [
        "pub use inner::{deep::{Left, Other}};",
        "pub(crate) use inner::*;",
        "pub use inner::deep::Original as Left;",
        "use inner::deep::Left;",
    ],
)
def test_a_cycle_through_a_reexport_is_found_at_the_module_that_defines_the_item(tmp_path, reexport):
    root = crate(
        tmp_path,
        lib=f"mod inner; mod right; {reexport}",
        inner="pub mod deep; pub use deep::{Left, Original};",
        inner__deep="pub struct Left; pub struct Original; pub struct Other; use crate::right::Right;",
        right="use crate::Left; pub struct Right;",
    )
    assert "right.rs:1 uses crate::Left of inner/deep.rs" in arrows(check(root))


def test_a_name_of_a_module_leads_to_the_items_that_are_used_through_it(tmp_path):
    root = crate(
        tmp_path,
        lib="mod left; mod right;",
        left="use crate::right; pub struct Left; fn f() { right::make(); }",
        right="use crate::*; pub fn make() { left::Left; }",
    )
    assert len(arrows(check(root))) == 2


def test_a_cycle_of_folders_is_found_where_no_files_form_one(tmp_path):
    root = crate(
        tmp_path,
        lib="mod left; mod right;",
        left__mod="mod one; mod two; pub use two::Two;",
        left__one="use crate::right::Right; pub struct One;",
        left__two="pub struct Two;",
        right__mod="mod three; mod four; pub use three::Right;",
        right__three="pub struct Right;",
        right__four="use crate::left::Two;",
    )
    assert arrows(check(root)) == [
        "left/one.rs:1 uses crate::right::Right of right/three.rs",
        "right/four.rs:1 uses crate::left::Two of left/two.rs",
    ]


def test_a_parent_may_use_its_children_but_not_they_what_it_defines(tmp_path):
    parent = "mod child; pub struct Parent; fn f() { child::g(); }"
    root = crate(tmp_path, lib="mod parent;", parent=parent, parent__child="pub fn g() {}")
    assert check(root).returncode == 0
    crate(tmp_path, parent__child="use super::Parent; pub fn g() {}")
    assert len(arrows(check(root))) == 2


def test_tests_do_not_count(tmp_path):
    test = "#[cfg(test)]\nmod tests { use crate::right::Right; }"
    root = crate(
        tmp_path,
        lib="mod left; mod right; #[cfg(test)] mod support;",
        left=f"pub struct Left;\n#[cfg(test)] use crate::right::{{Right}};\n{test}\nfn f() {{ '\"'; }}",
        right="use crate::left::Left; pub struct Right;",
        support="use crate::left::Left;",
    )
    assert check(root).returncode == 0


def test_the_real_crates_have_no_cycles():
    result = check(ROOT)
    assert result.returncode == 0, result.stderr
