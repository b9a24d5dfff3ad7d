// Reads undeclared columns with ROOT, entry by entry, and prints a line of JSON.
//
// root_learned CACHE SECONDS startup|trigger|random URL TREE START EVERY OFFSET COLUMN... [-- COLUMN...]
//
// CACHE is the size of the TTreeCache in bytes: 0 for none, -1 for what ROOT takes by itself. The columns behind "--"
// are read, from the entry START on, for every EVERY-th entry. After SECONDS seconds the loop ends early, and the
// result says what share it did.
#include "remote.h"
#include <TBranch.h>
#include <TFile.h>
#include <TLeaf.h>
#include <TTree.h>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

const Long64_t kFirst = 100, kRandom = 1000;

std::vector<TLeaf *> Leaves(TTree &tree, const std::vector<std::string> &columns)
{
   std::vector<TLeaf *> leaves;
   for (const auto &name : columns) {
      auto *leaf = tree.GetLeaf(name.c_str());
      if (!leaf) {
         std::fprintf(stderr, "no column %s\n", name.c_str());
         std::exit(1);
      }
      leaves.push_back(leaf);
   }
   return leaves;
}

// Reads the entry of a column, and adds its values.
double Add(TLeaf *leaf, Long64_t entry)
{
   double sum = 0;
   leaf->GetBranch()->GetEntry(entry);
   for (int i = 0, length = leaf->GetLen(); i < length; i++)
      sum += leaf->GetValue(i);
   return sum;
}

int main(int argc, char **argv)
{
   if (argc < 10) {
      std::fprintf(stderr, "usage: root_learned CACHE SECONDS PATTERN URL TREE START EVERY OFFSET COLUMN... [-- COLUMN...]\n");
      return 2;
   }
   WarmUp();
   const long cache = std::atol(argv[1]);
   const double limit = std::atof(argv[2]);
   const std::string pattern = argv[3];
   const Long64_t start = std::atol(argv[6]), every = std::atol(argv[7]), offset = std::atol(argv[8]);
   std::vector<std::string> always, sometimes;
   bool behind = false;
   for (int i = 9; i < argc; i++) {
      const std::string name = argv[i];
      if (name == "--")
         behind = true;
      else
         (behind ? sometimes : always).push_back(name);
   }
   const auto begin = Clock::now();
   std::unique_ptr<TFile> file(TFile::Open(argv[4]));
   auto *tree = file ? file->Get<TTree>(argv[5]) : nullptr;
   if (!tree) {
      std::fprintf(stderr, "no tree %s in %s\n", argv[5], argv[4]);
      return 1;
   }
   if (cache >= 0)
      tree->SetCacheSize(cache);
   const auto leaves = Leaves(*tree, always), others = Leaves(*tree, sometimes);
   const double opened = Seconds(begin);
   const Long64_t entries = tree->GetEntries();
   const Long64_t todo = pattern == "startup" ? kFirst : pattern == "random" ? kRandom : entries;
   const auto over = [&] { return limit > 0 && Seconds(begin) > opened + limit; };
   double sum = 0, first = 0, share = 0;
   Long64_t done = 0;
   for (; done < todo && !over(); done++) {
      const Long64_t entry = pattern == "random" ? (done * 61837 + 12345) % entries : done;
      tree->LoadTree(entry);
      for (std::size_t i = 0; i < leaves.size(); i++) {
         sum += Add(leaves[i], entry);
         // The first entry dominates the cost, so its completed share is that of the task.
         if (pattern == "startup" && done == 0 && over()) {
            share = double(i + 1) / double(leaves.size());
            first = opened;
            break;
         }
      }
      if (share > 0)
         break;
      if (entry >= start && entry % every == offset)
         for (auto *leaf : others)
            sum += Add(leaf, entry);
      if (done == 0)
         first = Seconds(begin);
   }
   if (share == 0)
      share = double(done) / double(todo);
   std::printf("{\"seconds\": %.6f, \"opened\": %.6f, \"first\": %.6f, \"share\": %.6f, \"sum\": %.9g}\n",
               Seconds(begin), opened, first, share, sum);
}
