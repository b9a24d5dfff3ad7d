// Reads a tree with ROOT, entry by entry, and prints a line of JSON: whether the read was complete.
//
// root_sources URL TREE ENTRIES
#include "remote.h"
#include <TFile.h>
#include <TTree.h>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>

double Now()
{
   return Seconds(Clock::time_point());
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
   WarmUp();
   const double begin = Now();
   Long64_t entries = 0;
   const char *error = Read(argv[1], argv[2], std::atoll(argv[3]), entries);
   std::printf("{\"begin\": %.6f, \"seconds\": %.6f, \"entries\": %lld", begin, Now() - begin, entries);
   error ? std::printf(", \"error\": \"%s\"}\n", error) : std::printf("}\n");
}
