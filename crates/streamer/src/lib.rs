//! Objects: what a class's description says its bytes are, compiled once to a program, and run into columns.

mod builder;
mod cpp_type;
mod node;
mod number;

pub use builder::{Builder, position};
pub use cpp_type::CppType;
pub use node::{Input, Node};
pub use number::{Number, basic};
