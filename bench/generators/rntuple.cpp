// Writes a tree as an RNTuple with ROOT's importer: rntuple OUT.root SOURCE TREE COMPRESSION
//
// Branches with the same counter become one collection of records, with projections under the names of the branches, as in
// the files of CMS. Clusters and pages have ROOT's default sizes. COMPRESSION: ROOT's number.
#include <ROOT/RNTupleImporter.hxx>
#include <ROOT/RNTupleReader.hxx>
#include <TROOT.h>
#include <cstdio>
#include <cstdlib>

int main(int argc, char **argv)
{
   if (argc != 5) {
      std::fprintf(stderr, "usage: rntuple OUT.root SOURCE TREE COMPRESSION\n");
      return 2;
   }
   ROOT::EnableImplicitMT(2);
   std::remove(argv[1]);
   {
      auto importer = ROOT::Experimental::RNTupleImporter::Create(argv[2], argv[3], argv[1]);
      auto options = importer->GetWriteOptions();
      options.SetCompression(std::atoi(argv[4]));
      importer->SetWriteOptions(options);
      importer->SetIsQuiet(true);
      importer->Import();
   }
   auto reader = ROOT::RNTupleReader::Open(argv[3], argv[1]);
   const auto &descriptor = reader->GetDescriptor();
   std::printf("%llu entries, %llu fields, %llu clusters\n", (unsigned long long)reader->GetNEntries(),
               (unsigned long long)descriptor.GetNFields(), (unsigned long long)descriptor.GetNClusters());
}
