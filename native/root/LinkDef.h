// The class that gets a dictionary.
#pragma link C++ class TSapwoodFile;
