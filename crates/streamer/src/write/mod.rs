//! Objects to bytes: the descriptions of ROOT's classes, and values written as they say.

mod classes;
mod object;

pub use classes::{descriptions_for, known_classes};
pub use object::{Value, put_object};
