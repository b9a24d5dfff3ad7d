"""Prints what ROOT's objects in trees hold, as JSON: run by a Python that has ROOT, see `root_peer.py`.

    root_objects.py CLASSES FILES

CLASSES is the folder with the library of their classes, see `root_classes.py`, or empty. FILES is JSON,
[[file, [tree, …]], …]. Each answer is a line, {tree: {branch: [digest of each entry]}}, for every branch at
the top of a tree that holds objects, by number and name, and "user info" for what the record of the tree
carries along. A digest is that of the object as `TBufferJSON` shows it, which tells which pointers lead to
the same object. What ROOT says of a file on standard error ends with a line of its own. ROOT
does not survive objects of classes that it only emulates.
"""

from __future__ import annotations

import json
import os
import sys

import ROOT

END_OF_FILE = "=== end of a file ==="

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

std::string Digest(void *object, TClass *described)
{
   TString json = TBufferJSON::ConvertToJSON(object, described);
   TMD5 digest;
   digest.Update(reinterpret_cast<const UChar_t *>(json.Data()), json.Length());
   digest.Final();
   return digest.AsString();
}

std::string Digest(TBranch *branch, TClass *described)
{
   void *object = nullptr;
   if (auto element = dynamic_cast<TBranchElement *>(branch)) {
      object = element->GetObject();
   } else if (branch->GetAddress()) {
      object = *reinterpret_cast<void **>(branch->GetAddress());
      if (object) described = static_cast<TObject *>(object)->IsA();
   }
   return object ? Digest(object, described) : "nothing";
}

Digests Read(TTree *tree)
{
   Digests digests;
   int number = 0;
   TIter branches(tree->GetListOfBranches());
   while (auto branch = static_cast<TBranch *>(branches())) {
      // Two branches may have one name.
      auto name = std::to_string(number++) + " " + branch->GetName();
      auto described = TClass::GetClass(branch->GetClassName());
      if (!*branch->GetClassName() || !described) continue;
      TObject *place = nullptr;
      if (dynamic_cast<TBranchObject *>(branch)) branch->SetAddress(&place);
      auto &of_branch = digests[name];
      for (Long64_t entry = 0; entry < branch->GetEntries(); ++entry) {
         if (branch->GetEntry(entry) < 0) throw std::runtime_error("an entry cannot be read");
         of_branch.push_back(Digest(branch, described));
      }
      branch->ResetAddress();
   }
   if (auto carried = tree->GetUserInfo(); carried->GetSize() > 0)
      digests["user info"] = {Digest(carried, TList::Class())};
   return digests;
}

}
"""


def library(folder: str) -> str:
    """The library of the classes in a folder."""
    return os.path.join(folder, os.path.basename(folder) + ".so")


def read(path: str, trees: list[str]) -> dict[str, dict[str, list[str]]]:
    """The digests of the objects in trees of a file."""
    file = ROOT.TFile.Open(path)
    found = {}
    for name in trees:
        digests = ROOT.objects.Read(file.Get(name))
        found[name] = {str(branch): [str(one) for one in of_branch] for branch, of_branch in digests}
    file.Close()
    return found


def prepare() -> None:
    """Compiles the program that reads."""
    if not ROOT.gInterpreter.Declare(CODE):
        raise SystemExit("the program does not compile")
    ROOT.objects.Read(ROOT.TTree("some", ""))


def main() -> None:
    """Reads the trees of files."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # ROOT prints, too
    ROOT.gErrorIgnoreLevel = ROOT.kError  # Some classes are only known by what the file says of them.
    ROOT.gEnv.SetValue("Root.Stacktrace", "no")
    classes, files = sys.argv[1:]
    if classes and os.path.exists(library(classes)):
        ROOT.gSystem.Load(library(classes))
    for path, trees in json.loads(files):
        print(json.dumps(read(path, trees)), file=answers, flush=True)
        print(END_OF_FILE, file=sys.stderr, flush=True)
    os._exit(0)  # what ROOT makes of objects without a dictionary at its end is not the question


if __name__ == "__main__":
    prepare()
    main()
