"""Writes the inputs of test_friends.py and test_split.py: friends, baskets in another file, split objects.

python make.py FOLDER        # needs ROOT 6.40 (pip install --pre ROOT==0.1a12) and a C++ compiler
"""

import os
import sys
import tempfile
from array import array

import ROOT

ENTRIES = 100

CLASSES = """
#include <TClonesArray.h>
#include <TNamed.h>
#include <string>
#include <vector>
class Point { public: float x = 0; float y = 0; };
class Base { public: int id = 0; };
class Track : public Base {
public:
  double pt = 0; Point start; int hits[2] = {0, 0}; std::vector<short> layers;
};
class Event : public Base {
public:
  Event() {}
  std::string name; Track lead; std::vector<Track> tracks; TClonesArray labels{"TNamed"};
};
#ifdef __ROOTCLING__
#pragma link C++ class Point+;
#pragma link C++ class Base+;
#pragma link C++ class Track+;
#pragma link C++ class std::vector<Track>+;
#pragma link C++ class Event+;
#endif
"""


def friends() -> None:
    """main.root: a tree with a friend beside it, one in the same file, and one that is lost."""
    value = array("i", [0])
    for name, tree_name, factor in (("friend.root", "extra", 10), ("gone.root", "lost", 1)):
        file = ROOT.TFile(name, "RECREATE")
        tree = ROOT.TTree(tree_name, "a friend")
        tree.Branch("score", value, "score/I", 1000)
        for entry in range(ENTRIES):
            value[0] = factor * entry
            tree.Fill()
        file.Write()
        file.Close()

    file = ROOT.TFile("main.root", "RECREATE")
    other = ROOT.TTree("other", "a shorter friend in the same file")
    other.Branch("weight", value, "weight/I", 1000)
    main = ROOT.TTree("main", "the main tree")
    main.Branch("number", value, "number/I", 1000)
    for entry in range(ENTRIES):
        value[0] = entry
        main.Fill()
        value[0] = -entry
        if entry < ENTRIES // 2:
            other.Fill()
    main.AddFriend("ex = extra", "friend.root")
    main.AddFriend("other")
    main.AddFriend("lost", "gone.root")
    file.Write()
    file.Close()
    os.remove("gone.root")


def distributed() -> None:
    """away.root: one of the branches has its baskets in baskets/far.root."""
    os.makedirs("baskets", exist_ok=True)
    number, far = array("i", [0]), array("d", [0.0])
    file = ROOT.TFile("away.root", "RECREATE")
    tree = ROOT.TTree("tree", "baskets in another file")
    tree.SetAutoFlush(30)
    tree.Branch("near", number, "near/I", 1000)
    tree.Branch("far", far, "far/D", 1000).SetFile("baskets/far.root")
    for entry in range(ENTRIES):
        number[0], far[0] = entry, entry / 2
        tree.Fill()
    file.Write()
    file.Close()


def split() -> None:
    """split.root: the same objects split and unsplit."""
    with tempfile.TemporaryDirectory() as folder:
        source = os.path.join(folder, "classes.cxx")
        with open(source, "w") as out:
            out.write(CLASSES)
        if not ROOT.gSystem.CompileMacro(source, "k"):
            raise SystemExit("the classes could not be compiled")
    file = ROOT.TFile("split.root", "RECREATE")
    tree = ROOT.TTree("tree", "the same objects, split and unsplit")
    event = ROOT.Event()
    tree.Branch("split.", event, 32000, 99)
    tree.Branch("whole.", event, 32000, 0)
    for entry in range(ENTRIES):
        event.id, event.name = entry, f"event {entry}"
        event.lead.id, event.lead.pt, event.lead.start.x = -entry, entry / 2, entry / 4
        event.tracks.clear()
        event.labels.Clear()
        for number in range(entry % 4):
            track = ROOT.Track()
            track.id, track.pt, track.start.y, track.hits[1] = number, entry + number / 8, number, entry
            for layer in range(number):
                track.layers.push_back(layer)
            event.tracks.push_back(track)
            label = event.labels.ConstructedAt(number)
            label.SetNameTitle(f"label {number}", "of a track")
        tree.Fill()
    file.Write()
    file.Close()


def main() -> None:
    os.chdir(sys.argv[1])
    friends()
    distributed()
    split()


if __name__ == "__main__":
    main()
