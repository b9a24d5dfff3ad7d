"""Whatever a person mistypes gives one line that names the mistake and its place, and the exit code 2."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

EXPRESSIONS = {
    "": "is empty",
    "run >": "ends too early: an operand is missing after '>' (column 5)",
    "run + ": "ends too early: an operand is missing after '+' (column 5)",
    "> 5": "lacks an operand before '>' (column 1)",
    "run > > 5": "lacks an operand before '>' (column 7)",
    "run MET_pt": "lacks an operator before 'MET_pt' (column 5)",
    "(run > 5": "has a '(' that is not closed (column 1)",
    "run > 5)": "has a ')' without a '(' before it (column 8)",
    "(run]": "closes a '(' with a ']' (column 5)",
    "sqrt(": "has a '(' that is not closed (column 5)",
    "sqrt()": "calls sqrt(), which takes 1 argument, with 0 (column 1)",
    "sqrt(MET_pt, MET_pt)": "calls sqrt(), which takes 1 argument, with 2 (column 1)",
    "run > sqrtt(4)": "calls the unknown function 'sqrtt' (column 7); did you mean 'sqrt'?",
    "run = 5": "contains a single '='; a comparison is written '==' (column 5)",
    "run ? 1 : 2": "contains '?', which is not an operator (column 5)",
    "run > 5 # rest": "contains '#', which is not an operator (column 9)",
    "run > \udcff": "contains '\\udcff', which is not an operator (column 7)",
    "run > 1.2.3": "contains '1.2.3', which is not a number (column 7)",
    "run > 012": "contains '012', which is not a number (column 7)",
    "get('run": "has a quote that is not closed (column 5)",
    "get(run)": "calls get() with something else than a name (column 1)",
    "import os": "contains 'import', which is not allowed (column 1)",
    "run in MET_pt": "uses the operator 'in', which is not allowed (column 1)",
    "run && !(MET_pt.__class__)": "uses the attribute '__class__', which is not allowed (column 10)",
    "[i for i in run]": "contains '[i for i in run]', which is not allowed (column 1)",
    "run, MET_pt": "holds several expressions (column 1)",
    "run if MET_pt": "cannot be parsed: expected 'else' after 'if' expression",
    "run > 'text'": "cannot be computed: ",
    "1 + (run & 0.5)": "cannot be computed: ",
    "run[5:7]": "selects entries by their position (column 1)",
    "run > 5 & MET_pt > 3": "compares '5 & MET_pt', which has no parentheses (column 7)",
    "run ** -1": "cannot be computed: Integers to negative integer powers are not allowed. (column 1)",
    "+".join(["run"] * 2500): "is nested too deeply",
    "run" * 4000: "has 12,000 characters, but the maximum is 10,000",
}
CUTS = {
    "'text'": "must give one number or boolean per entry",
    "run[run > run]": "has the shape (0,), but there are",
}


@pytest.mark.parametrize(
    "command", ["head", "head --cut", "convert", "convert --cut", "skim --cut", "stripe"]
)
@pytest.mark.parametrize("text", [*EXPRESSIONS, *CUTS], ids=lambda text: ascii(text[:20]))
def test_expressions(
    sapwood: Callable[..., Any], path: Path, tmp_path: Path, command: str, text: str
) -> None:
    if text in CUTS and not (command.endswith("--cut") or command == "stripe"):
        pytest.skip("a valid column")
    tree = f"{path}:Events"
    commands = {
        "head": ["head", tree, text],
        "head --cut": ["head", tree, "run", "--cut", text],
        "convert": ["convert", tree, tmp_path / "a.csv", text],
        "convert --cut": ["convert", tree, tmp_path / "a.csv", "run", "--cut", text],
        "skim --cut": ["skim", path, tmp_path / "a.root", "--tree", "Events", "--cut", text],
        "stripe": ["stripe", "create", tmp_path / "dataset", "--from", tree, "--cut", text],
    }
    done = sapwood(*commands[command])
    assert (done.code, done.err.count("\n")) == (2, 1), done.err
    kind = "expression" if command in ("head", "convert") else "cut"
    assert done.err.startswith(f"sapwood: the {kind} ")
    assert {**EXPRESSIONS, **CUTS}[text] in done.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["head", "TREE", "--filter", "/[/"],
            "'/[/' is not a regular expression: unterminated character set",
        ),
        (
            ["show", "TREE", "--filter", "/*/"],
            "'/*/' is not a regular expression: nothing to repeat (column 2)",
        ),
        (["layout", "TREE", "OUT.svg", "--read", "/[/"], "is not a regular expression"),
        (["slim", "FILE", "OUT.root", "--keep", "/(/"], "is not a regular expression"),
        (["repack", "FILE", "OUT.root", "--drop", "/[/"], "is not a regular expression"),
        (["report", "TREE", "run +"], "ends too early"),
        (
            ["skim", "FILE", "OUT.root", "--cut", "Muon_pt > 20"],
            "per entry; reduce lists, for example with Any$(",
        ),
        (["head", "TREE", "-n", "many"], "'-n'"),
        (["head", "TREE", "-n", "-3"], "'-n'"),
        (["head", "TREE", "--threads", "0"], "'threads' must be at least 1"),
        (["head", "TREE", "--deadline", "nan"], "a positive number of seconds"),
        (["head", "TREE", "--colour"], "--colour"),
        (["head"], "Missing argument"),
        (["nothing"], "No such command 'nothing'"),
        (["report", "TREE", "--entries", "1"], "entries must be START:STOP"),
        (["convert", "TREE", "OUT.csv", "--entries", "1:2:3"], "entries must be START:STOP"),
        (["repack", "FILE", "OUT.root", "--entries", "a:b"], "entries must be START:STOP"),
        (["convert", "TREE", "OUT.csv", "--entries", "10:5"], "START before STOP, not '10:5'"),
        (["head", "TREE", "--entries", "-1:-3"], "START before STOP"),
        (["convert", "TREE", "OUT.csv", "--step-size", "²"], "'²' is not a size"),
        (["convert", "TREE", "OUT.csv", "--step-size", "-1 MB"], "must be a positive size"),
        (["convert", "TREE", "OUT.csv", "--step-size", "1e99999999 MB"], "less than 8 EiB"),
        (["convert", "TREE", "OUT.csv", "--step-size", "9" * 5000], "is not a size"),
        (["repack", "FILE", "OUT.root", "--basket-size", "1.2.3k"], "is not a size"),
        (["repack", "FILE", "OUT.root", "--cluster-size", "large"], "'large' is not a size"),
        (["repack", "FILE", "OUT.root", "--compression", "zstd:99"], "unknown compression 'zstd:99'"),
        (["repack", "FILE", "OUT.root", "--compression", "zstd:" + "9" * 5000], "unknown compression"),
    ],
    ids=lambda value: " ".join(value)[:60] if isinstance(value, list) else "",
)
def test_other_arguments(
    sapwood: Callable[..., Any], path: Path, tmp_path: Path, arguments: list[str], message: str
) -> None:
    values = {"FILE": str(path), "TREE": f"{path}:Events"}
    outputs = {f"OUT.{kind}": str(tmp_path / f"a.{kind}") for kind in ("root", "csv", "svg")}
    done = sapwood(*({**values, **outputs}.get(argument, argument) for argument in arguments))
    assert (done.code, done.err.count("\n")) == (2, 1), done.err
    assert done.err.startswith("sapwood: ") and message in done.err


def test_an_unknown_name_says_where_it_stands(sapwood: Callable[..., Any], path: Path) -> None:
    done = sapwood("head", f"{path}:Events", "--cut", "run > 3 && MET_ptt > 5")
    assert done.code == 3
    assert "did you mean 'MET_pt'" in done.err and "'run > 3 && MET_ptt > 5', column 12)" in done.err


def test_a_skim_by_the_greatest_value_of_a_list(
    sapwood: Callable[..., Any], path: Path, tmp_path: Path
) -> None:
    for cut in ("Max$(Muon_pt) > 20", "Any$(Muon_pt > 20)"):
        for command in ("head", "skim"):
            target = (
                [f"{path}:Events", "run"] if command == "head" else [path, tmp_path / "a.root", "--force"]
            )
            assert sapwood(command, *target, "--cut", cut).code == 0


def test_with_json_the_expression_and_the_column_are_fields(sapwood: Callable[..., Any], path: Path) -> None:
    done = sapwood("head", f"{path}:Events", "--cut", "run >", "--json")
    error = done.json["error"]
    assert (error["code"], error["expression"], error["column"]) == ("usage", "run >", 5)
