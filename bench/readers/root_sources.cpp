// Reads a tree with ROOT, entry by entry, and prints a line of JSON: whether the read was complete.
//
// root_sources URL TREE ENTRIES
#include <TClass.h>
#include <TEnv.h>
#include <TFile.h>
#include <TSystem.h>
#include <TTree.h>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>

double Now()
{
   return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// The first error, or nothing.
const char *Read(const char *url, const char *name, Long64_t stop, Long64_t &entries)
{
   std::unique_ptr<TFile> file(TFile::Open(url));
   auto *tree = file ? file->Get<TTree>(name) : nullptr;
   if (!tree)
      return "the tree cannot be opened";
   stop = std::min(stop, tree->GetEntries());
   for (entries = 0; entries < stop; entries++) {
      if (tree->GetEntry(entries) <= 0)
         return "TTree::GetEntry returns an error";
   }
   return nullptr;
}

int main(int argc, char **argv)
{
   if (argc != 4) {
      std::fprintf(stderr, "usage: root_sources URL TREE ENTRIES\n");
      return 2;
   }
   // By default, ROOT treats a server on this machine as a local file.
   gEnv->SetValue("TFile.ForceRemote", 1);
   gSystem->Load("libNetxNG");
   for (const char *name : {"TFile", "TTree", "TBranch", "TLeafF", "TLeafI", "TLeafS", "TLeafB", "TLeafO", "TLeafL"})
      TClass::GetClass(name);
   const double begin = Now();
   Long64_t entries = 0;
   const char *error = Read(argv[1], argv[2], std::atoll(argv[3]), entries);
   std::printf("{\"begin\": %.6f, \"seconds\": %.6f, \"entries\": %lld", begin, Now() - begin, entries);
   error ? std::printf(", \"error\": \"%s\"}\n", error) : std::printf("}\n");
}
