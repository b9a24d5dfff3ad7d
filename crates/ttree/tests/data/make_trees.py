"""Writes the *.tree files here with ROOT (6.40): the payloads of small tree records, of every form.

Each file is the length of the record's key (4 bytes, big-endian) and the payload. Run it in this folder.
"""

import struct
import tempfile
from array import array
from collections.abc import Callable
from pathlib import Path

import ROOT

CLASSES = """
class Inner : public TObject { public: int a = 1; std::vector<float> v; ClassDef(Inner, 1) };
class Outer : public TNamed { public: int n = 0; Inner inner; std::vector<Inner> list; ClassDef(Outer, 1) };
"""

OLD_STYLE = """
#include <TClonesArray.h>
class Hit : public TObject { public: int i = 0; float x = 0; ClassDef(Hit, 1) };
class Hits : public TObject {
public:
   int n = 0;
   TClonesArray *hits = new TClonesArray("Hit");
   ClassDef(Hits, 1)
};
void fill_old_style(TFile &file) {
   auto event = new Hits;
   TTree tree("old_style", "Old style");
   tree.BranchOld("ev", "Hits", &event, 32000, 1);
   for (event->n = 0; event->n < 3; event->n++) {
      event->hits->Clear();
      for (int i = 0; i < event->n; i++) event->hits->ConstructedAt(i);
      tree.Fill();
   }
   tree.Write();
}
"""


def payloads(path: str) -> dict[str, bytes]:
    """Key length and payload of every tree record of an uncompressed file."""
    raw = Path(path).read_bytes()
    file = ROOT.TFile.Open(path)
    found = {}
    for key in file.GetListOfKeys():
        start, header, size = key.GetSeekKey(), key.GetKeylen(), key.GetObjlen()
        found[key.GetName()] = struct.pack(">I", header) + raw[start + header : start + header + size]
    file.Close()
    return found


def write(name: str, fill: Callable[[object], object]) -> None:
    """Saves the record of the tree that `fill` leaves in a file."""
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/{name}.root"
        file = ROOT.TFile(path, "RECREATE", "", 0)
        fill(file)
        file.Close()
        Path(f"{name}.tree").write_bytes(payloads(path)[name])


def jagged(file: object) -> None:
    """A counter, an array that it counts, a string, a leaf list."""
    n, x, s, p = array("i", [0]), array("f", [0.0] * 8), bytearray(16), array("f", [0.0] * 3)
    tree = ROOT.TTree("jagged", "Jagged")
    tree.Branch("n", n, "n/I")
    tree.Branch("x", x, "x[n][2]/F")
    tree.Branch("s", s, "s/C")
    tree.Branch("p", p, "px/F:py/F:pz/F")
    tree.SetAlias("twice", "2*n")
    for i in range(20):
        n[0] = i % 4
        if i in (8, 14):
            tree.FlushBaskets()
            tree.SetAutoFlush({8: 3, 14: 5}[i])
        if i == 0:
            tree.SetAutoFlush(4)
        tree.Fill()
    tree.Write()


def embedded(file: object) -> None:
    """Baskets inside the record: written without flushing."""
    n, x = array("i", [0]), array("f", [0.0] * 8)
    tree = ROOT.TTree("embedded", "Embedded")
    tree.Branch("n", n, "n/I")
    tree.Branch("x", x, "x[n]/F")
    for i in range(3):
        n[0] = i + 1
        tree.Fill()
    file.WriteTObject(tree)


def split(file: object) -> None:
    """An object split into its members, with a base class and a collection."""
    ROOT.gInterpreter.Declare(CLASSES)
    outer = ROOT.Outer()
    tree = ROOT.TTree("split", "Split")
    tree.Branch("outer.", outer, 32000, 99)
    for i in range(3):
        outer.n = i
        outer.list.resize(i)
        tree.Fill()
    tree.Write()


def old_style(file: object) -> None:
    """TBranchObject and TBranchClones: only TTree::BranchOld makes them."""
    ROOT.gInterpreter.Declare(OLD_STYLE)
    ROOT.fill_old_style(file)


def ntuple(file: object) -> None:
    """A class derived from TTree."""
    tree = ROOT.TNtuple("ntuple", "Ntuple", "a:b:c")
    for i in range(5):
        tree.Fill(i, 2 * i, 3 * i)
    tree.Write()


if __name__ == "__main__":
    write("jagged", jagged)
    write("embedded", embedded)
    write("split", split)
    write("old_style", old_style)
    write("ntuple", ntuple)
