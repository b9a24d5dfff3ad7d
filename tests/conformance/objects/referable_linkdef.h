// The classes of referable.h that get a dictionary.
#ifdef __CLING__
#pragma link off all globals;
#pragma link off all classes;
#pragma link off all functions;
#pragma link C++ nestedclasses;
#pragma link C++ class referable::Hit+;
#pragma link C++ class referable::Digi+;
#pragma link C++ class referable::Label+;
#pragma link C++ class referable::Point+;
#pragma link C++ class referable::Pad+;
#pragma link C++ class referable::Bare+;
#pragma link C++ class referable::Holder+;
#pragma link C++ class referable::Cell+;
#pragma link C++ class referable::Event+;
#pragma link C++ class referable::Run+;
#pragma link C++ class std::vector<referable::Hit>+;
#pragma link C++ class std::vector<referable::Digi>+;
#pragma link C++ class std::vector<referable::Label>+;
#pragma link C++ class std::vector<referable::Pad>+;
#pragma link C++ class std::vector<referable::Cell>+;
#pragma link C++ class std::vector<TNamed>+;
#pragma link C++ class std::vector<TVector3>+;
#endif
