//! The content of a branch of a split class: a member, a column of members, a count, or only sub-branches.

use super::branch_type::{BranchType, Meaning, count_branch_type};
use crate::meta::{Branch, BranchElement, BranchKind, TTree};
use sapwood_core::Result;
use sapwood_streamer::{Compiler, CppType, Program};
use sapwood_tfile::{StreamerElement, StreamerInfo, StreamerInfos};

/// `TBranchElement::fType` (root-io-spec TBranchElement §3).
mod element_type {
    pub(super) const CLONES_MASTER: i32 = 3;
    pub(super) const COLLECTION_MASTER: i32 = 4;
    pub(super) const CLONES_MEMBER: i32 = 31;
    pub(super) const COLLECTION_MEMBER: i32 = 41;
}

/// The type of a `TBranchElement`.
pub(super) fn interpret(
    tree: &TTree,
    branch: &Branch,
    element: &BranchElement,
    compiler: &Compiler,
    paths: &[String],
) -> BranchType {
    let streamers = compiler.streamers();
    match element.element_type {
        // The class's own streamer wrote the objects, with a header (ReadingEntries §3.5).
        ..0 => {
            let class = &element.class_name;
            return BranchType::compiled(&CppType::parse(class).to_string(), compiler.object(class, paths));
        }
        element_type::CLONES_MASTER => return count_branch_type(),
        _ if !branch.children.is_empty() => return BranchType::group(group_name(element, streamers)),
        element_type::COLLECTION_MASTER => return count_branch_type(),
        _ if element.id < 0 => {
            let class = &element.class_name;
            let typename = CppType::parse(class).to_string();
            return BranchType::compiled(
                &typename,
                compiler.whole(class, described(element, streamers), paths),
            );
        }
        _ => {}
    }
    let index = usize::try_from(element.id).unwrap_or(usize::MAX);
    let Some((info, member)) =
        described(element, streamers).and_then(|info| Some((info, info.elements.get(index)?)))
    else {
        let name = format!("{} of {}", branch.name, element.class_name);
        return BranchType::unsupported(&name, "the file does not describe its class");
    };
    if let CppType::Bitset(_) = CppType::parse(&member.type_name)
        && holds_nothing(branch)
    {
        return BranchType::unsupported(
            &Compiler::type_name(member, ""),
            "ROOT before 6.08/06 lost the bits when it wrote them",
        );
    }
    match element.element_type {
        element_type::CLONES_MEMBER | element_type::COLLECTION_MEMBER => {
            counted(tree, branch, &Compiler::type_name(member, "[]"), compiler.column(info, index, paths))
        }
        _ => counted(tree, branch, &Compiler::type_name(member, ""), compiler.member(info, index, paths)),
    }
}

/// A member, with the branch that counts its items if there is one.
fn counted(tree: &TTree, branch: &Branch, typename: &str, program: Result<Program>) -> BranchType {
    let counter = program.as_ref().ok().and_then(|program| program.counter.clone());
    let mut branch_type = BranchType::compiled(typename, program);
    if let (Some(counter), Meaning::Column(interpretation)) = (counter, &mut branch_type.meaning) {
        interpretation.count_branch = counting_branch(tree, branch, &counter);
        if interpretation.count_branch.is_none() {
            let why = format!("the branch of {counter}, which counts it, is not in the tree");
            return BranchType::unsupported(typename, &why);
        }
    }
    branch_type
}

/// The branch of the member `counter` of the same objects. Only its name identifies it (ReadingEntries §4.1
/// and §4.2).
fn counting_branch(tree: &TTree, branch: &Branch, counter: &str) -> Option<usize> {
    let name = branch.name.split('[').next().unwrap_or_default();
    let name = match name.rsplit_once('.') {
        Some((objects, _)) => format!("{objects}.{counter}"),
        None => counter.to_owned(),
    };
    let siblings = tree.branches.get(branch.parent?)?.children.iter();
    let is_counter = |index: &usize| tree.branches.get(*index).is_some_and(|sibling| sibling.name == name);
    let recorded = || match &branch.kind {
        BranchKind::Element(element) => element.branch_count2,
        _ => None,
    };
    siblings.copied().find(is_counter).or_else(recorded)
}

/// True if the branch has only as many bytes as the keys and offset tables of its baskets. Nothing else
/// distinguishes a bitset that was written from one whose bits were lost (ReadingEntries §3.6).
fn holds_nothing(branch: &Branch) -> bool {
    const KEY: u64 = 150;
    let baskets = branch.baskets.len() as u64;
    let embedded = branch.baskets.iter().any(|basket| basket.embedded.is_some());
    !embedded
        && branch.baskets.are_recorded()
        && branch.total_bytes <= baskets * (KEY + 8) + branch.entries.saturating_mul(4)
}

/// The class of a branch that has sub-branches.
fn group_name(element: &BranchElement, streamers: &StreamerInfos) -> String {
    match member(element, streamers) {
        Some(member) if member.is_base() => member.name.clone(),
        Some(member) => CppType::parse(&member.type_name).to_string(),
        None => CppType::parse(&element.class_name).to_string(),
    }
}

/// The member that a branch holds: `fID` counts in the description of its class (TBranchElement §9 step 4).
fn member<'a>(element: &BranchElement, streamers: &'a StreamerInfos) -> Option<&'a StreamerElement> {
    described(element, streamers)?.elements.get(usize::try_from(element.id).ok()?)
}

/// The description that class, version and checksum of a branch select.
pub(crate) fn described<'a>(
    element: &BranchElement,
    streamers: &'a StreamerInfos,
) -> Option<&'a StreamerInfo> {
    let class = &element.class_name;
    let by_version = || streamers.get(class, element.class_version);
    let by_checksum = || streamers.by_checksum(class, element.checksum);
    if element.class_version > 0 {
        by_version().or_else(by_checksum)
    } else {
        by_checksum().or_else(by_version)
    }
    .or_else(|| streamers.newest(class))
}
