// The classes of xaod.h that get a dictionary.
#ifdef __CLING__
#pragma link off all globals;
#pragma link off all classes;
#pragma link off all functions;
#pragma link C++ class ElementLinkBase+;
#pragma link C++ class ElementLink<JetContainer>+;
#pragma link C++ class std::vector<ElementLink<JetContainer>>+;
#pragma link C++ class std::vector<std::vector<ElementLink<JetContainer>>>+;
#pragma link C++ class std::vector<std::vector<float>>+;
#endif
