// The classes of counted.h that get a dictionary.
#ifdef __CLING__
#pragma link off all globals;
#pragma link off all classes;
#pragma link off all functions;
#pragma link C++ nestedclasses;
#pragma link C++ class counted::Wave+;
#pragma link C++ class counted::Limited+;
#pragma link C++ class counted::Spectrum+;
#pragma link C++ class counted::Event+;
#pragma link C++ class counted::Module+;
#pragma link C++ class counted::Detector+;
#pragma link C++ class std::vector<counted::Module>+;
#pragma link C++ class std::vector<counted::Wave>+;
#endif
