//! The Python module `sapwood._core`: arguments, the GIL, errors and buffers. No decisions.
