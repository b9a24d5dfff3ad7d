//! What a branch holds: its C++ type as people write it, and how its bytes become values.

mod element;
mod leaf;
mod title;

use crate::decode::{Interpretation, Layout};
use crate::meta::{BranchKind, Tree};
use sapwood_core::Form;
use sapwood_streamer::{Node, Number};
use sapwood_tfile::StreamerInfos;

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

    /// A branch whose every entry is one `node`, by the fastest way to decode it.
    fn program(typename: String, node: Node) -> Self {
        let form = node.form();
        let layout = match &node {
            Node::Number(number) => Layout::Fixed { number: *number, values: 1 },
            Node::Fixed { .. } => match node.numbers() {
                Some((number, values)) => Layout::Fixed { number, values },
                None => Layout::Program(node),
            },
            Node::FlaggedToEnd(item) => Layout::jagged(item, 1).unwrap_or(Layout::Program(node)),
            Node::ToEnd(item) => Layout::jagged(item, 0).unwrap_or(Layout::Program(node)),
            Node::Framed(content) => match &**content {
                Node::List(item) => Layout::jagged(item, 10).unwrap_or(Layout::Program(node)),
                _ => Layout::Program(node),
            },
            _ => Layout::Program(node),
        };
        Outcome { typename, meaning: Meaning::Column(Interpretation { form, layout, count_branch: None }) }
    }
}

impl Layout {
    fn jagged(item: &Node, header: usize) -> Option<Layout> {
        item.numbers().map(|(number, values)| Layout::Jagged { number, values, header })
    }
}

/// What the branch `index` of `tree` holds. Never fails: what is not understood is
/// [unsupported](Meaning::Unsupported).
pub fn interpret(tree: &Tree, index: usize, streamers: &StreamerInfos) -> Outcome {
    let Some(branch) = tree.branches.get(index) else {
        return Outcome::unsupported("unknown", "there is no such branch");
    };
    let outcome = match &branch.kind {
        BranchKind::Plain if branch.leaves.is_empty() && !branch.children.is_empty() => {
            Outcome::group(String::new())
        }
        BranchKind::Plain => leaf::interpret(branch),
        BranchKind::Element(description) => element::interpret(branch, description, streamers),
        BranchKind::Object { class_name } if branch.children.is_empty() => {
            Outcome::unsupported(class_name, "unsplit objects are not read yet")
        }
        BranchKind::Object { class_name } => Outcome::group(class_name.clone()),
        BranchKind::Other(class) => Outcome::unsupported(class, "branches of this class are not read"),
    };
    if matches!(outcome.meaning, Meaning::Column(_)) && !branch.file_name.is_empty() {
        return Outcome::unsupported(
            &outcome.typename,
            &format!("its baskets lie in another file, {}", branch.file_name),
        );
    }
    outcome
}

/// A column of one 32-bit count per entry.
fn count_column(typename: String) -> Outcome {
    let number = Number::Plain(sapwood_core::Primitive::I32);
    let form = Form::Primitive(number.primitive());
    let layout = Layout::Fixed { number, values: 1 };
    Outcome { typename, meaning: Meaning::Column(Interpretation { form, layout, count_branch: None }) }
}
