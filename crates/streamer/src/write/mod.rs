//! Objects to bytes: the descriptions of ROOT's classes, and values written as they say.

mod classes;

pub use classes::{descriptions_for, known_classes};
