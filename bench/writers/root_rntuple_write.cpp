// Writes an RNTuple from columns in memory with ROOT: root_rntuple_write COLUMNS TARGET THREADS CLUSTER COMPRESSION
//
// For the arguments and the output, see root_write.cpp; CLUSTER 0: clusters of ROOT's default size. Lists become
// std::vectors, counters are left out. Before each entry, the values of all columns are copied to the fields.
#include "measured.h"
#include <ROOT/RNTupleModel.hxx>
#include <ROOT/RNTupleWriteOptions.hxx>
#include <ROOT/RNTupleWriter.hxx>
#include <TROOT.h>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

using Step = std::function<void()>;

// Makes a field, and returns what copies its next value there.
template <typename T>
Step Add(ROOT::RNTupleModel &model, const std::string &name, const char *next, const std::int32_t *counts)
{
   if (!counts) {
      auto place = model.MakeField<T>(name);
      return [place, next]() mutable {
         std::memcpy(place.get(), next, sizeof(T));
         next += sizeof(T);
      };
   }
   auto place = model.MakeField<std::vector<T>>(name);
   return [place, next, counts]() mutable {
      const auto values = reinterpret_cast<const T *>(next);
      place->assign(values, values + *counts);
      next += *counts++ * sizeof(T);
   };
}

int main(int argc, char **argv)
{
   if (argc != 6)
      return 1;
   const std::string folder = argv[1];
   const auto bytes = Content(folder + "/data");
   struct Column {
      std::string fName, fCounter;
      char fType;
      std::size_t fBegin, fLength;
   };
   std::vector<Column> columns;
   std::map<std::string, std::size_t> begins;
   std::set<std::string> counters;
   std::ifstream list(folder + "/list");
   for (Column one; list >> one.fName >> one.fType >> one.fCounter >> one.fBegin >> one.fLength;) {
      begins[one.fName] = one.fBegin;
      counters.insert(one.fCounter);
      columns.push_back(one);
   }
   const long before = Memory("VmRSS:");
   if (std::atoi(argv[3]) > 1)
      ROOT::EnableImplicitMT(std::atoi(argv[3]));

   const auto begin = Clock::now();
   const double used = ProcessorTime();
   auto model = ROOT::RNTupleModel::Create();
   std::vector<Step> steps;
   std::size_t entries = 0;
   for (const auto &column : columns) {
      if (counters.count(column.fName)) {
         entries = column.fLength / sizeof(std::int32_t);
         continue;
      }
      const auto next = bytes.data() + column.fBegin;
      const auto counts = column.fCounter == "-" ? nullptr
         : reinterpret_cast<const std::int32_t *>(bytes.data() + begins.at(column.fCounter));
      const auto add = [&](auto zero) { return Add<decltype(zero)>(*model, column.fName, next, counts); };
      switch (column.fType) {
      case 'O': steps.push_back(add(bool{})); break;
      case 'B': steps.push_back(add(std::int8_t{})); break;
      case 'b': steps.push_back(add(std::uint8_t{})); break;
      case 'S': steps.push_back(add(std::int16_t{})); break;
      case 's': steps.push_back(add(std::uint16_t{})); break;
      case 'I': steps.push_back(add(std::int32_t{})); break;
      case 'i': steps.push_back(add(std::uint32_t{})); break;
      case 'L': steps.push_back(add(std::int64_t{})); break;
      case 'l': steps.push_back(add(std::uint64_t{})); break;
      case 'F': steps.push_back(add(float{})); break;
      default: steps.push_back(add(double{}));
      }
   }
   ROOT::RNTupleWriteOptions options;
   options.SetCompression(std::atoi(argv[5]));
   auto writer = ROOT::RNTupleWriter::Recreate(std::move(model), "Events", argv[2], options);
   const std::size_t cluster = std::atol(argv[4]);
   for (std::size_t entry = 0; entry < entries; entry++) {
      for (auto &step : steps)
         step();
      writer->Fill();
      if (cluster > 0 && (entry + 1) % cluster == 0)
         writer->CommitCluster();
   }
   writer.reset();
   const double wall = Seconds(begin);
   std::printf("{\"wall\": %.6f, \"cpu\": %.6f, \"memory\": %ld}\n", wall, ProcessorTime() - used,
               Memory("VmHWM:") - before);
}
