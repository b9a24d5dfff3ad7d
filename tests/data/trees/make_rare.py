"""Writes rare.root: branches of kinds that few files hold.

python make_rare.py FOLDER   # needs ROOT 6.40 (pip install --pre ROOT==0.1a12) and a C++ compiler
"""

import os
import sys
from array import array

import ROOT
from make import compile_classes

CLASSES = """
#include <TBits.h>
#include <TObject.h>
#include <TTree.h>
#include <list>
#include <map>
#include <string>
#include <vector>
enum Color { kDark = -3, kLight = 5 };
class Trigger : public TObject { public: int run = 0; TBits fBits{8}; ClassDef(Trigger, 1); };
class Point { public: int x = 0; };
class Pointers {
public:
  std::vector<std::string *> words; std::map<int, std::string *> numbered; std::vector<TString *> titles;
  std::map<int, Color> colors; std::map<Color, int> counts; int n = 0;
  Point *points[2] = {nullptr, nullptr}; //[n]
  int last = 0;
};
void FillPointers(TTree &tree) {
  std::string words[3] = {"one", "two", "three"}; TString titles[3] = {"One", "Two", "Three"};
  Point points[3]; Pointers object, *address = &object;
  tree.Branch("split.", &address, 32000, 99); tree.Branch("whole.", &address, 32000, 0);
  for (int entry = 0; entry < 4; ++entry) {
    object = Pointers(); object.n = entry; object.last = 100 + entry;
    object.points[0] = object.points[1] = points;
    for (int i = 0; i < entry; ++i) {
      points[i].x = 10 * entry + i;
      object.words.push_back(words + i); object.numbered[i] = words + i; object.titles.push_back(titles + i);
      object.colors[i] = i % 2 ? kLight : kDark; object.counts[i % 2 ? kLight : kDark] = i;
    }
    tree.Fill();
  }
  tree.ResetBranchAddresses();
}
#ifdef __ROOTCLING__
#pragma link C++ enum Color;
#pragma link C++ class Trigger+;
#pragma link C++ class Point+;
#pragma link C++ class std::vector<std::string *>+;
#pragma link C++ class std::vector<TString *>+;
#pragma link C++ class std::map<int, std::string *>+;
#pragma link C++ class std::map<int, Color>+;
#pragma link C++ class std::map<Color, int>+;
#pragma link C++ class Pointers+;
#pragma link C++ function FillPointers;
#endif
"""


def leaves() -> None:
    """Structures of leaves, some of which count others."""
    numbers = array("i", [0] * 20)
    tree = ROOT.TTree("leaves", "leaves that count others in one branch")
    tree.Branch("hits", numbers, "n/I:x[n]/I:y[n][2]/I:last/I")
    for entry in range(5):
        numbers[0] = entry
        # Arrays have room for as many items as the largest count so far.
        for index in range(1, 20):
            numbers[index] = 100 * entry + index
        tree.GetLeaf("n").SetMaximum(4)
        tree.Fill()
    tree.Write()


def embedded(file: object) -> None:
    """Branches whose baskets would lie in another file, had they not been embedded in the tree's record."""
    number = array("i", [0])
    tree = ROOT.TTree("embedded", "baskets in the record")
    tree.Branch("number", number, "number/I").SetFile("gone.root")
    for entry in range(3):
        number[0] = 7 * entry
        tree.Fill()
    file.WriteTObject(tree)


def bits() -> None:
    """A split object with a member that is called as one of TObject is."""
    tree = ROOT.TTree("bits", "a member fBits")
    trigger = ROOT.Trigger()
    tree.Branch("trigger", trigger, 32000, 99)
    for entry in range(3):
        trigger.run = entry
        trigger.fBits.ResetAllBits()
        trigger.fBits.SetBitNumber(entry)
        tree.Fill()
    tree.Write()


def pointers() -> None:
    """Pointers to strings, enums in maps, a fixed array of counted arrays."""
    tree = ROOT.TTree("pointers", "pointers and enums in collections")
    ROOT.FillPointers(tree)
    tree.Write()


if __name__ == "__main__":
    os.chdir(sys.argv[1])
    compile_classes(CLASSES)
    file = ROOT.TFile("rare.root", "RECREATE", "", 505)
    leaves()
    bits()
    pointers()
    embedded(file)
    file.Close()
    if os.path.exists("gone.root"):
        os.remove("gone.root")
