// Opens trees of many branches with ROOT, as compiled code, and prints a line of JSON; see ../wide.py.
//
// root_wide FILE TREE... -- COLUMN...
//
// Opens each tree, reads its first column, and loops over its entries with all columns.
#include "../writers/measured.h"
#include <TBranch.h>
#include <TClass.h>
#include <TFile.h>
#include <TLeaf.h>
#include <TTree.h>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

int main(int argc, char **argv)
{
   std::vector<std::string> trees, columns;
   for (int i = 2; i < argc; i++) {
      if (std::string(argv[i]) == "--")
         columns.assign(argv + i + 1, argv + argc), i = argc;
      else
         trees.push_back(argv[i]);
   }
   if (trees.empty() || columns.empty()) {
      std::fprintf(stderr, "usage: root_wide FILE TREE... -- COLUMN...\n");
      return 2;
   }
   for (const char *name : {"TFile", "TTree", "TBranch", "TLeafF", "TLeafI"})
      TClass::GetClass(name);
   double open = 0, cpu = 0, first = 0, loop = 0, sum = 0;
   const long memory = Memory("VmRSS:");
   long held = 0;
   TFile *file = nullptr;
   for (const auto &name : trees) {
      auto begin = Clock::now();
      const double used = ProcessorTime();
      if (!file)
         file = TFile::Open(argv[1]);
      auto tree = file->Get<TTree>(name.c_str());
      open += Seconds(begin);
      cpu += ProcessorTime() - used;
      held = Memory("VmRSS:") - memory;
      begin = Clock::now();
      TLeaf *leaf = tree->GetLeaf(columns[0].c_str());
      for (Long64_t entry = 0; entry < tree->GetEntries(); entry++) {
         leaf->GetBranch()->GetEntry(entry);
         sum += leaf->GetValue(0);
      }
      first += Seconds(begin);
      begin = Clock::now();
      std::vector<TBranch *> branches;
      for (const auto &column : columns)
         branches.push_back(tree->GetBranch(column.c_str()));
      for (Long64_t entry = 0; entry < tree->GetEntries(); entry++) {
         tree->LoadTree(entry);
         for (auto branch : branches)
            branch->GetEntry(entry);
      }
      loop += Seconds(begin);
   }
   std::printf("{\"open\": %.6f, \"open_cpu\": %.6f, \"memory\": %ld, \"first\": %.6f, \"loop\": %.6f, \"sum\": %.9g}\n", open, cpu,
               held, first, loop, sum);
}
