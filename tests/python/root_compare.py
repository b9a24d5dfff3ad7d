"""Compares trees of two files by ROOT: run by a Python that has ROOT, see `root_peer.py`.

It answers lines of JSON, with one for each two files; `times` is how often the other one has the entries:

    [file, other file, [tree, …], times]
    {tree: {"branches": …, "entries": …, "bytes": …, "unread": …, "read": …, "differences": […]}, …}

All branches, entry by entry: the bytes that ROOT finds in their baskets once these are decompressed; where
their classes are known, also how many `TTree::GetEntry` reads. Other classes need no dictionary. Words that
name places in the basket may differ by as many bytes as the entry has moved.
"""

from __future__ import annotations

import json
import os
import signal
import sys

import ROOT

SECONDS = 120

CODE = r"""
#include <algorithm>
#include <cstring>
#include <memory>
#include <sstream>

namespace same {

struct Result {
   Long64_t branches = 0, entries = 0, bytes = 0;
   // Branches that ROOT does not read in the first file.
   Long64_t unread = 0;
   // Whether all classes are known: ROOT is not sure to survive objects of others.
   bool known = true;
   std::vector<std::string> differences;
};

// The bytes of an entry, and from where the places count that are named in it.
struct Entry {
   const char *data = nullptr;
   Long64_t size = 0, origin = 0;
};

// Whether two words name the same place of an entry.
bool SamePlace(const Entry &left, const Entry &right, Long64_t at)
{
   auto word = [at](const Entry &entry) {
      auto bytes = reinterpret_cast<const unsigned char *>(entry.data + at);
      return UInt_t(bytes[0]) << 24 | UInt_t(bytes[1]) << 16 | UInt_t(bytes[2]) << 8 | bytes[3];
   };
   const UInt_t place = 0x3fffffff, one = word(left), other = word(right);
   return (one & ~place) == (other & ~place) &&
          (one & place) - left.origin == (other & place) - right.origin;
}

bool Alike(const Entry &left, const Entry &right)
{
   if (left.size != right.size) return false;
   for (Long64_t at = 0, behind = 0; at < left.size; ++at) {
      if (left.data[at] == right.data[at]) continue;
      Long64_t word = std::max(behind, at - 3);
      while (word <= at && !(word + 4 <= left.size && SamePlace(left, right, word))) ++word;
      if (word > at) return false;
      behind = word + 4;
      at = behind - 1;
   }
   return true;
}

// The entries of a branch, one after the other, whatever its baskets are.
class Entries {
public:
   explicit Entries(TBranch *branch) : fBranch(branch) {}

   Entry Get(Long64_t entry)
   {
      const Long64_t *first = fBranch->GetBasketEntry();
      const int baskets = fBranch->GetWriteBasket() + 1;
      while (fNumber < 0 || (fNumber + 1 < baskets && first[fNumber + 1] <= entry)) {
         ++fNumber;
         fBasket = nullptr;
      }
      if (!fBasket) {
         // Where no offsets are stored, ROOT counts from the entry on at which the branch is.
         if (fBranch->IsA() == TBranch::Class()) fBranch->GetEntry(first[fNumber]);
         fBasket = fBranch->GetBasket(fNumber);
      }
      if (!fBasket) return {};
      const Int_t *offsets = fBasket->GetNevBufSize() > 0 ? fBasket->GetEntryOffset() : nullptr;
      const Long64_t place = entry - first[fNumber];
      const Int_t size = fBasket->GetNevBufSize(), key = fBasket->GetKeylen();
      const bool last = place + 1 >= fBasket->GetNevBuf();
      const Int_t start = offsets ? offsets[place] : key + Int_t(place) * size;
      const Int_t end = last ? fBasket->GetLast() : offsets ? offsets[place + 1] : start + size;
      const Int_t *origins = offsets ? fBasket->GetDisplacement() : nullptr;
      return {fBasket->GetBufferRef()->Buffer() + start, end - start, origins ? origins[place] : start};
   }

private:
   TBranch *fBranch;
   TBasket *fBasket = nullptr;
   int fNumber = -1;
};

// Whether it has baskets, in the file or in the record of the tree.
bool Filled(TBranch *branch)
{
   auto held = (TBasket *)branch->GetListOfBaskets()->First();
   return branch->GetTotBytes() > 0 || (held && held->GetNevBuf() > 0);
}

bool Same(Entries first, Entries &second, Long64_t entries, Long64_t behind, const std::string &name,
          Result &result)
{
   for (Long64_t entry = 0; entry < entries; ++entry) {
      auto left = first.Get(entry), right = second.Get(behind + entry);
      if (!left.data) {
         ++result.unread;
         return false;
      }
      if (!right.data || !Alike(left, right)) {
         result.differences.push_back(name + ", entry " + std::to_string(behind + entry));
         return false;
      }
      result.bytes += left.size;
   }
   return true;
}

void Compare(TObjArray *one, TObjArray *other, Long64_t entries, int times, Result &result)
{
   if (one->GetEntriesFast() != other->GetEntriesFast()) {
      result.differences.push_back("another number of branches");
      return;
   }
   for (int i = 0; i < one->GetEntriesFast(); ++i) {
      auto mine = (TBranch *)one->UncheckedAt(i);
      auto theirs = (TBranch *)other->UncheckedAt(i);
      std::string name = mine->GetFullName().Data();
      if (std::strcmp(mine->GetName(), theirs->GetName()))
         theirs = (TBranch *)other->FindObject(mine->GetName());
      if (!theirs || std::strcmp(mine->GetTitle(), theirs->GetTitle()) ||
          std::strcmp(mine->GetClassName(), theirs->GetClassName()) ||
          times * std::min(mine->GetEntries(), entries) != std::min(theirs->GetEntries(), times * entries)) {
         result.differences.push_back(name + " is missing, or another");
         continue;
      }
      ++result.branches;
      if (std::strlen(mine->GetClassName()) > 0) {
         auto described = TClass::GetClass(mine->GetClassName());
         result.known = result.known && described && described->HasInterpreterInfo();
      }
      const bool filled = entries > 0 && Filled(mine);
      if (entries > 0 && filled != Filled(theirs)) result.differences.push_back(name + ": bytes");
      Entries second(theirs);
      for (int time = 0; filled && time < times; ++time) {
         if (!Same(Entries(mine), second, entries, time * entries, name, result)) break;
      }
      Compare(mine->GetListOfBranches(), theirs->GetListOfBranches(), entries, times, result);
   }
}

Result Trees(TTree *one, TTree *other, int times)
{
   Result result;
   result.entries = one->GetEntries();
   if (times * result.entries != other->GetEntries()) {
      result.differences.push_back("another number of entries");
      return result;
   }
   Compare(one->GetListOfBranches(), other->GetListOfBranches(), result.entries, times, result);
   for (Long64_t entry = 0; result.known && entry < result.entries; ++entry) {
      const int read = one->GetEntry(entry);
      if (read < 0) break;  // neither in the first file
      if (read != other->GetEntry(entry)) {
         result.differences.push_back("entry " + std::to_string(entry) + " is read differently");
         break;
      }
   }
   return result;
}

}
"""


def compare(path: str, other: str, trees: list[str], times: int = 1) -> dict[str, object]:
    """What is found of trees of two files."""
    files = [ROOT.TFile.Open(one) for one in (path, other)]
    found = {}
    for tree in trees:
        result = ROOT.same.Trees(*(file.Get(tree) for file in files), times)
        found[tree] = {
            "branches": int(result.branches),
            "entries": int(result.entries),
            "bytes": int(result.bytes),
            "unread": int(result.unread),
            "read": bool(result.known),
            "differences": [str(one) for one in result.differences],
        }
    for file in files:
        file.Close()
    return found


def main() -> None:
    """Answers until its input ends."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # ROOT prints, too
    ROOT.gErrorIgnoreLevel = ROOT.kError  # Classes without a dictionary are meant to be there.
    ROOT.gEnv.SetValue("Root.Stacktrace", "no")
    if not ROOT.gInterpreter.Declare(CODE):
        raise SystemExit("the comparison does not compile")
    for line in sys.stdin:
        signal.alarm(SECONDS)
        print(json.dumps(compare(*json.loads(line))), file=answers, flush=True)
        signal.alarm(0)


if __name__ == "__main__":
    main()
