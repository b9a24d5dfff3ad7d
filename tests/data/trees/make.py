"""Writes trees that tests read: friends, baskets in another file, split objects, objects that count.

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


COUNTED = """
#include <TClonesArray.h>
#include <TObject.h>
#include <vector>
class Hit { public: short adc = 0; float time = 0; };
class Cluster : public TObject {
public:
  int n = 0;
  float *x = nullptr; //[n]
  unsigned int m = 0;
  Hit *hits = nullptr; //[m]
  Double32_t *packed = nullptr; //[n][0,100,16]
  Cluster() {}
  Cluster(int entry, int number) { Fill(entry, number); }
  Cluster(const Cluster &other) : TObject(other) { *this = other; }
  Cluster &operator=(const Cluster &other) {
    if (this == &other) return *this;
    Empty();
    n = other.n; m = other.m;
    if (n) { x = new float[n]; packed = new Double32_t[n]; }
    if (m) hits = new Hit[m];
    for (int i = 0; i < n; ++i) { x[i] = other.x[i]; packed[i] = other.packed[i]; }
    for (unsigned int i = 0; i < m; ++i) hits[i] = other.hits[i];
    return *this;
  }
  ~Cluster() { Empty(); }
  void Clear(Option_t * = "") override { Empty(); }
  void Empty() {
    delete[] x; delete[] hits; delete[] packed;
    x = nullptr; hits = nullptr; packed = nullptr; n = 0; m = 0;
  }
  void Fill(int entry, int number) {
    Empty();
    n = (entry + number) % 3; m = (entry * number) % 4;
    if (n) { x = new float[n]; packed = new Double32_t[n]; }
    if (m) hits = new Hit[m];
    for (int i = 0; i < n; ++i) { x[i] = entry + number / 8.f + i / 64.f; packed[i] = 100. * i / 4; }
    for (unsigned int i = 0; i < m; ++i) { hits[i].adc = 10 * number + i; hits[i].time = entry / 2.f; }
  }
  ClassDefOverride(Cluster, 1);
};
class Clusters {
public:
  Clusters() {}
  std::vector<Cluster> list; TClonesArray clones{"Cluster"};
  void Fill(int entry) {
    list.clear(); clones.Clear("C");
    for (int number = 0; number < entry % 4; ++number) {
      list.emplace_back(entry, number);
      ((Cluster *)clones.ConstructedAt(number))->Fill(entry, number);
    }
  }
};
#ifdef __ROOTCLING__
#pragma link C++ class Hit+;
#pragma link C++ class Cluster+;
#pragma link C++ class std::vector<Cluster>+;
#pragma link C++ class Clusters+;
#endif
"""


# Written by `tests/python/test_writing_split.py`, too.
MEMBERS = """
#include <TTree.h>
#include <string>
#include <vector>
struct P4 { float pt; double e; };
struct Deep { int a; P4 p4; };
struct Hit { short adc; float w[2]; std::vector<int> ids; P4 p4; Deep deep; std::vector<bool> on; };
struct Ev {
  bool b; char c; unsigned char uc; short s; unsigned short us; int i; unsigned int ui;
  long long l; unsigned long long ul; float f; double d; float arr[2][3]; bool flags[3];
  std::vector<float> vf; std::vector<bool> vb; std::string name;
  std::vector<std::vector<double>> vv; std::vector<std::string> vs;
  P4 p4; Deep deep; std::vector<Hit> hits; std::vector<long long> vl;
};
void Set(std::vector<Hit> &hits, int k) {
  hits.clear();
  for (int j = k; j < k + k % 4; ++j) {
    Hit hit{short(j), {float(j), j + 0.5f}, {}, {float(j), 2. * j}, {j, {j + 1.f, 3. * j}}, {}};
    hit.ids.assign(j % 3, j);
    hit.on.assign(j % 4, j % 2 == 0);
    hits.push_back(hit);
  }
}
void Set(Ev &ev, int k) {
  ev.b = k % 2; ev.c = k; ev.uc = 200 + k; ev.s = -k; ev.us = 60000 + k; ev.i = -1000 * k;
  ev.ui = 4000000000u + k; ev.l = -(1LL << 40) - k; ev.ul = (1ULL << 62) + k; ev.f = k / 2.f; ev.d = k / 4.;
  for (int n = 0; n < 6; ++n) ev.arr[n / 3][n % 3] = 10 * k + n;
  for (int n = 0; n < 3; ++n) ev.flags[n] = (k + n) % 2;
  ev.vf.assign(k % 3, k); ev.vb.assign(k % 4, k % 2); ev.name = std::string(k, 'n');
  ev.vv.assign(k % 3, std::vector<double>(k % 2 + 1, k)); ev.vs.assign(k % 3, "str");
  ev.p4 = {float(k), 2. * k}; ev.deep = {k, {k + 1.f, 3. * k}}; ev.vl.assign(k % 2, k);
  Set(ev.hits, k);
}
void FillMembers(TTree &tree, int entries) {
  Ev ev; std::vector<Hit> hits; P4 p;
  tree.Branch("ev.", &ev, 32000, 99); tree.Branch("Hits", &hits, 32000, 99); tree.Branch("p.", &p, 32000, 99);
  for (int k = 0; k < entries; ++k) { Set(ev, k); Set(hits, k); p = {float(k), double(k)}; tree.Fill(); }
  tree.ResetBranchAddresses();
}
#ifdef __ROOTCLING__
#pragma link C++ class P4+;
#pragma link C++ class Deep+;
#pragma link C++ class Hit+;
#pragma link C++ class std::vector<Hit>+;
#pragma link C++ class std::vector<std::vector<double>>+;
#pragma link C++ class Ev+;
#pragma link C++ function FillMembers;
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


def compile_classes(classes: str) -> None:
    """The classes and their dictionaries."""
    with tempfile.TemporaryDirectory() as folder:
        source = os.path.join(folder, "classes.cxx")
        with open(source, "w") as out:
            out.write(classes)
        if not ROOT.gSystem.CompileMacro(source, "k"):
            raise SystemExit("the classes could not be compiled")


def split() -> None:
    """split.root: the same objects split and unsplit."""
    compile_classes(CLASSES)
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


def counted() -> None:
    """counted.root: split collections of objects, each of which counts what it holds."""
    compile_classes(COUNTED)
    file = ROOT.TFile("counted.root", "RECREATE", "", 505)
    tree = ROOT.TTree("tree", "objects that count, split and unsplit")
    tree.SetAutoFlush(15)
    clusters = ROOT.Clusters()
    tree.Branch("split.", clusters, 32000, 99)
    tree.Branch("whole.", clusters, 32000, 0)
    for entry in range(40):
        clusters.Fill(entry)
        tree.Fill()
    file.Write()
    file.Close()


def members() -> None:
    """members.root: objects with members of all kinds that sapwood splits."""
    compile_classes(MEMBERS)
    file = ROOT.TFile("members.root", "RECREATE", "", 505)
    tree = ROOT.TTree("T", "objects with members of all kinds")
    ROOT.FillMembers(tree, 7)
    file.Write()
    file.Close()


def main() -> None:
    os.chdir(sys.argv[1])
    friends()
    distributed()
    split()
    counted()
    members()


if __name__ == "__main__":
    main()
