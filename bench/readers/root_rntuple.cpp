// Reads columns of an RNTuple with ROOT: root_rntuple FILE NTUPLE MODE THREADS COLUMNS [wait]
//
// MODE: bulk        RBulkValues: each column by itself, a whole cluster at a time
//       loop        all columns event by event, through views
//       rdataframe  the sum of each column, with compiled types
// THREADS: 0 for none, else implicit multi-threading. COLUMNS: a file with a name per line. FILE may be a URL.
// Prints a line of JSON: wall seconds of opening, total wall seconds, CPU seconds, peak memory in bytes, and, for loop and
// rdataframe, the sum of each column. With `wait`, the file stays open until standard input ends.
#include "../writers/measured.h"
#include <ROOT/RDataFrame.hxx>
#include <ROOT/RNTuple.hxx>
#include <ROOT/RNTupleDS.hxx>
#include <ROOT/RNTupleReader.hxx>
#include <ROOT/RNTupleView.hxx>
#include <ROOT/RVec.hxx>
#include <TClass.h>
#include <TEnv.h>
#include <TFile.h>
#include <TPluginManager.h>
#include <TROOT.h>
#include <TSystem.h>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

using Columns = std::vector<std::string>;

std::string TypeOf(ROOT::RNTupleReader &reader, const std::string &name)
{
   const auto &descriptor = reader.GetDescriptor();
   const auto id = descriptor.FindFieldId(name);
   if (id == ROOT::kInvalidDescriptorId)
      throw std::runtime_error("no field " + name);
   return descriptor.GetFieldDescriptor(id).GetTypeName();
}

// Calls `use` with a value of the type of the numbers in a column, and whether it has lists of them.
template <typename F>
auto WithType(std::string type, F &&use)
{
   bool lists = false;
   for (const std::string outer : {"std::vector<", "ROOT::VecOps::RVec<"})
      if (type.compare(0, outer.size(), outer) == 0) {
         lists = true;
         type = type.substr(outer.size(), type.size() - outer.size() - 1);
      }
   if (type == "float")
      return use(float{}, lists);
   if (type == "double")
      return use(double{}, lists);
   if (type == "bool")
      return use(bool{}, lists);
   if (type == "std::int8_t")
      return use(std::int8_t{}, lists);
   if (type == "std::uint8_t")
      return use(std::uint8_t{}, lists);
   if (type == "std::int16_t")
      return use(std::int16_t{}, lists);
   if (type == "std::uint16_t")
      return use(std::uint16_t{}, lists);
   if (type == "std::int32_t")
      return use(std::int32_t{}, lists);
   if (type == "std::uint32_t" || type == "ROOT::RNTupleCardinality<std::uint32_t>")
      return use(std::uint32_t{}, lists);
   if (type == "std::int64_t")
      return use(std::int64_t{}, lists);
   if (type == "std::uint64_t" || type == "ROOT::RNTupleCardinality<std::uint64_t>")
      return use(std::uint64_t{}, lists);
   throw std::runtime_error("a column of type " + type);
}

std::vector<double> ReadBulk(ROOT::RNTupleReader &reader, const Columns &columns)
{
   double read = 0;
   const auto &descriptor = reader.GetDescriptor();
   for (const auto &name : columns) {
      auto view = reader.GetView<void>(name);
      auto bulk = view.CreateBulk();
      for (const auto &cluster : descriptor.GetClusterIterable()) {
         const std::size_t entries = cluster.GetNEntries();
         if (!bulk.ReadBulk(ROOT::RNTupleLocalIndex(cluster.GetId(), 0), nullptr, entries))
            throw std::runtime_error("bulk reading of " + name + " fails");
         read += entries;
      }
   }
   return {read};
}

using Step = std::function<double(std::uint64_t)>;

template <typename T>
Step View(ROOT::RNTupleReader &reader, const std::string &name, const std::string &type, bool lists)
{
   if (type.find("Cardinality") != std::string::npos)
      return [view = std::make_shared<ROOT::RNTupleView<ROOT::RNTupleCardinality<std::uint64_t>>>(
                 reader.GetView<ROOT::RNTupleCardinality<std::uint64_t>>(name))](std::uint64_t entry) {
         return double((*view)(entry));
      };
   if (!lists)
      return [view = std::make_shared<ROOT::RNTupleView<T>>(reader.GetView<T>(name))](std::uint64_t entry) {
         return double((*view)(entry));
      };
   return [view = std::make_shared<ROOT::RNTupleView<ROOT::RVec<T>>>(reader.GetView<ROOT::RVec<T>>(name))](
             std::uint64_t entry) {
      double sum = 0;
      for (const auto value : (*view)(entry))
         sum += double(value);
      return sum;
   };
}

std::vector<double> ReadLoop(ROOT::RNTupleReader &reader, const Columns &columns)
{
   std::vector<Step> steps;
   for (const auto &name : columns) {
      const auto type = TypeOf(reader, name);
      steps.push_back(
         WithType(type, [&](auto zero, bool lists) { return View<decltype(zero)>(reader, name, type, lists); }));
   }
   std::vector<double> sums(columns.size());
   for (std::uint64_t entry = 0, entries = reader.GetNEntries(); entry < entries; entry++)
      for (std::size_t column = 0; column < steps.size(); column++)
         sums[column] += steps[column](entry);
   return sums;
}

template <typename T>
std::function<double()> Book(ROOT::RDataFrame &frame, const std::string &name, bool lists)
{
   if (!lists)
      return [sum = frame.Sum<T>(name, T{})]() mutable { return double(*sum); };
   return [sum = frame.Aggregate([](double total, const ROOT::RVec<T> &values) {
              for (const auto value : values)
                 total += double(value);
              return total; },
              [](double one, double other) { return one + other; }, name, 0.0)]() mutable { return *sum; };
}

std::vector<double> ReadDataFrame(ROOT::RNTupleReader &reader, const std::string &path, const std::string &ntuple,
                                  const Columns &columns)
{
   ROOT::RDataFrame frame(ntuple, path);
   std::vector<std::function<double()>> booked;
   for (const auto &name : columns)
      booked.push_back(WithType(TypeOf(reader, name), [&](auto zero, bool lists) {
         return Book<decltype(zero)>(frame, name, lists);
      }));
   std::vector<double> sums;
   for (auto &sum : booked)
      sums.push_back(sum());
   return sums;
}

// Starts the interpreter and loads the dictionaries, like `import` for the readers in Python.
void WarmUp()
{
   // By default, ROOT treats a server on this machine as a local file.
   gEnv->SetValue("TFile.ForceRemote", 1);
   // The wheel has no other HTTP client, and TFile::Open does not find this one.
   gPluginMgr->AddHandler("TFile", "^http:", "ROOT::Deprecated::TWebFile", "Net", "TWebFile(const char*,Option_t*)");
   gSystem->Load("libNet");
   gSystem->Load("libNetxNG");
   for (const char *name : {"TFile", "ROOT::RNTuple", "std::vector<float>"})
      TClass::GetClass(name);
}

int main(int argc, char **argv)
{
   if (argc < 6) {
      std::fprintf(stderr, "usage: root_rntuple FILE NTUPLE bulk|loop|rdataframe THREADS COLUMNS [wait]\n");
      return 2;
   }
   const std::string path = argv[1], ntuple = argv[2], mode = argv[3];
   Columns columns;
   std::ifstream names(argv[5]);
   for (std::string name; std::getline(names, name);)
      columns.push_back(name);
   if (const int threads = std::atoi(argv[4]))
      ROOT::EnableImplicitMT(threads);

   WarmUp();
   const auto begin = Clock::now();
   const double used = ProcessorTime();
   std::unique_ptr<TFile> file(TFile::Open(path.c_str()));
   auto *anchor = file ? file->Get<ROOT::RNTuple>(ntuple.c_str()) : nullptr;
   if (!anchor)
      throw std::runtime_error("no such RNTuple");
   auto reader = ROOT::RNTupleReader::Open(*anchor);
   const double open = Seconds(begin);
   const auto sums = mode == "bulk" ? ReadBulk(*reader, columns)
      : mode == "loop"              ? ReadLoop(*reader, columns)
                                    : ReadDataFrame(*reader, path, ntuple, columns);
   std::printf("{\"open\": %.6f, \"wall\": %.6f, \"cpu\": %.6f, \"peak\": %ld, \"entries\": %llu, \"sums\": [", open,
               Seconds(begin), ProcessorTime() - used, Memory("VmHWM:"), (unsigned long long)reader->GetNEntries());
   for (std::size_t i = 0; i < sums.size(); i++)
      std::printf("%s%.6g", i ? ", " : "", sums[i]);
   std::printf("]}\n");
   std::fflush(stdout);
   if (argc > 6)
      while (std::getchar() != EOF) {
      }
}
