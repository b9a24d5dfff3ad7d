// Opens trees of many branches with ROOT, as compiled code, and prints a line of JSON; see ../wide.py.
//
// root_wide FILE TREE... -- COLUMN...
//
// Opens each tree, reads its first column, and loops over its entries with all columns.
#include <TBranch.h>
#include <TClass.h>
#include <TFile.h>
#include <TLeaf.h>
#include <TTree.h>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <string>
#include <unistd.h>
#include <vector>

double Wall()
{
   return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double Cpu()
{
   timespec now;
   clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
   return now.tv_sec + now.tv_nsec * 1e-9;
}

double Resident()
{
   std::ifstream file("/proc/self/statm");
   double size = 0, resident = 0;
   file >> size >> resident;
   return resident * sysconf(_SC_PAGESIZE);
}

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
   const double memory = Resident();
   double held = 0;
   TFile *file = nullptr;
   for (const auto &name : trees) {
      double begin = Wall(), used = Cpu();
      if (!file)
         file = TFile::Open(argv[1]);
      auto tree = file->Get<TTree>(name.c_str());
      open += Wall() - begin;
      cpu += Cpu() - used;
      held = Resident() - memory;
      begin = Wall();
      TLeaf *leaf = tree->GetLeaf(columns[0].c_str());
      for (Long64_t entry = 0; entry < tree->GetEntries(); entry++) {
         leaf->GetBranch()->GetEntry(entry);
         sum += leaf->GetValue(0);
      }
      first += Wall() - begin;
      begin = Wall();
      std::vector<TBranch *> branches;
      for (const auto &column : columns)
         branches.push_back(tree->GetBranch(column.c_str()));
      for (Long64_t entry = 0; entry < tree->GetEntries(); entry++) {
         tree->LoadTree(entry);
         for (auto branch : branches)
            branch->GetEntry(entry);
      }
      loop += Wall() - begin;
   }
   std::printf("{\"open\": %.6f, \"open_cpu\": %.6f, \"memory\": %.0f, \"first\": %.6f, \"loop\": %.6f, \"sum\": %.9g}\n", open, cpu,
               held, first, loop, sum);
}
