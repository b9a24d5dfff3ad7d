// What the programs that read over a network with ROOT share: a clock, and the start of ROOT.
#pragma once
#include "../writers/measured.h"
#include <TClass.h>
#include <TEnv.h>
#include <TPluginManager.h>
#include <TROOT.h>
#include <TSystem.h>

// Starts the interpreter and loads the dictionaries, like `import` for the readers in Python.
inline void WarmUp()
{
   // By default, ROOT treats a server on this machine as a local file.
   gEnv->SetValue("TFile.ForceRemote", 1);
   // The wheel has no other HTTP client, and TFile::Open does not find this one.
   gPluginMgr->AddHandler("TFile", "^http:", "ROOT::Deprecated::TWebFile", "Net", "TWebFile(const char*,Option_t*)");
   gSystem->Load("libNet");
   gSystem->Load("libNetxNG");
   for (const char *name : {"TFile", "TTree", "TChain", "TBranch", "TLeafF", "TLeafI", "TLeafS", "TLeafB", "TLeafO", "TLeafL"})
      TClass::GetClass(name);
}
