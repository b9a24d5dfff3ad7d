// TSapwoodFile, and the raw file that RNTuple reads, over sapwood's C ABI.

#include "TSapwoodFile.h"

#include "ReadAhead.h"

#include <TBranch.h>
#include <TEnv.h>
#include <TError.h>
#include <TROOT.h>
#include <TMap.h>
#include <TTimeStamp.h>
#include <TTreeCache.h>
#include <TVirtualMonitoring.h>
#include <TVirtualPerfStats.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <map>

namespace {

constexpr const char *kScheme = "sapwood:";
// As a descriptor: open, but not one of the operating system.
constexpr Int_t kOpen = -2;
constexpr const char *kUnregistered = "_WITHOUT_GLOBALREGISTRATION";

bool BeginsWith(std::string_view text, std::string_view start)
{
   return text.substr(0, start.size()) == start;
}

// Setting of ROOT: whether the next windows of trees are read ahead.
constexpr const char *kReadAhead = "Sapwood.ReadAhead";
// Setting of ROOT: whether it reads ahead itself, in a thread of its own.
constexpr const char *kPrefetching = "TFile.AsyncPrefetching";

// The baskets behind those in `ranges`, of the branches that a cache reads, in the order of their entries.
std::vector<Basket> NextBaskets(const TTreeCache &cache, const TFile &file, const std::vector<sapwood_range> &ranges)
{
   // One range may hold several baskets.
   std::map<std::uint64_t, std::uint64_t> ends;
   for (const auto &range : ranges)
      ends[range.offset] = range.offset + range.length;
   const auto isRead = [&ends](Long64_t offset) {
      const auto behind = ends.upper_bound(static_cast<std::uint64_t>(offset));
      return behind != ends.begin() && static_cast<std::uint64_t>(offset) < std::prev(behind)->second;
   };
   std::vector<Basket> next;
   for (auto *object : *cache.GetCachedBranches()) {
      auto *branch = static_cast<TBranch *>(object);
      if (!branch->GetDirectory() || branch->GetDirectory()->GetFile() != &file)
         continue;
      const Int_t *lengths = branch->GetBasketBytes();
      const Long64_t *entries = branch->GetBasketEntry();
      Int_t last = branch->GetWriteBasket() - 1;
      const Int_t end = last + 1;
      while (last >= 0 && !isRead(branch->GetBasketSeek(last)))
         --last;
      if (last < 0)
         continue; // none of the branch was read, so that it is unknown where reading goes on
      for (Int_t i = last + 1; i < end && entries[i] < cache.GetEntryMax(); ++i) {
         const Long64_t offset = branch->GetBasketSeek(i);
         if (offset > 0 && lengths[i] > 0)
            next.push_back({entries[i], static_cast<std::uint64_t>(offset), static_cast<std::uint64_t>(lengths[i])});
      }
   }
   std::stable_sort(next.begin(), next.end(), [](auto &one, auto &other) { return one.fEntry < other.fEntry; });
   return next;
}

class RSapwoodRawFile final : public ROOT::Internal::RRawFile {
public:
   RSapwoodRawFile(std::string_view url, ROptions options, std::shared_ptr<SapwoodHandle> handle = nullptr)
      : RRawFile(url, options), fHandle(std::move(handle))
   {
   }

   // Reads of several threads may go through one handle.
   std::unique_ptr<RRawFile> Clone() const override
   {
      return std::make_unique<RSapwoodRawFile>(fUrl, fOptions, fHandle);
   }

protected:
   void OpenImpl() override
   {
      // Small: most of what is read without a vector is in the parts of the file that opening has read.
      if (fOptions.fBlockSize == ROptions::kUseDefaultBlockSize)
         fOptions.fBlockSize = 32 * 1024;
      if (!fHandle)
         fHandle = std::make_shared<SapwoodHandle>(fUrl);
   }

   std::size_t ReadAtImpl(void *buffer, std::size_t length, std::uint64_t offset) override
   {
      return fHandle->ReadAt(buffer, length, offset);
   }

   void ReadVImpl(RIOVec *pieces, unsigned int count) override
   {
      std::vector<sapwood_range> ranges;
      ranges.reserve(count);
      for (unsigned int i = 0; i < count; ++i)
         ranges.push_back({pieces[i].fOffset, pieces[i].fSize, pieces[i].fBuffer});
      fHandle->Read(ranges);
      for (unsigned int i = 0; i < count; ++i)
         pieces[i].fOutBytes = pieces[i].fSize;
   }

   std::uint64_t GetSizeImpl() override { return fHandle->Size(); }

private:
   std::shared_ptr<SapwoodHandle> fHandle;
};

} // namespace

ClassImp(TSapwoodFile)

TSapwoodFile::TSapwoodFile(const char *url, Option_t *option)
   // TFile itself opens nothing that is of the web.
   : TFile(url, (std::string("WEB") + (std::strstr(option, kUnregistered) ? kUnregistered : "")).c_str())
{
   try {
      fHandle = std::make_shared<SapwoodHandle>(url);
   } catch (const std::exception &error) {
      Error("TSapwoodFile", "%s", error.what());
      MakeZombie();
      gDirectory = gROOT;
      return;
   }
   fD = kOpen;
   if (gEnv->GetValue(kReadAhead, 1) && !gEnv->GetValue(kPrefetching, 0))
      fAhead = std::make_unique<ReadAhead>();
   TFile::Init(kFALSE);
}

TSapwoodFile::~TSapwoodFile()
{
   // Here, because the functions below are not those of the base class.
   Close();
}

TFile *TSapwoodFile::Create(const char *url, Option_t *option, const char *title, Int_t compress, Int_t netopt)
{
   TString mode = option;
   mode.ToUpper();
   mode.ReplaceAll(kUnregistered, "");
   if (mode.IsNull() || mode == "READ" || mode == "NET" || mode == "WEB")
      return new TSapwoodFile(url, option);
   std::string_view place = url;
   if (BeginsWith(place, kScheme))
      place.remove_prefix(std::strlen(kScheme));
   // ROOT's own plugin for XRootD also takes "xroot:", which sapwood leaves to it.
   if (BeginsWith(place, "root:"))
      return TFile::Open(("x" + std::string(place)).c_str(), option, title, compress, netopt);
   ::Error("TSapwoodFile::Create", "sapwood only reads this protocol, but the mode is '%s'", option);
   return nullptr;
}

ROOT::Internal::RRawFile *
TSapwoodFile::CreateRaw(std::string_view url, ROOT::Internal::RRawFile::ROptions options)
{
   return new RSapwoodRawFile(url, options);
}

Bool_t TSapwoodFile::ReadBuffers(char *buffer, Long64_t *offsets, Int_t *lengths, Int_t count)
{
   if (!fHandle)
      return kTRUE;
   const Double_t start = gPerfStats ? static_cast<Double_t>(TTimeStamp()) : 0;
   std::vector<sapwood_range> ranges;
   ranges.reserve(count);
   Long64_t total = 0;
   for (Int_t i = 0; i < count; ++i) {
      if (offsets[i] < 0 || lengths[i] < 0) {
         Error("ReadBuffers", "%d bytes from %lld cannot be read", lengths[i], offsets[i]);
         return kTRUE;
      }
      const auto offset = static_cast<std::uint64_t>(offsets[i] + fArchiveOffset);
      ranges.push_back({offset, static_cast<std::uint64_t>(lengths[i]), buffer + total});
      total += lengths[i];
   }
   try {
      auto *cache = fAhead && count > 0 ? OnlyCache() : nullptr;
      if (cache) {
         fAhead->Read(*fHandle, ranges);
         fAhead->Plan(fHandle, NextBaskets(*cache, *this, ranges), static_cast<std::uint64_t>(total));
      } else {
         fHandle->Read(ranges);
      }
   } catch (const std::exception &error) {
      Error("ReadBuffers", "%s", error.what());
      return kTRUE;
   }
   fBytesRead += total;
   fgBytesRead += total;
   fReadCalls++;
   fgReadCalls++;
   if (gMonitoringWriter)
      gMonitoringWriter->SendFileReadProgress(this);
   if (gPerfStats)
      gPerfStats->FileReadEvent(this, static_cast<Int_t>(total), start);
   return kFALSE;
}

// The cache of the tree that is read, if there is only one tree, and it has learned which branches are.
TTreeCache *TSapwoodFile::OnlyCache() const
{
   if (!fCacheReadMap || fCacheReadMap->GetSize() != 1)
      return nullptr;
   auto *cache = dynamic_cast<TTreeCache *>(fCacheReadMap->GetValue(TIter(fCacheReadMap).Next()));
   return cache && !cache->IsLearning() ? cache : nullptr;
}

Int_t TSapwoodFile::ReOpen(Option_t *mode)
{
   TString wanted = mode;
   wanted.ToUpper();
   if (wanted == "READ")
      return 1; // ROOT's answer where the mode stays as it is
   Error("ReOpen", "sapwood only reads files, but the mode is '%s'", mode);
   return -1;
}

std::string TSapwoodFile::Report() const
{
   return fHandle ? fHandle->Report() : std::string();
}

Int_t TSapwoodFile::SysOpen(const char *, Int_t, UInt_t)
{
   errno = EROFS;
   return -1;
}

Int_t TSapwoodFile::SysClose(Int_t)
{
   if (fHandle)
      fHandle->Close(); // whatever is read ahead
   fAhead.reset();
   fHandle.reset();
   return 0;
}

Int_t TSapwoodFile::SysRead(Int_t, void *buffer, Int_t length)
{
   if (!fHandle || length < 0) {
      errno = EBADF;
      return -1;
   }
   try {
      const auto read = fHandle->ReadAt(buffer, static_cast<std::uint64_t>(length), static_cast<std::uint64_t>(fPosition));
      fPosition += static_cast<Long64_t>(read);
      return static_cast<Int_t>(read);
   } catch (const std::exception &error) {
      Error("SysRead", "%s", error.what());
      errno = EIO;
      return -1;
   }
}

Long64_t TSapwoodFile::SysSeek(Int_t, Long64_t offset, Int_t whence)
{
   const Long64_t size = fHandle ? static_cast<Long64_t>(fHandle->Size()) : 0;
   const Long64_t from = whence == SEEK_CUR ? fPosition : whence == SEEK_END ? size : 0;
   if (from + offset < 0) {
      errno = EINVAL;
      return -1;
   }
   return fPosition = from + offset;
}

Int_t TSapwoodFile::SysStat(Int_t, Long_t *id, Long64_t *size, Long_t *flags, Long_t *modified)
{
   if (!fHandle)
      return 1;
   *id = 0;
   *size = static_cast<Long64_t>(fHandle->Size());
   *flags = 0;
   *modified = 0;
   return 0;
}
