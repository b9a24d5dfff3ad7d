"""Writes mixed.root, the input of the tests beside it: every simple kind of branch, several baskets each.

python make_mixed.py OUT.root        # needs ROOT 6.40 (pip install --pre ROOT==0.1a12)
"""

import sys
from array import array

import ROOT

ENTRIES = 500


def main() -> None:
    file = ROOT.TFile(sys.argv[1], "RECREATE", "", 505)
    tree = ROOT.TTree("tree", "one of each")
    tree.SetAutoFlush(100)
    number, count = array("i", [0]), array("i", [0])
    fixed, jagged = array("d", [0.0] * 6), array("f", [0.0] * 30)
    flag = array("b", [0])
    text = bytearray(64)
    tree.Branch("number", number, "number/I", 400)
    tree.Branch("flag", flag, "flag/O", 400)
    tree.Branch("fixed", fixed, "fixed[2][3]/D", 400)
    tree.Branch("count", count, "count/I", 400)
    tree.Branch("jagged", jagged, "jagged[count]/F", 400)
    tree.Branch("pairs", jagged, "pairs[count][2]/F", 400)
    tree.Branch("text", text, "text/C", 400)
    vector, strings = ROOT.std.vector("float")(), ROOT.std.vector("string")()
    nested = ROOT.std.vector(ROOT.std.vector("short"))()
    tree.Branch("vector", vector, 400, 0)
    tree.Branch("strings", strings, 400, 0)
    tree.Branch("nested", nested, 400, 0)
    for entry in range(ENTRIES):
        number[0], flag[0], count[0] = entry * 3 - 100, entry % 3 == 0, entry % 7
        for index in range(6):
            fixed[index] = entry + index / 8
        for index in range(30):
            jagged[index] = entry - index / 4
        word = f"entry {entry}" * (entry % 5)
        text[:] = word.encode().ljust(64, b"\0")
        vector.clear()
        strings.clear()
        nested.clear()
        for index in range(entry % 4):
            vector.push_back(entry * 0.5 + index)
            strings.push_back("s" * index + str(entry))
            inner = ROOT.std.vector("short")()
            for value in range(index):
                inner.push_back(entry - value)
            nested.push_back(inner)
        tree.Fill()
    tree.Write()
    file.Close()


if __name__ == "__main__":
    main()
