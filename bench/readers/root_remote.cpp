// Reads over a network with ROOT, and prints a line of JSON.
//
// root_remote CACHE SECONDS columns URL TREE COLUMN...   opens and reads the columns with TTree::GetEntry
// root_remote CACHE SECONDS whole URL TREE               the same with all of them
// root_remote CACHE SECONDS files LIST TREE COLUMN...    the columns of a TChain of the URLs in a file
//
// CACHE is the size of the TTreeCache in bytes: 0 for none, -1 for ROOT's default. SECONDS after the first entry, the loop
// ends early, and the result contains the completed share; 0 for no limit.
#include "remote.h"
#include <TBranch.h>
#include <TChain.h>
#include <TFile.h>
#include <TLeaf.h>
#include <TTree.h>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

TTree &Tree(TFile *file, const char *name)
{
   auto *tree = file ? file->Get<TTree>(name) : nullptr;
   if (!tree)
      throw std::runtime_error(std::string("no tree ") + name);
   return *tree;
}

// Switches the other branches off, and adds the wanted ones to the cache, so that it need not learn.
void Select(TTree &tree, const std::vector<std::string> &columns, long cache)
{
   tree.SetBranchStatus("*", false);
   for (const auto &name : columns) {
      tree.SetBranchStatus(name.c_str(), true);
      if (auto *counter = tree.GetLeaf(name.c_str())->GetLeafCount())
         tree.SetBranchStatus(counter->GetName(), true);
   }
   if (cache >= 0)
      tree.SetCacheSize(cache);
   if (cache <= 0)
      return;
   for (const auto &name : columns) {
      tree.AddBranchToCache(name.c_str());
      if (auto *counter = tree.GetLeaf(name.c_str())->GetLeafCount())
         tree.AddBranchToCache(counter->GetName());
   }
   tree.StopCacheLearningPhase();
}

std::vector<TLeaf *> Leaves(TTree &tree, const std::vector<std::string> &columns)
{
   std::vector<TLeaf *> leaves;
   for (const auto &name : columns)
      leaves.push_back(tree.GetLeaf(name.c_str()));
   return leaves;
}

// Uses the values, as an analysis would.
void Add(const std::vector<TLeaf *> &leaves, std::vector<double> &sums)
{
   for (std::size_t i = 0; i < leaves.size(); i++) {
      const auto *values = static_cast<const float *>(leaves[i]->GetValuePointer());
      for (int k = 0, length = leaves[i]->GetLen(); k < length; k++)
         sums[i] += values[k];
   }
}

void Print(const std::vector<double> &values, int digits)
{
   for (std::size_t i = 0; i < values.size(); i++)
      std::printf("%s%.*g", i ? ", " : "", digits, values[i]);
}

// Keeps the file open until the counters of the link have been read.
void WaitForEnd()
{
   std::fflush(stdout);
   while (std::getchar() != EOF) {
   }
}

// Reads one file; all columns if none are named.
void ReadFile(const char *url, const char *name, const std::vector<std::string> &columns, long cache, double limit)
{
   const auto begin = Clock::now();
   std::unique_ptr<TFile> file(TFile::Open(url));
   TTree &tree = Tree(file.get(), name);
   if (!columns.empty())
      Select(tree, columns, cache);
   const auto leaves = Leaves(tree, columns);
   std::vector<double> sums(columns.size());
   const Long64_t entries = tree.GetEntries();
   Long64_t entry = 0;
   double first = 0;
   while (entry < entries && (limit <= 0 || entry == 0 || Seconds(begin) - first < limit)) {
      tree.GetEntry(entry++);
      Add(leaves, sums);
      if (entry == 1)
         first = Seconds(begin);
   }
   // `first` includes opening and the first basket of each column, so it is not part of the steady state.
   std::printf("{\"seconds\": %.6f, \"first\": %.6f, \"entries\": %lld, \"share\": %.6f, \"sums\": [", Seconds(begin),
               first, entries, entries > 1 ? double(entry - 1) / double(entries - 1) : 1);
   Print(sums, 6);
   std::printf("]}\n");
   WaitForEnd();
}

// Reads file after file of a list.
void ReadChain(const char *listed, const char *name, const std::vector<std::string> &columns, long cache, double limit)
{
   TChain chain(name);
   std::ifstream urls(listed);
   for (std::string url; std::getline(urls, url);)
      chain.Add(url.c_str());
   const auto begin = Clock::now();
   std::vector<double> sums(columns.size()), ends;
   std::vector<TLeaf *> leaves;
   int number = -1;
   Long64_t entry = 0;
   for (; chain.LoadTree(entry) >= 0 && (limit <= 0 || Seconds(begin) < limit); entry++) {
      if (number < 0)
         Select(chain, columns, cache);
      if (number >= 0 && chain.GetTreeNumber() != number)
         ends.push_back(Seconds(begin));
      if (number != chain.GetTreeNumber())
         leaves = Leaves(chain, columns);
      number = chain.GetTreeNumber();
      chain.GetEntry(entry);
      Add(leaves, sums);
   }
   if (chain.LoadTree(entry) < 0)
      ends.push_back(Seconds(begin));
   const double files = chain.GetListOfFiles()->GetEntries();
   std::printf("{\"seconds\": %.6f, \"share\": %.6f, \"total\": %.6g, \"ends\": [", ends.empty() ? limit : ends.back(),
               ends.size() / files, std::accumulate(sums.begin(), sums.end(), 0.0));
   Print(ends, 9);
   std::printf("]}\n");
   WaitForEnd();
}

int main(int argc, char **argv)
{
   if (argc < 6) {
      std::fprintf(stderr, "usage: root_remote CACHE SECONDS columns|whole|files URL TREE [COLUMN...]\n");
      return 2;
   }
   WarmUp();
   const long cache = std::atol(argv[1]);
   const double limit = std::atof(argv[2]);
   const std::string mode = argv[3];
   const std::vector<std::string> columns(argv + 6, argv + argc);
   if (mode == "files")
      ReadChain(argv[4], argv[5], columns, cache, limit);
   else
      ReadFile(argv[4], argv[5], columns, cache, limit);
}
