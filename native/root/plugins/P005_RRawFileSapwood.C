// RNTuples at these protocols are read with sapwood: those that ROOT's raw files know.
void P005_RRawFileSapwood()
{
   for (auto scheme : {"https?", "roots?"})
      gPluginMgr->AddHandler("ROOT::Internal::RRawFile", TString("^") + scheme + ":", "TSapwoodFile",
                             "@FOLDER@/libSapwoodROOT.so",
                             "CreateRaw(std::string_view,ROOT::Internal::RRawFile::ROptions)");
}
