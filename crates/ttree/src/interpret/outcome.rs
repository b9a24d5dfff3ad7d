//! What is known of a branch: its type, and whether its values can be read.

use crate::decode::{Interpretation, Layout};
use sapwood_core::{Error, Form};
use sapwood_streamer::{Node, Number, Program};
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
    pub(super) fn unsupported(typename: &str, why: &str) -> Self {
        Outcome { typename: typename.into(), meaning: Meaning::Unsupported(why.into()) }
    }

    pub(super) fn group(typename: String) -> Self {
        Outcome { typename, meaning: Meaning::Group }
    }

    /// A branch whose every entry is one `node`, which needs no description of classes.
    pub(super) fn program(typename: String, node: Node) -> Self {
        Outcome::of(Program::new(node, typename))
    }

    /// What was compiled, or why it could not be.
    pub(super) fn compiled(typename: &str, program: Result<Program, Error>) -> Self {
        match program {
            Ok(program) => Outcome { typename: typename.to_owned(), ..Outcome::of(program) },
            Err(error) => Outcome::unsupported(typename, error.message()),
        }
    }

    /// A branch whose every entry a program reads, by the fastest way to run it.
    pub(super) fn of(program: Program) -> Self {
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

/// A column of one 32-bit count per entry.
pub(super) fn count_column(typename: String) -> Outcome {
    let number = Number::Plain(sapwood_core::Primitive::I32);
    let form = Form::Primitive(number.primitive());
    let layout = Layout::Fixed { number, values: 1 };
    Outcome {
        typename,
        meaning: Meaning::Column(Interpretation { form, layout, count_branch: None, skipped: Vec::new() }),
    }
}
