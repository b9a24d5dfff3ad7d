//! The content of a branch: its C++ type as people write it, and how to decode its bytes.

mod branch_type;
mod element;
mod leaf;
mod title;

pub use branch_type::{BranchType, Meaning};
pub(crate) use element::described;

use crate::meta::{BranchKind, TTree};
use sapwood_streamer::Compiler;

/// The type of the branch `index` of `tree`, restricted to the members with the paths `paths`, such as
/// `fP.fX`; with no path, all members. Never fails: unknown content is [unsupported](Meaning::Unsupported).
pub fn interpret(tree: &TTree, index: usize, compiler: &Compiler, paths: &[String]) -> BranchType {
    let Some(branch) = tree.branches.get(index) else {
        return BranchType::unsupported("unknown", "there is no such branch");
    };
    match &branch.kind {
        BranchKind::Plain if branch.leaves.is_empty() && !branch.children.is_empty() => {
            BranchType::group(String::new())
        }
        BranchKind::Plain => leaf::interpret(index, branch),
        BranchKind::Element(description) => element::interpret(tree, branch, description, compiler, paths),
        BranchKind::Object { class_name } if branch.children.is_empty() => {
            BranchType::compiled(class_name, compiler.named_object(class_name, paths))
        }
        BranchKind::Object { class_name } => BranchType::group(class_name.clone()),
        BranchKind::Other(class) => BranchType::unsupported(class, "branches of this class are not read"),
    }
}
