"""Compares sapwood with the oracle of the corpus of real files, and writes the tables of docs/conformance.md.

    python tests/conformance/report.py FOLDER [--verdicts OLD.json]

FOLDER gets the tables, a file for each marked part of the document, and verdicts.json, a line per branch.
"""

from __future__ import annotations

import argparse
import json
import platform
import re
from collections import Counter
from pathlib import Path

from artefacts import same_after_all
from corpus import CORPUS, REFUSED, Verdict, compare, is_of_epoch_0, of_ntuples, of_trees, only_root_knows

import sapwood

REQUIRED_OF_ROOT_ONLY = 80  # percent
SHOWN_TYPES = 3

# Column: the verdicts that it counts.
COLUMNS = {
    "equal": {"equal", "equal-values", "almost"},
    "equal to ROOT": {"root-equal", "explained"},
    "unverified": {"ref-raises"},
    "unreadable": {"both-raise"},
    "refused": {"cand-raises", "cand-missing"},
    "wrong": {"differs", "root-differs", "cand-crash"},
}


def table(head: list[str], rows: list[list[str]]) -> str:
    """A Markdown table, numbers to the right."""
    rule = ["---", *["---:"] * (len(head) - 1)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in [head, rule, *rows]) + "\n"


def families(verdicts: list[Verdict]) -> str:
    """A row for each family, the largest first, and one for all."""
    by_family: dict[str, Counter[str]] = {}
    for one in verdicts:
        by_family.setdefault(one["family"] or "other", Counter())[one["verdict"]] += 1
    ordered = sorted(by_family.items(), key=lambda item: -item[1].total())
    everything = sum((counts for _, counts in ordered), Counter())

    def row(name: str, counts: Counter[str]) -> list[str]:
        cells = [sum(counts[verdict] for verdict in group) for group in COLUMNS.values()]
        return [name, str(counts.total()), *(str(cell) if cell else "" for cell in cells)]

    return table(
        ["family", "branches", *COLUMNS], [row("**all**", everything), *(row(*item) for item in ordered)]
    )


def cause(error: str) -> str:
    """What an error says about the kind of a branch, without the names of this one."""
    kind, _, text = error.partition(": ")
    text = re.sub(r" ?\((in|at|from|branch) .*$|, at byte .*$", "", text)
    text = re.sub(r"^[\w:<>, ]+( has …| has \d+)", r"a class\1", text)
    text = re.sub(r"(tell what ).*?( looks like|$)", r"\1… looks like", text)
    text = re.sub(r"\b0x[0-9a-f]+|\b\d+\b", "…", text)
    return f"{kind}: {text}"


def causes(verdicts: list[Verdict]) -> str:
    """Why branches are not read: the error, how many branches, in which families."""
    found: dict[str, list[Verdict]] = {}
    for one in verdicts:
        if one["verdict"] in REFUSED:
            found.setdefault(cause(one.get("cand_err") or "not listed"), []).append(one)
    rows = []
    for error, members in sorted(found.items(), key=lambda item: -len(item[1])):
        kinds = [name or "other" for name, _ in Counter(one["family"] for one in members).most_common()]
        more = f", and {len(kinds) - SHOWN_TYPES} more" if len(kinds) > SHOWN_TYPES else ""
        by_uproot = sum(one["verdict"] != "both-raise" for one in members)
        known = sum(map(only_root_knows, members))
        names = ", ".join(kinds[:SHOWN_TYPES]) + more
        said = error.replace("|", "\\|")
        rows.append([said, str(len(members)), str(by_uproot), str(known), names])
    return table(["error", "branches", "uproot reads", "ROOT's values known", "families"], rows)


def asked(verdicts: list[Verdict]) -> list[list[str]]:
    """What is asked, what was found, whether it holds."""
    wrong = sum(one["verdict"] in COLUMNS["wrong"] for one in verdicts)
    refused = sum(one["verdict"] in COLUMNS["refused"] for one in verdicts)
    judged = [one for one in verdicts if only_root_knows(one)]
    right = sum(one["verdict"] in COLUMNS["equal to ROOT"] for one in judged)
    percent = 100 * right / max(len(judged), 1)

    def row(what: str, found: str, required: str, holds: bool) -> list[str]:
        return [what, found, required, "yes" if holds else "no"]

    share = f"{right} of {len(judged)} = {percent:.1f} %"
    return [
        row("branches with wrong values", str(wrong), "0", wrong == 0),
        row(
            "branches that uproot reads, refused, except RNTuples of release candidates",
            str(refused),
            "0",
            refused == 0,
        ),
        row(
            "branches that only ROOT reads correctly, with known values: equal",
            share,
            f"at least {REQUIRED_OF_ROOT_ONLY} %",
            percent >= REQUIRED_OF_ROOT_ONLY,
        ),
    ]


def header(verdicts: list[Verdict]) -> str:
    files = len({one["file"] for one in verdicts})
    versions = f"sapwood {sapwood.__version__}, Python {platform.python_version()}"
    return f"{len(verdicts)} branches and fields in {files} files, compared with {versions}.\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=lambda name: Path(name).resolve())
    parser.add_argument("--verdicts", type=Path, help="take these, instead of comparing again")
    options = parser.parse_args()
    if not (CORPUS / "compare.py").is_file():
        raise SystemExit(f"no corpus in {CORPUS}: set SAPWOOD_CORPUS")
    options.folder.mkdir(parents=True, exist_ok=True)
    if options.verdicts:
        verdicts: list[Verdict] = json.loads(options.verdicts.read_text())
    else:
        verdicts = compare(options.folder / "shards")
        for one in verdicts:
            if same_after_all(one):
                one["verdict"] = "explained"
        lines = ",\n".join(json.dumps(one) for one in verdicts)
        (options.folder / "verdicts.json").write_text(f"[{lines}]\n")
    trees = of_trees(verdicts)
    ntuples = of_ntuples(verdicts)
    judged = [one for one in verdicts if not is_of_epoch_0(one)]
    parts = {
        "conformance": header(verdicts)
        + "\n"
        + table(
            ["criterion", "found", "required", "holds"],
            asked(judged),
        ),
        "families": families(trees),
        "causes": causes(trees),
        "ntuples": families(ntuples),
    }
    for name, text in parts.items():
        (options.folder / f"{name}.md").write_text(text)
    print(parts["conformance"])


if __name__ == "__main__":
    main()
