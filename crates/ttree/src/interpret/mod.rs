//! What a branch holds: its C++ type as people write it, and how its bytes become values.

mod element;
mod leaf;
mod title;

use crate::decode::{Interpretation, Layout};
use crate::meta::{BranchKind, Tree};
use sapwood_core::{Error, Form};
use sapwood_streamer::{Compiler, Node, Number, Program};
use std::sync::Arc;

/// What a branch holds.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// The C++ type, spelled with the names of `<cstdint>`: `float`, `int32_t[]`, `std::vector<float>`.
    pub typename: String,
    /// What can be done with it.
    pub meaning: Meaning,
}

/// What can be done with a branch.
#[derive(Debug, Clone, PartialEq)]
pub enum Meaning {
    /// It has no data of its own: its sub-branches have.
    Group,
    /// It can be read.
    Column(Interpretation),
    /// It cannot be read, and why.
    Unsupported(String),
}

impl Outcome {
    fn unsupported(typename: &str, why: &str) -> Self {
        Outcome { typename: typename.into(), meaning: Meaning::Unsupported(why.into()) }
    }

    fn group(typename: String) -> Self {
        Outcome { typename, meaning: Meaning::Group }
    }

    /// A branch whose every entry is one `node`, which needs no description of classes.
    fn program(typename: String, node: Node) -> Self {
        Outcome::of(Program::new(node, typename))
    }

    /// What was compiled, or why it could not be.
    fn compiled(typename: &str, program: Result<Program, Error>) -> Self {
        match program {
            Ok(program) => Outcome { typename: typename.to_owned(), ..Outcome::of(program) },
            Err(error) => Outcome::unsupported(typename, error.message()),
        }
    }

    /// A branch whose every entry a program reads, by the fastest way to run it.
    fn of(program: Program) -> Self {
        let Program { form, type_name: typename, skipped, .. } = program.clone();
        let layout = match &program.node {
            Node::Number(number) => Some(Layout::Fixed { number: *number, values: 1 }),
            node @ Node::Fixed { .. } => {
                node.numbers().map(|(number, values)| Layout::Fixed { number, values })
            }
            Node::FlaggedToEnd(item) => Layout::jagged(item.numbers(), 1),
            Node::ToEnd(item) => Layout::jagged(item.numbers(), 0),
            node => Layout::jagged(node.vector_of_numbers(), 10),
        };
        let layout = layout.unwrap_or_else(|| Layout::Program(Arc::new(program)));
        Outcome {
            typename,
            meaning: Meaning::Column(Interpretation { form, layout, count_branch: None, skipped }),
        }
    }
}

impl Layout {
    fn jagged(numbers: Option<(Number, usize)>, header: usize) -> Option<Layout> {
        numbers.map(|(number, values)| Layout::Jagged { number, values, header })
    }
}

/// What the branch `index` of `tree` holds, or of its objects the members with the paths `paths`, such as
/// `fP.fX`; with no path, everything. Never fails: what is not understood is
/// [unsupported](Meaning::Unsupported).
pub fn interpret(tree: &Tree, index: usize, compiler: &Compiler, paths: &[String]) -> Outcome {
    let Some(branch) = tree.branches.get(index) else {
        return Outcome::unsupported("unknown", "there is no such branch");
    };
    match &branch.kind {
        BranchKind::Plain if branch.leaves.is_empty() && !branch.children.is_empty() => {
            Outcome::group(String::new())
        }
        BranchKind::Plain => leaf::interpret(index, branch),
        BranchKind::Element(description) => element::interpret(tree, branch, description, compiler, paths),
        BranchKind::Object { class_name } if branch.children.is_empty() => {
            Outcome::compiled(class_name, compiler.named_object(class_name, paths))
        }
        BranchKind::Object { class_name } => Outcome::group(class_name.clone()),
        BranchKind::Other(class) => Outcome::unsupported(class, "branches of this class are not read"),
    }
}

/// A column of one 32-bit count per entry.
fn count_column(typename: String) -> Outcome {
    let number = Number::Plain(sapwood_core::Primitive::I32);
    let form = Form::Primitive(number.primitive());
    let layout = Layout::Fixed { number, values: 1 };
    Outcome {
        typename,
        meaning: Meaning::Column(Interpretation { form, layout, count_branch: None, skipped: Vec::new() }),
    }
}
