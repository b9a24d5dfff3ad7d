"""Where the oracle shows less than there is, or something else: looked at once more, branch by branch.

What is explained here must still agree in all that the oracle does show; a branch that does not is wrong.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterable
from typing import Any

import awkward as ak
from corpus import CORPUS, Verdict, facts

import sapwood

sys.path.insert(0, str(CORPUS))


def same_after_all(one: Verdict) -> bool:
    """Whether a branch that compare.py calls different has the values of the file."""
    if one["verdict"] not in {"differs", "root-differs"}:
        return False
    branch = sapwood.open(CORPUS / "files" / one["file"])[one["tree"]][f"/{one['branch']}"]
    if one["verdict"] == "differs":
        return swapped_by_uproot(branch, facts(one)) or variant_of_uproot(branch, one)
    root = facts(one)["root"]
    if "str_sha" in root:
        return first_texts_of_root(branch, root) or unordered_set_of_root(branch, root)
    members = root.get("members")
    return isinstance(members, dict) and members_of_root(branch, root, members)


def sha(texts: Iterable[bytes]) -> str:
    return hashlib.sha256(b"\0".join(texts)).hexdigest()


def swapped_by_uproot(branch: sapwood.Branch, known: dict[str, Any]) -> bool:
    """uproot takes numbers of some objects as little-endian: ours are theirs, bytes reversed."""
    import canon

    def swap(layout: Any, **_: Any) -> Any:
        return ak.contents.NumpyArray(layout.data.byteswap()) if layout.is_numpy else None

    array = ak.transform(swap, branch.array(entry_stop=known["n"]))
    return canon.digest(array) == known["digest"]


def variant_of_uproot(branch: sapwood.Branch, one: Verdict) -> bool:
    """uproot gives a variant one more alternative, of no type, for entries without a value."""
    import uproot

    if not branch.typename.startswith("std::variant<"):
        return False
    theirs = uproot.open(CORPUS / "files" / one["file"])[one["tree"]].arrays([one["branch"]])
    return bool(theirs[one["branch"]].to_list() == branch.array().to_list())


def first_text(value: Any) -> bytes:
    """The first text of an entry of nested lists of texts, or nothing: what TTreeFormula shows."""
    while isinstance(value, list):
        value = value[0] if value else ""
    return (value or "").encode("utf-8", "surrogateescape")


def first_texts_of_root(branch: sapwood.Branch, root: dict[str, Any]) -> bool:
    """TTreeFormula shows one text per entry, the first where an entry is a list of them."""
    entries = branch.array(entry_stop=root["n"]).to_list()
    return root["str_n"] == root["n"] and sha(map(first_text, entries)) == root["str_sha"]


def unordered_set_of_root(branch: sapwood.Branch, root: dict[str, Any]) -> bool:
    """An unordered set comes in the order of a hash table in memory, not in that of the file."""
    if "unordered_set" not in branch.typename or "json" not in root:
        return False
    shown = [sorted(json.loads(text)) for text in root["json"]]
    return shown == [sorted(entry) for entry in branch.array(entry_stop=len(shown)).to_list()]


def members_of_root(branch: sapwood.Branch, root: dict[str, Any], members: dict[str, Any]) -> bool:
    """ROOT shows one text per entry for members, too, and no value for some that it cannot name."""
    import canon

    array = branch.array(entry_stop=root.get("members_n") or root["n"])
    ours = canon.member_shas(array)
    for path, shown in members.items():
        own = ours.get(path)
        if own is None or shown.get("n") == 0 or own == {"n": shown.get("n"), **digest_of(shown)}:
            continue
        if "ssha" not in shown or not shows_first_texts(array, path, shown):
            return False
    return True


def digest_of(shown: dict[str, Any]) -> dict[str, str]:
    """The digest of the numbers or of the texts of a member."""
    return {kind: shown[kind] for kind in ("sha", "ssha") if kind in shown}


def shows_first_texts(array: ak.Array, path: str, shown: dict[str, Any]) -> bool:
    """Whether the first texts of a member are those shown: to the first NUL, and read as Latin-1."""
    for name in path.split("."):
        fields = ak.fields(array)
        array = array[name if name in fields else fields[("first", "second").index(name)]]
    firsts = [first_text(entry).split(b"\0")[0] for entry in array.to_list()]
    as_latin = [text.decode("latin-1").encode() for text in firsts]
    return len(firsts) == shown["n"] and shown["ssha"] in (sha(firsts), sha(as_latin))
