//! Objects: class descriptions are compiled once to a program, which decodes bytes into columns.
//!
//! A [`Compiler`] turns the descriptions of a file into [`Program`]s: for a whole [object](Compiler::object),
//! for an unsplit [branch](Compiler::whole), for a [member](Compiler::member) of a split object, or for a
//! [column](Compiler::column) of members. A program [runs](Program::run) over entries and builds a column.

mod builder;
mod compile;
mod cpp_type;
mod input;
mod node;
mod number;
pub mod parts;
mod program;
mod run;
mod selection;
mod sum;
pub mod write;

pub use builder::position;
pub use compile::Compiler;
pub use cpp_type::CppType;
pub use input::StreamInput;
pub use node::{Collection, CompiledClass, Node, Pointers, StructureMember};
pub use number::{StoredNumber, array_type, basic};
pub use program::{ColumnPart, Program, ProgramRun};
pub use selection::MemberSelection;
pub use sum::{add_histogram, is_summable};
