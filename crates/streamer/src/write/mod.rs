//! Writes objects: the descriptions of ROOT's classes, and values in the layout that they describe.

mod classes;
mod object;

pub use classes::{descriptions_for, known_classes};
pub use object::{Value, put_object};
