//! ROOT's compression blocks.
