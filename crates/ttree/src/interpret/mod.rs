//! What a branch holds: its C++ type as people write it, and how its bytes become values.

mod element;
mod leaf;
mod outcome;
mod title;

pub use outcome::{Meaning, Outcome};

use crate::meta::{BranchKind, Tree};
use sapwood_streamer::Compiler;

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
