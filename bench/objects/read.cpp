// Reads a tree with ROOT and its dictionaries, and prints the cost as a line of JSON:
//    read FILE TREE total|products THREADS [DICTIONARY]
// total: TTree::GetEntry over all entries; products: one top-level branch after the other. Objects are discarded.
#include <TBranchElement.h>
#include <TFile.h>
#include <TROOT.h>
#include <TSystem.h>
#include <TTree.h>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

namespace {
struct Clock {
   std::chrono::steady_clock::time_point fWall = std::chrono::steady_clock::now();
   double fProcessor = Processor();

   static double Processor()
   {
      timespec now;
      clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
      return now.tv_sec + now.tv_nsec * 1e-9;
   }
   // "cpu" and "wall" since the clock was created.
   void Print() const
   {
      const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - fWall;
      std::printf("\"cpu\": %.6f, \"wall\": %.6f", Processor() - fProcessor, wall.count());
   }
};

bool ReadAll(TTree *tree)
{
   for (Long64_t entry = 0; entry < tree->GetEntries(); entry++)
      if (tree->GetEntry(entry) <= 0)
         return false;
   return true;
}

bool ReadProduct(TTree *tree, TBranch *branch)
{
   for (Long64_t entry = 0; entry < tree->GetEntries(); entry++)
      if (tree->LoadTree(entry) < 0 || branch->GetEntry(entry) <= 0)
         return false;
   return true;
}
} // namespace

int main(int argc, char **argv)
{
   if (argc < 5) {
      std::fprintf(stderr, "usage: read FILE TREE total|products THREADS [DICTIONARY]\n");
      return 2;
   }
   if (argc > 5 && gSystem->Load(argv[5]) < 0)
      return 1;
   if (const int threads = std::atoi(argv[4]); threads > 1)
      ROOT::EnableImplicitMT(threads);

   TFile file(argv[1]);
   auto *tree = file.Get<TTree>(argv[2]);
   if (!tree)
      return 1;
   if (!std::strcmp(argv[3], "total")) {
      const Clock clock;
      const bool whole = ReadAll(tree);
      std::printf("{\"bytes\": %lld, ", tree->GetTotBytes());
      clock.Print();
      std::printf("}\n");
      return whole ? 0 : 1;
   }
   std::printf("{");
   const char *separator = "";
   for (auto *item : *tree->GetListOfBranches()) {
      auto *branch = static_cast<TBranch *>(item);
      const Clock clock;
      const bool whole = ReadProduct(tree, branch);
      const bool split = branch->GetListOfBranches()->GetEntries() > 0;
      std::printf("%s\"%s\": {\"bytes\": %lld, \"split\": %s, \"read\": %s, ", separator, branch->GetName(),
                  branch->GetTotBytes("*"), split ? "true" : "false", whole ? "true" : "false");
      clock.Print();
      std::printf("}");
      separator = ", ";
      branch->DropBaskets("all");
   }
   std::printf("}\n");
   return 0;
}
