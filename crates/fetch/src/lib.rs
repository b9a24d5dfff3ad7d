//! Which bytes when: planning, merging, windows, read-ahead.
