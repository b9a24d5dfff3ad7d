//! Objects: what a class's description says its bytes are, compiled once to a program, and run into columns.
//!
//! A [`Compiler`] turns the descriptions of a file into [`Program`]s: of a whole [object](Compiler::object), of
//! what an unsplit [branch](Compiler::whole) holds, of a [member](Compiler::member) of a split object, or of a
//! [column](Compiler::column) of them. A program [runs](Program::run) over entries and builds a column.

mod builder;
mod compile;
mod cpp_type;
mod input;
mod node;
mod number;
mod program;
mod run;
mod selection;
mod sum;
pub mod write;

pub use builder::position;
pub use compile::Compiler;
pub use cpp_type::CppType;
pub use input::Input;
pub use node::{Collection, CompiledClass, Node, Pointers, StructureMember};
pub use number::{Number, basic};
pub use program::{ColumnPart, Program, ProgramRun};
pub use selection::Selection;
pub use sum::{add_histogram, is_summable};
