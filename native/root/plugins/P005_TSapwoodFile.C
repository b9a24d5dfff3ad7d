// Files of these protocols are read with sapwood. Found before ROOT's own plugins, which stay for other modes.
void P005_TSapwoodFile()
{
   for (auto scheme : {"sapwood", "https?", "davs?", "roots?", "s3", "gs", "az"})
      gPluginMgr->AddHandler("TFile", TString("^") + scheme + ":", "TSapwoodFile", "@FOLDER@/libSapwoodROOT.so",
                             "Create(const char*,Option_t*,const char*,Int_t,Int_t)");
}
