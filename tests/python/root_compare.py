"""Compares trees of two files by ROOT, and prints JSON: run by a Python that has ROOT, see `root_peer.py`.

All branches, entry by entry: the bytes that ROOT finds in their baskets once these are decompressed; where
their classes are known, also how many `TTree::GetEntry` reads. Other classes need no dictionary.
"""

from __future__ import annotations

import json
import sys

import ROOT

CODE = r"""
#include <cstring>
#include <memory>
#include <sstream>

namespace same {

struct Result {
   Long64_t branches = 0, entries = 0, bytes = 0;
   // Whether all classes are known: ROOT is not sure to survive objects of others.
   bool known = true;
   std::vector<std::string> differences;
};

// The bytes of the entries of a branch, one after the other, whatever its baskets are.
class Entries {
public:
   explicit Entries(TBranch *branch) : fBranch(branch) {}

   std::pair<const char *, Long64_t> Get(Long64_t entry)
   {
      const Long64_t *first = fBranch->GetBasketEntry();
      const int baskets = fBranch->GetWriteBasket() + 1;
      while (fNumber < 0 || (fNumber + 1 < baskets && first[fNumber + 1] <= entry)) {
         ++fNumber;
         fBasket = nullptr;
      }
      if (!fBasket) fBasket = fBranch->GetBasket(fNumber);
      if (!fBasket) return {nullptr, 0};
      const Int_t *offsets = fBasket->GetNevBufSize() > 0 ? fBasket->GetEntryOffset() : nullptr;
      const Long64_t place = entry - first[fNumber];
      const Int_t size = fBasket->GetNevBufSize(), key = fBasket->GetKeylen();
      const bool last = place + 1 >= fBasket->GetNevBuf();
      const Int_t start = offsets ? offsets[place] : key + Int_t(place) * size;
      const Int_t end = last ? fBasket->GetLast() : offsets ? offsets[place + 1] : start + size;
      return {fBasket->GetBufferRef()->Buffer() + start, end - start};
   }

private:
   TBranch *fBranch;
   TBasket *fBasket = nullptr;
   int fNumber = -1;
};

void Compare(TObjArray *one, TObjArray *other, Long64_t entries, Result &result)
{
   if (one->GetEntriesFast() != other->GetEntriesFast()) {
      result.differences.push_back("another number of branches");
      return;
   }
   for (int i = 0; i < one->GetEntriesFast(); ++i) {
      auto mine = (TBranch *)one->UncheckedAt(i);
      auto theirs = (TBranch *)other->FindObject(mine->GetName());
      std::string name = mine->GetFullName().Data();
      if (!theirs || std::strcmp(mine->GetTitle(), theirs->GetTitle()) ||
          std::strcmp(mine->GetClassName(), theirs->GetClassName()) ||
          mine->GetEntries() != theirs->GetEntries()) {
         result.differences.push_back(name + " is missing, or another");
         continue;
      }
      ++result.branches;
      if (std::strlen(mine->GetClassName()) > 0) {
         auto described = TClass::GetClass(mine->GetClassName());
         result.known = result.known && described && described->HasInterpreterInfo();
      }
      const bool filled = mine->GetTotBytes() > 0;
      if (filled != (theirs->GetTotBytes() > 0)) result.differences.push_back(name + ": bytes");
      Entries first(mine), second(theirs);
      for (Long64_t entry = 0; filled && entry < entries; ++entry) {
         auto left = first.Get(entry), right = second.Get(entry);
         if (!left.first || !right.first || left.second != right.second ||
             std::memcmp(left.first, right.first, left.second)) {
            result.differences.push_back(name + ", entry " + std::to_string(entry));
            break;
         }
         result.bytes += left.second;
      }
      mine->DropBaskets("all");
      theirs->DropBaskets("all");
      Compare(mine->GetListOfBranches(), theirs->GetListOfBranches(), entries, result);
   }
}

Result Trees(TTree *one, TTree *other)
{
   Result result;
   result.entries = one->GetEntries();
   if (result.entries != other->GetEntries()) {
      result.differences.push_back("another number of entries");
      return result;
   }
   Compare(one->GetListOfBranches(), other->GetListOfBranches(), result.entries, result);
   for (Long64_t entry = 0; result.known && entry < result.entries; ++entry) {
      const int read = one->GetEntry(entry);
      if (read <= 0 || read != other->GetEntry(entry)) {
         result.differences.push_back("entry " + std::to_string(entry) + " is read differently");
         break;
      }
   }
   return result;
}

}
"""


def main(path: str, other: str, *trees: str) -> None:
    """Compares the trees of two files."""
    ROOT.gErrorIgnoreLevel = ROOT.kError  # Classes without a dictionary are meant to be there.
    if not ROOT.gInterpreter.Declare(CODE):
        raise SystemExit("the comparison does not compile")
    files = [ROOT.TFile.Open(one) for one in (path, other)]
    found = {}
    for tree in trees:
        result = ROOT.same.Trees(*(file.Get(tree) for file in files))
        found[tree] = {
            "branches": int(result.branches),
            "entries": int(result.entries),
            "bytes": int(result.bytes),
            "read": bool(result.known),
            "differences": [str(one) for one in result.differences],
        }
    print(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
