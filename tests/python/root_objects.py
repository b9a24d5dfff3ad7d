"""Prints what ROOT's objects in the trees of a file hold, as JSON: run by a Python that has ROOT, see `root_peer.py`.

{tree: {branch: [digest of each entry]}}, for every branch at the top of a tree that holds objects. A digest is that of
the object as `TBufferJSON` shows it, which tells which pointers lead to the same object.
"""

from __future__ import annotations

import json
import os
import sys

import ROOT

CODE = r"""
#include <TBranchElement.h>
#include <TBranchObject.h>
#include <TBufferJSON.h>
#include <TMD5.h>
#include <TTree.h>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace objects {

using Digests = std::map<std::string, std::vector<std::string>>;

std::string Digest(TBranch *branch, TClass *described)
{
   void *object = nullptr;
   if (auto element = dynamic_cast<TBranchElement *>(branch)) {
      object = element->GetObject();
   } else if (branch->GetAddress()) {
      object = *reinterpret_cast<void **>(branch->GetAddress());
      if (object) described = static_cast<TObject *>(object)->IsA();
   }
   if (!object) return "nothing";
   TString json = TBufferJSON::ConvertToJSON(object, described);
   TMD5 digest;
   digest.Update(reinterpret_cast<const UChar_t *>(json.Data()), json.Length());
   digest.Final();
   return digest.AsString();
}

Digests Read(TTree *tree)
{
   Digests digests;
   TIter branches(tree->GetListOfBranches());
   while (auto branch = static_cast<TBranch *>(branches())) {
      auto described = TClass::GetClass(branch->GetClassName());
      if (!*branch->GetClassName() || !described) continue;
      TObject *place = nullptr;
      if (dynamic_cast<TBranchObject *>(branch)) branch->SetAddress(&place);
      auto &of_branch = digests[branch->GetName()];
      for (Long64_t entry = 0; entry < branch->GetEntries(); ++entry) {
         if (branch->GetEntry(entry) < 0) throw std::runtime_error("an entry cannot be read");
         of_branch.push_back(Digest(branch, described));
      }
      branch->ResetAddress();
   }
   return digests;
}

}
"""


def main() -> None:
    """Reads the trees of a file: the names of these follow it."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # ROOT prints, too
    ROOT.gErrorIgnoreLevel = ROOT.kError  # Classes without a dictionary are meant to be there.
    ROOT.gEnv.SetValue("Root.Stacktrace", "no")
    if not ROOT.gInterpreter.Declare(CODE):
        raise SystemExit("the program does not compile")
    path, *trees = sys.argv[1:]
    file = ROOT.TFile.Open(path)
    found = {}
    for name in trees:
        digests = ROOT.objects.Read(file.Get(name))
        found[name] = {str(branch): [str(one) for one in of_branch] for branch, of_branch in digests}
    print(json.dumps(found), file=answers, flush=True)
    os._exit(0)  # what ROOT makes of objects without a dictionary at its end is not the question


if __name__ == "__main__":
    main()
