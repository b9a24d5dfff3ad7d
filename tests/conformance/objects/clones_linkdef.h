// The classes of clones.h that get a dictionary.
#ifdef __CLING__
#pragma link off all globals;
#pragma link off all classes;
#pragma link off all functions;
#pragma link C++ nestedclasses;
#pragma link C++ class clones::Point+;
#pragma link C++ class clones::Hit+;
#pragma link C++ class clones::Track+;
#pragma link C++ class clones::Event+;
#pragma link C++ class clones::Holder+;
#endif
