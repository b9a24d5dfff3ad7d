// Reads columns of a tree with ROOT: root_read FILE TREE MODE THREADS COLUMNS
//
// MODE: loop      each branch by itself, TBranch::GetEntry for each entry
//       getentry  TTree::GetEntry for each entry, other branches switched off
//       bulk      TBulkBranchRead: flat branches byte-swapped, jagged ones as they are in the basket
//       rdataframe  the sum of each column, with compiled types
// THREADS: 0 for none, else implicit multi-threading. COLUMNS: a file with a name per line.
// Prints a line of JSON: wall seconds of opening, total wall seconds, CPU seconds, peak memory in bytes, and a checksum,
// so that the compiler cannot remove the reads.
#include "../writers/measured.h"
#include <ROOT/RDataFrame.hxx>
#include <ROOT/RVec.hxx>
#include <TBranch.h>
#include <TBufferFile.h>
#include <TClass.h>
#include <TFile.h>
#include <TLeaf.h>
#include <TROOT.h>
#include <TTree.h>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

TBranch &Branch(TTree &tree, const std::string &name)
{
   TBranch *branch = tree.GetBranch(name.c_str());
   if (!branch)
      throw std::runtime_error("no branch " + name);
   return *branch;
}

TLeaf &Leaf(TBranch &branch)
{
   return *static_cast<TLeaf *>(branch.GetListOfLeaves()->UncheckedAt(0));
}

bool IsJagged(TBranch &branch)
{
   return Leaf(branch).GetLeafCount() != nullptr;
}

// Memory for one entry of a branch.
std::unique_ptr<char[]> EntryMemory(TBranch &branch)
{
   TLeaf &leaf = Leaf(branch);
   const int most = leaf.GetLeafCount() ? leaf.GetLeafCount()->GetMaximum() : 1;
   return std::unique_ptr<char[]>(new char[8 + std::size_t(most) * leaf.GetLenStatic() * leaf.GetLenType()]);
}

double ReadLoop(TTree &tree, const std::vector<std::string> &columns)
{
   double bytes = 0;
   const Long64_t entries = tree.GetEntries();
   for (auto &name : columns) {
      TBranch &branch = Branch(tree, name);
      auto memory = EntryMemory(branch);
      branch.SetAddress(memory.get());
      for (Long64_t entry = 0; entry < entries; entry++)
         bytes += branch.GetEntry(entry);
      branch.ResetAddress();
   }
   return bytes;
}

double ReadGetEntry(TTree &tree, const std::vector<std::string> &columns)
{
   tree.SetBranchStatus("*", false);
   std::vector<std::unique_ptr<char[]>> memory;
   for (auto &name : columns) {
      TBranch &branch = Branch(tree, name);
      if (auto *counter = Leaf(branch).GetLeafCount())
         counter->GetBranch()->ResetBit(kDoNotProcess);
      branch.ResetBit(kDoNotProcess);
      memory.push_back(EntryMemory(branch));
      branch.SetAddress(memory.back().get());
   }
   double bytes = 0;
   const Long64_t entries = tree.GetEntries();
   for (Long64_t entry = 0; entry < entries; entry++)
      bytes += tree.GetEntry(entry);
   return bytes;
}

double ReadBulk(TTree &tree, const std::vector<std::string> &columns)
{
   double read = 0;
   const Long64_t entries = tree.GetEntries();
   TBufferFile buffer(TBuffer::kWrite, 32 * 1024);
   for (auto &name : columns) {
      TBranch &branch = Branch(tree, name);
      const bool jagged = IsJagged(branch);
      for (Long64_t entry = 0; entry < entries;) {
         auto &bulk = branch.GetBulkRead();
         const int count = jagged ? bulk.GetEntriesSerialized(entry, buffer) : bulk.GetBulkEntries(entry, buffer);
         if (count <= 0)
            throw std::runtime_error("bulk reading of " + name + " fails at entry " + std::to_string(entry));
         entry += count;
         read += count;
      }
   }
   return read;
}

// Books the sum of a column, and returns a function that gets it.
template <typename T>
std::function<double()> BookAs(ROOT::RDataFrame &frame, const std::string &name, bool jagged)
{
   if (!jagged)
      return [sum = frame.Sum<T>(name, T{})]() mutable { return double(*sum); };
   return [sum = frame.Sum<ROOT::RVec<T>>(name, T{})]() mutable { return double(*sum); };
}

std::function<double()> Book(ROOT::RDataFrame &frame, TBranch &branch)
{
   const std::string name = branch.GetName(), type = Leaf(branch).GetTypeName();
   const bool jagged = IsJagged(branch);
   if (type == "Float_t")
      return BookAs<Float_t>(frame, name, jagged);
   if (type == "Int_t")
      return BookAs<Int_t>(frame, name, jagged);
   if (type == "UInt_t")
      return BookAs<UInt_t>(frame, name, jagged);
   if (type == "Short_t")
      return BookAs<Short_t>(frame, name, jagged);
   if (type == "UShort_t")
      return BookAs<UShort_t>(frame, name, jagged);
   if (type == "UChar_t")
      return BookAs<UChar_t>(frame, name, jagged);
   if (type == "Bool_t")
      return BookAs<Bool_t>(frame, name, jagged);
   if (type == "ULong64_t")
      return BookAs<ULong64_t>(frame, name, jagged);
   throw std::runtime_error("branch " + name + " has type " + type);
}

double ReadDataFrame(TTree &tree, const std::vector<std::string> &columns)
{
   ROOT::RDataFrame frame(tree);
   std::vector<std::function<double()>> sums;
   for (auto &name : columns)
      sums.push_back(Book(frame, Branch(tree, name)));
   double total = 0;
   for (auto &sum : sums)
      total += sum();
   return total;
}

// Starts the interpreter and loads the dictionaries, like `import` for the readers in Python.
void WarmUp()
{
   for (const char *name : {"TFile", "TTree", "TBranch", "TLeafF", "TLeafI", "TLeafS", "TLeafB", "TLeafO", "TLeafL"})
      TClass::GetClass(name);
}

int main(int argc, char **argv)
{
   if (argc != 6) {
      std::fprintf(stderr, "usage: root_read FILE TREE loop|getentry|bulk|rdataframe THREADS COLUMNS\n");
      return 2;
   }
   const std::string mode = argv[3];
   std::vector<std::string> columns;
   std::ifstream names(argv[5]);
   for (std::string name; std::getline(names, name);)
      columns.push_back(name);
   if (const int threads = std::atoi(argv[4]))
      ROOT::EnableImplicitMT(threads);

   WarmUp();
   const auto begin = Clock::now();
   const double used = ProcessorTime();
   std::unique_ptr<TFile> file(TFile::Open(argv[1]));
   auto *tree = file ? file->Get<TTree>(argv[2]) : nullptr;
   if (!tree)
      throw std::runtime_error("no such tree");
   const double open = Seconds(begin);
   double result = 0;
   if (mode == "loop")
      result = ReadLoop(*tree, columns);
   else if (mode == "getentry")
      result = ReadGetEntry(*tree, columns);
   else if (mode == "bulk")
      result = ReadBulk(*tree, columns);
   else if (mode == "rdataframe")
      result = ReadDataFrame(*tree, columns);
   else
      throw std::runtime_error("no such mode");
   std::printf("{\"open\": %.6f, \"wall\": %.6f, \"cpu\": %.6f, \"peak\": %ld, \"result\": %.17g}\n", open,
               Seconds(begin), ProcessorTime() - used, Memory("VmHWM:"), result);
}
