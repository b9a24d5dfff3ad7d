// Writes trees of many branches: wide OUT.root BRANCHES TREES ENTRIES
// The trees are "Events", or "tree0" and so on if there are several. Half of the branches are numbers, half are lists of floats with one
// counter for every 20.
#include <TFile.h>
#include <TRandom3.h>
#include <TTree.h>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

constexpr int kListsPerCounter = 20, kMostItems = 8, kClusters = 10;

struct List {
   float fItems[kMostItems] = {};
};

void Write(const std::string &name, int branches, long entries, TRandom3 &random)
{
   TTree tree(name.c_str(), "many branches");
   const int lists = branches / 2, counters = (lists + kListsPerCounter - 1) / kListsPerCounter;
   const int numbers = branches - lists - counters;
   std::vector<float> number(numbers);
   std::vector<int> count(counters);
   std::vector<List> list(lists);
   for (int i = 0; i < numbers; i++)
      tree.Branch(("number" + std::to_string(i)).c_str(), &number[i], 32000);
   for (int i = 0; i < counters; i++)
      tree.Branch(("n" + std::to_string(i)).c_str(), &count[i], 32000);
   for (int i = 0; i < lists; i++) {
      const std::string own = "list" + std::to_string(i), counter = "n" + std::to_string(i / kListsPerCounter);
      tree.Branch(own.c_str(), list[i].fItems, (own + "[" + counter + "]/F").c_str(), 32000);
   }
   tree.SetAutoFlush((entries + kClusters - 1) / kClusters);
   for (long entry = 0; entry < entries; entry++) {
      for (auto &value : number)
         value = random.Integer(4096);
      for (auto &items : count)
         items = random.Integer(kMostItems);
      for (auto &items : list)
         for (float &value : items.fItems)
            value = random.Integer(4096);
      tree.Fill();
   }
   tree.Write();
   std::printf("%s: %d branches, %.1f MB; ", name.c_str(), tree.GetListOfBranches()->GetEntries(), tree.GetTotBytes() / 1e6);
}

int main(int argc, char **argv)
{
   if (argc != 5) {
      std::fprintf(stderr, "usage: wide OUT.root BRANCHES TREES ENTRIES\n");
      return 2;
   }
   const int branches = std::atoi(argv[2]), trees = std::atoi(argv[3]);
   TFile file(argv[1], "RECREATE", "", 505);
   TRandom3 random(7);
   for (int i = 0; i < trees; i++)
      Write(trees == 1 ? "Events" : "tree" + std::to_string(i), branches, std::atol(argv[4]), random);
   file.Close();
   std::printf("written\n");
}
