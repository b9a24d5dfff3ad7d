// Reads a tree with ROOT and its dictionaries, and prints the cost as a line of JSON:
//    read FILE TREE total|products|loop|skim THREADS [DICTIONARY [ARGUMENT...]]
// total: TTree::GetEntry over all entries; products: one top-level branch after the other. Objects are discarded.
// loop PRODUCT...: the same over these collections, whose items it counts, with a TTreeCache.
// skim OUT COLUMN BOUND: writes the entries with COLUMN < BOUND to OUT, compressed as in FILE. Of the others, it reads only
// COLUMN.
#include "../writers/measured.h"
#include <TBranchElement.h>
#include <TClass.h>
#include <TDataMember.h>
#include <TFile.h>
#include <TLeaf.h>
#include <TROOT.h>
#include <TSystem.h>
#include <TTree.h>
#include <TVirtualCollectionProxy.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {
struct Cost {
   Clock::time_point fBegin = Clock::now();
   double fUsed = ProcessorTime();

   // "cpu" and "wall" since this was created.
   void Print() const { std::printf("\"cpu\": %.6f, \"wall\": %.6f", ProcessorTime() - fUsed, Seconds(fBegin)); }
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
// A collection in a wrapper.
struct Collection {
   TBranchElement *fBranch;
   Long_t fOffset;
   TVirtualCollectionProxy *fProxy;

   Collection(TTree *tree, const std::string &name) : fBranch{dynamic_cast<TBranchElement *>(tree->GetBranch(name.c_str()))}
   {
      auto *wrapper = TClass::GetClass(fBranch->GetClassName());
      fOffset = wrapper->GetDataMemberOffset("obj");
      fProxy = TClass::GetClass(wrapper->GetDataMember("obj")->GetFullTypeName())->GetCollectionProxy();
      tree->SetBranchStatus((name + "*").c_str(), true);
      tree->AddBranchToCache(fBranch, true);
   }
   unsigned Size() const
   {
      TVirtualCollectionProxy::TPushPop push(fProxy, fBranch->GetObject() + fOffset);
      return fProxy->Size();
   }
};

long long Loop(TTree *tree, int count, char **names)
{
   tree->SetCacheSize(-1);
   tree->SetBranchStatus("*", false);
   std::vector<Collection> products;
   for (int i = 0; i < count; i++)
      products.emplace_back(tree, names[i]);
   tree->StopCacheLearningPhase();
   long long items = 0;
   for (Long64_t entry = 0; entry < tree->GetEntries(); entry++) {
      tree->GetEntry(entry);
      for (auto &product : products)
         items += product.Size();
   }
   return items;
}

long long Skim(TTree *tree, const char *target, const char *column, double bound)
{
   TFile out(target, "RECREATE", "", tree->GetCurrentFile()->GetCompressionSettings());
   auto *copy = tree->CloneTree(0);
   auto *leaf = tree->GetLeaf(column);
   for (Long64_t entry = 0; entry < tree->GetEntries(); entry++) {
      leaf->GetBranch()->GetEntry(tree->LoadTree(entry));
      if (leaf->GetValue() < bound) {
         tree->GetEntry(entry);
         copy->Fill();
      }
   }
   const auto entries = copy->GetEntries();
   out.Write();
   return entries;
}
} // namespace

int main(int argc, char **argv)
{
   if (argc < 5) {
      std::fprintf(stderr, "usage: read FILE TREE total|products|loop|skim THREADS [DICTIONARY [ARGUMENT...]]\n");
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
      const Cost cost;
      const bool whole = ReadAll(tree);
      std::printf("{\"bytes\": %lld, ", tree->GetTotBytes());
      cost.Print();
      std::printf("}\n");
      return whole ? 0 : 1;
   }
   if (const bool loop = !std::strcmp(argv[3], "loop"); loop || !std::strcmp(argv[3], "skim")) {
      const Cost cost;
      const auto found = loop ? Loop(tree, argc - 6, argv + 6) : Skim(tree, argv[6], argv[7], std::atof(argv[8]));
      std::printf("{\"found\": %lld, ", found);
      cost.Print();
      std::printf("}\n");
      return 0;
   }
   std::printf("{");
   const char *separator = "";
   for (auto *item : *tree->GetListOfBranches()) {
      auto *branch = static_cast<TBranch *>(item);
      const Cost cost;
      const bool whole = ReadProduct(tree, branch);
      const bool split = branch->GetListOfBranches()->GetEntries() > 0;
      std::printf("%s\"%s\": {\"bytes\": %lld, \"split\": %s, \"read\": %s, ", separator, branch->GetName(),
                  branch->GetTotBytes("*"), split ? "true" : "false", whole ? "true" : "false");
      cost.Print();
      std::printf("}");
      separator = ", ";
      branch->DropBaskets("all");
   }
   std::printf("}\n");
   return 0;
}
