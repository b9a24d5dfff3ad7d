"""Writes the table of class descriptions for new files, from ROOT's descriptions of its classes.

Run it with a Python that has ROOT and uproot:

    python scripts/class_table.py > crates/streamer/src/write/classes.txt
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import ROOT
import uproot

CLASSES = [
    *(f"TH{n}{letter}" for n in (1, 2, 3) for letter in "CSIFD"),
    "TProfile",
    "TProfile2D",
    "TProfile3D",
    "TObjString",
    "TGraph",
    "TGraphErrors",
    "TGraphAsymmErrors",
]
LEAVES = "OBSILFDC"


def sample(path: Path) -> None:
    """Writes a file with an object of every class that sapwood can write."""
    file = ROOT.TFile(str(path), "RECREATE")
    tree = ROOT.TTree("tree", "")
    buffers = [bytearray(8) for _ in LEAVES]
    for letter, buffer in zip(LEAVES, buffers, strict=True):
        tree.Branch(letter, buffer, f"{letter}/{letter}")
    vector = ROOT.std.vector("float")()
    tree.Branch("vector", vector)
    tree.Write()
    for name in CLASSES:
        file.WriteObject(getattr(ROOT, name)(), name)
    ROOT.RNTupleWriter.Append(ROOT.RNTupleModel.Create(), "rntuple", file)
    file.Close()


def element(member: uproot.model.Model) -> str:
    kind = member.classname.removeprefix("TStreamer")
    extra = ""
    if kind == "Base":
        extra = f"{member.member('fBaseVersion')} {int(member.member('fMaxIndex')[1]) & 0xFFFFFFFF:#010x}"
    elif kind == "BasicPointer":
        extra = " ".join(str(member.member(name)) for name in ("fCountName", "fCountClass", "fCountVersion"))
    elif kind == "STL":
        extra = f"{member.member('fSTLtype')} {member.member('fCtype')}"
    if member.member("fArrayLength") or kind in {"Loop", "Artificial", "STLstring"}:
        raise SystemExit(f"the table cannot describe an element of this kind: {member.name}")
    fields = [kind, member.name, member.member("fType"), member.member("fSize"), member.member("fTypeName")]
    return "\t".join(["", *map(str, fields), extra, member.member("fTitle")])


def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "sample.root"
        sample(path)
        with uproot.open(path) as file:
            infos = [info for versions in file.file.streamers.values() for info in versions.values()]
            for info in sorted(infos, key=lambda info: info.name):
                checksum = f"{info.member('fCheckSum'):#010x}"
                sys.stdout.write(f"{info.name}\t{info.class_version}\t{checksum}\n")
                for member in info.elements:
                    sys.stdout.write(element(member) + "\n")


if __name__ == "__main__":
    main()
