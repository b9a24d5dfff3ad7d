// Writes a tree from columns in memory with ROOT: root_write COLUMNS TARGET THREADS CLUSTER COMPRESSION
//
// COLUMNS: a folder that write.py made: `list` has a line per branch (name, type, name of its counter or -, offset, bytes),
// `data` the values of one branch after the other. THREADS: 1 for a single thread, else implicit multi-threading. CLUSTER:
// entries. COMPRESSION: ROOT's number.
// Before each entry, the values of all branches are copied to the addresses of the tree, as in a real program.
// Prints a line of JSON: wall seconds and CPU seconds from before the file is created until it is closed, and the memory in
// addition to the columns, in bytes.
#include "measured.h"
#include <TFile.h>
#include <TROOT.h>
#include <TTree.h>
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

struct Column {
   std::string fName, fCounter;
   char fType;
   std::size_t fSize;
   const char *fNext;
   std::unique_ptr<char[]> fPlace;
   Column *fCount = nullptr;
};

std::size_t SizeOf(char type)
{
   switch (type) {
   case 'O': case 'B': case 'b': return 1;
   case 'S': case 's': return 2;
   case 'I': case 'i': case 'F': return 4;
   default: return 8;
   }
}

int main(int argc, char **argv)
{
   if (argc != 6)
      return 1;
   const std::string folder = argv[1];
   const auto bytes = Content(folder + "/data");
   std::vector<std::unique_ptr<Column>> columns;
   std::map<std::string, Column *> byName;
   std::size_t entries = 0;
   std::ifstream list(folder + "/list");
   std::string name, counter;
   char type;
   for (std::size_t begin, length; list >> name >> type >> counter >> begin >> length;) {
      auto column = std::make_unique<Column>();
      column->fName = name;
      column->fCounter = counter;
      column->fType = type;
      column->fSize = SizeOf(type);
      column->fNext = bytes.data() + begin;
      if (counter == "-")
         entries = length / column->fSize;
      byName[name] = column.get();
      columns.push_back(std::move(column));
   }
   for (auto &column : columns) {
      std::size_t most = 1;
      if (column->fCounter != "-") {
         column->fCount = byName.at(column->fCounter);
         const auto counts = reinterpret_cast<const std::int32_t *>(column->fCount->fNext);
         most = std::max<std::size_t>(1, *std::max_element(counts, counts + entries));
      }
      column->fPlace.reset(new char[most * column->fSize]());
   }
   const long before = Memory("VmRSS:");
   if (std::atoi(argv[3]) > 1)
      ROOT::EnableImplicitMT(std::atoi(argv[3]));

   const auto begin = Clock::now();
   const double used = ProcessorTime();
   TFile file(argv[2], "RECREATE", "", std::atoi(argv[5]));
   auto tree = new TTree("Events", "Events");
   tree->SetAutoFlush(std::atol(argv[4]));
   for (auto &column : columns) {
      const auto size = column->fCount ? "[" + column->fCounter + "]" : "";
      tree->Branch(column->fName.c_str(), column->fPlace.get(), (column->fName + size + "/" + column->fType).c_str());
   }
   for (std::size_t entry = 0; entry < entries; entry++) {
      for (auto &column : columns) {
         // Counters come before their lists.
         std::int32_t items = 1;
         if (column->fCount)
            std::memcpy(&items, column->fCount->fPlace.get(), sizeof items);
         std::memcpy(column->fPlace.get(), column->fNext, items * column->fSize);
         column->fNext += items * column->fSize;
      }
      if (tree->Fill() < 0)
         throw std::runtime_error("the tree cannot be filled");
   }
   file.Write();
   file.Close();
   const double wall = Seconds(begin);
   std::printf("{\"wall\": %.6f, \"cpu\": %.6f, \"memory\": %ld}\n", wall, ProcessorTime() - used,
               Memory("VmHWM:") - before);
}
