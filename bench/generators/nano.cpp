// Writes a NanoAOD-like tree "Events": nano OUT.root SCHEMA COMPRESSION ENTRIES [ENTRIES_PER_CLUSTER]
// COMPRESSION is ROOT's number, 100 * algorithm + level: 101 ZLIB-1, 209 LZMA-9, 404 LZ4-4, 505 ZSTD-5.
#include "values.h"
#include <TFile.h>
#include <TROOT.h>
#include <TTree.h>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <sstream>
#include <vector>

constexpr int kMostItems = 500;

// One branch: its type, the kind of its values, and the memory that the tree reads.
struct Variable {
   char fType;
   Kind fKind;
   std::string fName;
   std::unique_ptr<char[]> fData{new char[kMostItems * 8]()};
   float fRate = 0.8f;
};

struct Collection {
   std::string fName;
   float fMean;
   bool fExact;
   std::vector<Variable> fVariables;
   int fCount = 0;
};

struct Schema {
   std::vector<Collection> fCollections;
   std::vector<Variable> fEvent;
};

char LeafType(const std::string &word)
{
   static const std::map<std::string, char> types = {{"float", 'F'},  {"int", 'I'},   {"short", 'S'},
                                                     {"ushort", 's'}, {"uchar", 'b'}, {"bool", 'O'}};
   auto found = types.find(word);
   if (found == types.end())
      throw std::runtime_error("unknown type: " + word);
   return found->second;
}

// NAME#8 → NAME0 … NAME7.
std::vector<std::string> Expand(const std::string &name)
{
   auto hash = name.find('#');
   if (hash == std::string::npos)
      return {name == "." ? "" : name};
   std::vector<std::string> names;
   for (int i = 0; i < std::stoi(name.substr(hash + 1)); i++)
      names.push_back(name.substr(0, hash) + std::to_string(i));
   return names;
}

void ReadTriggers(std::istream &words, std::vector<Variable> &variables)
{
   std::string prefix, suffix;
   int number, often, sometimes;
   float oftenRate, sometimesRate, rate;
   words >> prefix >> number >> suffix >> often >> oftenRate >> sometimes >> sometimesRate >> rate;
   for (int i = 0; i < number; i++) {
      std::string name = prefix + std::to_string(i) + (suffix == "." ? "" : suffix);
      variables.push_back({'O', Kind::Bool, name});
      variables.back().fRate = i % often == 0 ? oftenRate : i % sometimes == 0 ? sometimesRate : rate;
   }
}

Schema ReadSchema(const char *path)
{
   Schema schema;
   std::vector<Variable> *variables = &schema.fEvent;
   std::ifstream file(path);
   if (!file)
      throw std::runtime_error(std::string("cannot open ") + path);
   for (std::string line, word, name; std::getline(file, line);) {
      std::istringstream words(line);
      if (!(words >> word) || word[0] == '#')
         continue;
      if (word == "collection") {
         std::string how;
         float mean;
         words >> name >> how >> mean;
         schema.fCollections.push_back({name, mean, how == "exactly", {}});
         variables = &schema.fCollections.back().fVariables;
      } else if (word == "event") {
         variables = &schema.fEvent;
      } else if (word == "momentum") {
         for (const char *part : {"pt", "eta", "phi", "mass"})
            variables->push_back({'F', KindOf(part), part});
      } else if (word == "triggers") {
         ReadTriggers(words, *variables);
      } else {
         char type = LeafType(word);
         words >> word;
         Kind kind = KindOf(word);
         while (words >> name)
            for (auto &each : Expand(name))
               variables->push_back({type, kind, each});
      }
   }
   return schema;
}

void MakeBranches(TTree &tree, Schema &schema)
{
   for (auto &collection : schema.fCollections) {
      const std::string counter = "n" + collection.fName;
      tree.Branch(counter.c_str(), &collection.fCount, (counter + "/I").c_str());
      for (auto &variable : collection.fVariables) {
         const std::string name = collection.fName + (variable.fName.empty() ? "" : "_") + variable.fName;
         tree.Branch(name.c_str(), variable.fData.get(), (name + "[" + counter + "]/" + variable.fType).c_str());
      }
   }
   for (auto &variable : schema.fEvent)
      tree.Branch(variable.fName.c_str(), variable.fData.get(), (variable.fName + "/" + variable.fType).c_str());
}

template <typename T>
void FillAs(Random &random, Variable &variable, int count)
{
   double value = 0;
   T *out = reinterpret_cast<T *>(variable.fData.get());
   for (int i = 0; i < count; i++)
      out[i] = T(value = Value(random, variable.fKind, i, count, value));
}

void Fill(Random &random, Variable &variable, int count)
{
   switch (variable.fType) {
   case 'F': return FillAs<float>(random, variable, count);
   case 'I': return FillAs<std::int32_t>(random, variable, count);
   case 'S': return FillAs<std::int16_t>(random, variable, count);
   case 's': return FillAs<std::uint16_t>(random, variable, count);
   case 'b': return FillAs<std::uint8_t>(random, variable, count);
   case 'O': return FillAs<bool>(random, variable, count);
   }
}

int main(int argc, char **argv)
{
   if (argc < 5) {
      std::fprintf(stderr, "usage: nano OUT.root SCHEMA COMPRESSION ENTRIES [ENTRIES_PER_CLUSTER]\n");
      return 2;
   }
   const long entries = std::atol(argv[4]);
   Schema schema = ReadSchema(argv[2]);
   ROOT::EnableImplicitMT(2);
   TFile file(argv[1], "RECREATE", "", std::atoi(argv[3]));
   auto *tree = new TTree("Events", "Events");
   tree->SetAutoFlush(argc > 5 ? std::atol(argv[5]) : 5000);

   std::uint32_t run = 1, luminosityBlock = 1;
   ULong64_t event = 0;
   tree->Branch("run", &run, "run/i");
   tree->Branch("luminosityBlock", &luminosityBlock, "luminosityBlock/i");
   tree->Branch("event", &event, "event/l");
   MakeBranches(*tree, schema);

   Random random(12345);
   for (long entry = 0; entry < entries; entry++) {
      event = 1000000 + entry * 3 + random.Bits() % 2;
      luminosityBlock = 1 + entry / 250;
      const float activity = 0.6f + 0.8f * random.Uniform();
      for (auto &collection : schema.fCollections) {
         const int count = collection.fExact ? int(collection.fMean) : random.Poisson(collection.fMean * activity);
         collection.fCount = std::min(count, kMostItems);
         for (auto &variable : collection.fVariables)
            Fill(random, variable, collection.fCount);
      }
      for (auto &variable : schema.fEvent) {
         if (variable.fType == 'O')
            *variable.fData.get() = random.Uniform() < variable.fRate;
         else
            Fill(random, variable, 1);
      }
      tree->Fill();
   }
   tree->Write();
   std::printf("%lld entries, %d branches, %.0f MB in baskets of %.0f MB uncompressed\n", tree->GetEntries(),
               tree->GetListOfBranches()->GetEntries(), tree->GetZipBytes() / 1e6, tree->GetTotBytes() / 1e6);
   file.Close();
}
