// Loops over the events of many files with ROOT, as compiled code, and prints a line of JSON.
//
// root_loops TREE EVERY OFFSET COLUMN... -- [COLUMN...] -- URL...
//
// The columns behind the first "--" are read for every EVERY-th entry only. The cache is the one that ROOT takes by itself.
// When ROOT has started, it says so on a line, and begins after a line, or the end, of its input.
#include "remote.h"
#include <TBranch.h>
#include <TChain.h>
#include <TLeaf.h>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

struct Column {
   std::string fName;
   TBranch *fBranch = nullptr;
   TLeaf *fLeaf = nullptr;
};

std::vector<Column> Columns(int argc, char **argv, int &next)
{
   std::vector<Column> columns;
   for (; next < argc && std::string(argv[next]) != "--"; next++)
      columns.push_back({argv[next]});
   next++;
   return columns;
}

// Reads one entry of each column.
void Read(std::vector<Column> &columns, Long64_t local)
{
   for (auto &column : columns)
      column.fBranch->GetEntry(local);
}

int main(int argc, char **argv)
{
   if (argc < 7) {
      std::fprintf(stderr, "usage: root_loops TREE EVERY OFFSET COLUMN... -- [COLUMN...] -- URL...\n");
      return 2;
   }
   WarmUp();
   const Long64_t every = std::atol(argv[2]), offset = std::atol(argv[3]);
   int next = 4;
   auto always = Columns(argc, argv, next), sometimes = Columns(argc, argv, next);
   std::puts("ready");
   std::fflush(stdout);
   for (int read = std::getchar(); read != '\n' && read != EOF;)
      read = std::getchar();
   const auto begin = Clock::now();
   TChain chain(argv[1]);
   for (; next < argc; next++)
      chain.Add(argv[next]);
   double sum = 0;
   Long64_t entries = 0;
   int tree = -1;
   for (;; entries++) {
      const Long64_t local = chain.LoadTree(entries);
      if (local < 0)
         break;
      if (chain.GetTreeNumber() != tree) {
         tree = chain.GetTreeNumber();
         for (auto *columns : {&always, &sometimes})
            for (auto &column : *columns) {
               column.fLeaf = chain.GetTree()->GetLeaf(column.fName.c_str());
               if (!column.fLeaf) {
                  std::fprintf(stderr, "no column %s\n", column.fName.c_str());
                  return 1;
               }
               column.fBranch = column.fLeaf->GetBranch();
            }
      }
      Read(always, local);
      // The first column shows that all readers read the same.
      sum += always[0].fLeaf->GetValue(0);
      if (every > 0 && local % every == offset)
         Read(sometimes, local);
   }
   const double seconds = Seconds(begin);
   std::printf("{\"seconds\": %.6f, \"entries\": %lld, \"sum\": %.9g}\n", seconds, entries, sum);
}
