// Prints digests of all values of a tree in ROOT's memory, as JSON:
//    values FILE TREE [DICTIONARY]
// {branch: {path: [count, MD5]}}: for every member the numbers of all entries, in their order, as little-endian
// doubles. `path#` is the length of a list or text, `path[]` the items of a list, `path?` whether a pointer is not null,
// `path<Class>` the prefix of the members behind a pointer. It finds members by their offsets in memory, independently of
// streamers.
#include <TBranchElement.h>
#include <TClass.h>
#include <TFile.h>
#include <TLeaf.h>
#include <TMD5.h>
#include <TStreamerElement.h>
#include <TStreamerInfo.h>
#include <TSystem.h>
#include <TTree.h>
#include <TVirtualCollectionProxy.h>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

namespace {
struct Digest {
   TMD5 fMD5;
   long fCount = 0;
   void Add(double value)
   {
      fMD5.Update(reinterpret_cast<const UChar_t *>(&value), sizeof value);
      fCount++;
   }
   void AddText(const char *text, std::size_t length)
   {
      fMD5.Update(reinterpret_cast<const UChar_t *>(text), length);
      fCount += length;
   }
};
using Digests = std::map<std::string, Digest>;

[[noreturn]] void Fail(const std::string &what)
{
   std::fprintf(stderr, "%s\n", what.c_str());
   std::exit(1);
}

double Number(int type, const char *address)
{
   switch (type) {
   case kChar_t: return *reinterpret_cast<const signed char *>(address);
   case kUChar_t: return *reinterpret_cast<const unsigned char *>(address);
   case kBool_t: return *reinterpret_cast<const bool *>(address);
   case kShort_t: return *reinterpret_cast<const short *>(address);
   case kUShort_t: return *reinterpret_cast<const unsigned short *>(address);
   case kCounter:
   case kInt_t: return *reinterpret_cast<const int *>(address);
   case kBits:
   case kUInt_t: return *reinterpret_cast<const unsigned *>(address);
   case kLong_t:
   case kLong64_t: return *reinterpret_cast<const Long64_t *>(address);
   case kULong_t:
   case kULong64_t: return *reinterpret_cast<const ULong64_t *>(address);
   case kFloat16_t:
   case kFloat_t: return *reinterpret_cast<const float *>(address);
   case kDouble32_t:
   case kDouble_t: return *reinterpret_cast<const double *>(address);
   }
   Fail("a number of type " + std::to_string(type));
}

int SizeOf(int type)
{
   switch (type) {
   case kChar_t:
   case kUChar_t:
   case kBool_t: return 1;
   case kShort_t:
   case kUShort_t: return 2;
   case kCounter:
   case kInt_t:
   case kBits:
   case kUInt_t:
   case kFloat16_t:
   case kFloat_t: return 4;
   }
   return 8;
}

class Walker {
public:
   explicit Walker(Digests &digests) : fDigests(digests) {}

   void Object(TClass *type, char *address, const std::string &path)
   {
      if (auto *proxy = type->GetCollectionProxy())
         return Collection(proxy, address, path);
      if (!std::strcmp(type->GetName(), "string")) {
         const auto &text = *reinterpret_cast<std::string *>(address);
         return Text(text.data(), text.size(), path);
      }
      if (!std::strcmp(type->GetName(), "TString")) {
         const auto &text = *reinterpret_cast<TString *>(address);
         return Text(text.Data(), text.Length(), path);
      }
      for (auto *item : *type->GetStreamerInfo()->GetElements())
         Element(static_cast<TStreamerElement *>(item), address, path);
   }

private:
   void Text(const char *text, std::size_t length, const std::string &path)
   {
      fDigests[path + "#"].Add(length);
      fDigests[path].AddText(text, length);
   }

   void Pointer(TClass *declared, char *object, const std::string &path)
   {
      fDigests[path + "?"].Add(object != nullptr);
      if (!object)
         return;
      TClass *actual = declared->GetActualClass(object);
      const Long_t offset = actual->GetBaseClassOffset(declared);
      Object(actual, object - offset, path + "<" + actual->GetName() + ">");
   }

   void Collection(TVirtualCollectionProxy *proxy, char *address, const std::string &path)
   {
      TVirtualCollectionProxy::TPushPop push(proxy, address);
      const unsigned size = proxy->Size();
      const std::string items = path + "[]";
      fDigests[path + "#"].Add(size);
      for (unsigned i = 0; i < size; i++) {
         auto *item = static_cast<char *>(proxy->At(i));
         if (proxy->HasPointers())
            Pointer(proxy->GetValueClass(), *reinterpret_cast<char **>(item), items);
         else if (proxy->GetValueClass())
            Object(proxy->GetValueClass(), item, items);
         else
            fDigests[items].Add(Number(proxy->GetType(), item));
      }
   }

   void Element(TStreamerElement *element, char *object, const std::string &parent)
   {
      constexpr int kArray = TVirtualStreamerInfo::kOffsetL, kPointer = TVirtualStreamerInfo::kOffsetP;
      char *address = object + element->GetOffset();
      const std::string path = parent.empty() ? element->GetName() : parent + "." + element->GetName();
      const int type = element->GetType();
      if (element->IsBase()) {
         if (element->GetClassPointer() != TObject::Class())
            Object(element->GetClassPointer(), address, parent);
      } else if (type < kArray) {
         fDigests[path].Add(Number(type, address));
      } else if (type < kPointer) {
         for (int i = 0; i < element->GetArrayLength(); i++)
            fDigests[path].Add(Number(type - kArray, address + i * SizeOf(type - kArray)));
      } else if (auto *array = dynamic_cast<TStreamerBasicPointer *>(element)) {
         const int count = *reinterpret_cast<int *>(object + array->GetMethod());
         fDigests[path + "#"].Add(count);
         for (int i = 0; i < count; i++)
            fDigests[path + "[]"].Add(
               Number(type - kPointer, *reinterpret_cast<char **>(address) + i * SizeOf(type - kPointer)));
      } else if (element->IsaPointer()) {
         Pointer(element->GetClassPointer(), *reinterpret_cast<char **>(address), path);
      } else if (element->GetClassPointer() && element->GetArrayLength() == 0) {
         Object(element->GetClassPointer(), address, path);
      } else {
         Fail(path + ": an element of type " + std::to_string(type));
      }
   }

   Digests &fDigests;
};

void Values(TBranch *branch, Digests &digests)
{
   if (auto *element = dynamic_cast<TBranchElement *>(branch))
      return Walker(digests).Object(TClass::GetClass(element->GetClassName()), element->GetObject(), "");
   auto *leaf = static_cast<TLeaf *>(branch->GetListOfLeaves()->First());
   for (int i = 0; i < leaf->GetLen(); i++)
      digests[""].Add(leaf->GetValue(i));
}
} // namespace

int main(int argc, char **argv)
{
   if (argc < 3)
      Fail("usage: values FILE TREE [DICTIONARY]");
   if (argc > 3 && gSystem->Load(argv[3]) < 0)
      Fail(std::string("cannot load ") + argv[3]);
   TFile file(argv[1]);
   auto *tree = file.Get<TTree>(argv[2]);
   if (!tree)
      Fail(std::string("no tree ") + argv[2]);

   std::map<std::string, Digests> branches;
   for (Long64_t entry = 0; entry < tree->GetEntries(); entry++) {
      tree->GetEntry(entry);
      for (auto *item : *tree->GetListOfBranches())
         Values(static_cast<TBranch *>(item), branches[item->GetName()]);
   }
   const char *nextBranch = "{\n";
   for (auto &[name, digests] : branches) {
      std::printf("%s \"%s\": {", nextBranch, name.c_str());
      const char *nextPath = "\n";
      for (auto &[path, digest] : digests) {
         digest.fMD5.Final();
         std::printf("%s  \"%s\": [%ld, \"%s\"]", nextPath, path.c_str(), digest.fCount, digest.fMD5.AsString());
         nextPath = ",\n";
      }
      std::printf("}");
      nextBranch = ",\n";
   }
   std::printf("\n}\n");
   return 0;
}
