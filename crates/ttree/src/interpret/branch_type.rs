//! The type of a branch, and whether its values can be read.

use crate::decode::{Interpretation, Layout};
use sapwood_core::{Error, Primitive};
use sapwood_streamer::{Node, Program, StoredNumber};
use std::sync::Arc;

/// The type of a branch, and how to read it.
#[derive(Debug, Clone, PartialEq)]
pub struct BranchType {
    /// The C++ type, spelled with the names of `<cstdint>`: `float`, `int32_t[]`, `std::vector<float>`.
    pub typename: String,
    /// How to read it.
    pub meaning: Meaning,
}

/// How to read a branch.
#[derive(Debug, Clone, PartialEq)]
pub enum Meaning {
    /// It has no data of its own: its sub-branches have.
    Group,
    /// It can be read.
    Column(Interpretation),
    /// It cannot be read, and why.
    Unsupported(String),
}

impl BranchType {
    pub(super) fn unsupported(typename: &str, why: &str) -> Self {
        BranchType { typename: typename.into(), meaning: Meaning::Unsupported(why.into()) }
    }

    pub(super) fn group(typename: String) -> Self {
        BranchType { typename, meaning: Meaning::Group }
    }

    /// A branch whose entries are each one `node` that needs no class descriptions.
    pub(super) fn program(typename: String, node: Node) -> Self {
        BranchType::of(Program::new(node, typename))
    }

    /// The compiled program, or the reason why there is none.
    pub(super) fn compiled(typename: &str, program: Result<Program, Error>) -> Self {
        match program {
            Ok(program) => BranchType { typename: typename.to_owned(), ..BranchType::of(program) },
            Err(error) => BranchType::unsupported(typename, error.message()),
        }
    }

    /// A branch whose entries a program reads, with the fastest layout for it.
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
        BranchType {
            typename,
            meaning: Meaning::Column(Interpretation { form, layout, count_branch: None, skipped }),
        }
    }
}

impl Layout {
    fn jagged(numbers: Option<(StoredNumber, usize)>, header: usize) -> Option<Layout> {
        numbers.map(|(number, values)| Layout::Jagged { number, values, header })
    }
}

/// A column of one 32-bit count per entry.
pub(super) fn count_branch_type() -> BranchType {
    let number = StoredNumber::Plain(Primitive::I32);
    BranchType::program(number.type_name().to_owned(), Node::Number(number))
}
