"""The conventions of experiments and other libraries: CMS, ATLAS, coffea."""
