// A file of ROOT that is read with sapwood: with replicas, retries, a block cache, and one vector read per cache window.
//
// ROOT's plugin manager makes one for URLs that begin with "sapwood:", and for those of other protocols if it is asked
// to; docs/guides/root-plugin.md says how. Files are read only.

#ifndef SAPWOOD_TSAPWOODFILE_H
#define SAPWOOD_TSAPWOODFILE_H

#include <ROOT/RRawFile.hxx>
#include <TFile.h>

#include <memory>
#include <string>
#include <string_view>

class ReadAhead;
class SapwoodHandle;
class TTreeCache;

class TSapwoodFile : public TFile {
public:
   TSapwoodFile(const char *url, Option_t *option = "");
   ~TSapwoodFile() override;

   Bool_t ReadBuffers(char *buffer, Long64_t *offsets, Int_t *lengths, Int_t count) override;
   Int_t ReOpen(Option_t *mode) override;

   // What was read so far and from where: JSON on one line; empty after the file is closed.
   std::string Report() const;

   // What the plugin manager calls for a TFile: opens for reading; for other modes, asks ROOT's own plugin.
   static TFile *Create(const char *url, Option_t *option = "", const char *title = "", Int_t compress = 1,
                        Int_t netopt = 0);
   // What it calls for the files that RNTuple reads.
   static ROOT::Internal::RRawFile *CreateRaw(std::string_view url, ROOT::Internal::RRawFile::ROptions options);

protected:
   Int_t SysOpen(const char *path, Int_t flags, UInt_t mode) override;
   Int_t SysClose(Int_t) override;
   Int_t SysRead(Int_t, void *buffer, Int_t length) override;
   Long64_t SysSeek(Int_t, Long64_t offset, Int_t whence) override;
   Int_t SysStat(Int_t, Long_t *id, Long64_t *size, Long_t *flags, Long_t *modified) override;

private:
   TTreeCache *OnlyCache() const;

   std::shared_ptr<SapwoodHandle> fHandle; //!
   std::unique_ptr<ReadAhead> fAhead;      //! if files are read ahead
   Long64_t fPosition = 0;                 //! where SysRead reads next

   ClassDefOverride(TSapwoodFile, 0)
};

#endif
