//! The content of a branch of plain leaves: numbers, arrays, counted arrays, strings, and structures of them.

use super::branch_type::{BranchType, Meaning};
use super::title::{dimensions, truncated};
use crate::decode::{Interpretation, Layout};
use crate::meta::{Branch, Leaf, LeafKind};
use sapwood_core::Form;
use sapwood_streamer::{Node, StoredNumber, StructureMember};

/// The type of a branch without streamer information.
pub(super) fn interpret(index: usize, branch: &Branch) -> BranchType {
    match branch.leaves.as_slice() {
        [] => BranchType::unsupported("unknown", "the branch has no leaf"),
        [leaf] => single(branch, leaf),
        leaves => structure(index, branch, leaves),
    }
}

fn single(branch: &Branch, leaf: &Leaf) -> BranchType {
    if leaf.kind == LeafKind::Text {
        return BranchType::program("char*".into(), Node::TextOrNothing);
    }
    let number = match number(branch, leaf) {
        Ok(number) => number,
        Err(class) => return BranchType::unsupported(&class, "it needs streamer information"),
    };
    let name = number.type_name();
    let Some(values) = values(leaf) else {
        return BranchType::unsupported(name, "its dimensions are unknown");
    };
    let dims = dimensions([&leaf.title, &branch.title], values);
    let shown: String = dims.iter().map(|size| format!("[{size}]")).collect();
    let content = Form::fixed(&dims, Form::Primitive(number.primitive()));
    let (typename, form, layout, count_branch) = match leaf.count {
        Some((count_branch, _)) => (
            format!("{name}[]{shown}"),
            Form::list(content),
            Layout::Jagged { number, values, header: 0 },
            Some(count_branch),
        ),
        None => (format!("{name}{shown}"), content, Layout::Fixed { number, values }, None),
    };
    BranchType {
        typename,
        meaning: Meaning::Column(Interpretation { form, layout, count_branch, skipped: Vec::new() }),
    }
}

/// Several leaves share each entry, one after the other (root-io-spec TLeaf §5.1).
fn structure(index: usize, branch: &Branch, leaves: &[Leaf]) -> BranchType {
    let mut members = Vec::with_capacity(leaves.len());
    let mut names = Vec::with_capacity(leaves.len());
    for leaf in leaves {
        let (member, shown) = match member(index, branch, leaf) {
            Ok(known) => known,
            Err(why) => return BranchType::unsupported(&format!("struct with leaf {}", leaf.name), &why),
        };
        names.push(format!("{shown} {}", leaf.name));
        members.push(member);
    }
    let Some(node) = Node::structure(members) else {
        return BranchType::unsupported("struct", "the count of a leaf is not an integer or comes after it");
    };
    BranchType::program(format!("struct {{{};}}", names.join("; ")), node)
}

fn member(index: usize, branch: &Branch, leaf: &Leaf) -> Result<(StructureMember, String), String> {
    let name = leaf.name.clone();
    let count = match leaf.count {
        None => None,
        Some((of_branch, place)) if of_branch == index => Some(place),
        Some(_) => return Err("a structure with arrays that another branch counts".into()),
    };
    if leaf.kind == LeafKind::Text {
        return Ok((StructureMember { name, node: Node::TextOrNothing, count: None }, "char*".into()));
    }
    let number = number(branch, leaf)?;
    let values = values(leaf).ok_or("its dimensions are unknown")?;
    let dims = dimensions([&leaf.title, ""], values);
    let shown: String = dims.iter().map(|size| format!("[{size}]")).collect();
    let list = if count.is_some() { "[]" } else { "" };
    let node = Node::fixed(&dims, Node::Number(number));
    Ok((StructureMember { name, node, count }, format!("{}{list}{shown}", number.type_name())))
}

/// Numbers per entry, or per item of the count; 0 on file means 1 (root-io-spec TLeaf §2).
fn values(leaf: &Leaf) -> Option<usize> {
    usize::try_from(leaf.len).ok().map(|len| len.max(1))
}

/// The number type of a leaf, or the class of a leaf that holds none.
fn number(branch: &Branch, leaf: &Leaf) -> Result<StoredNumber, String> {
    match (&leaf.kind, leaf.primitive()) {
        (_, Some(primitive)) => Ok(StoredNumber::Plain(primitive)),
        (LeafKind::Float16, _) => Ok(truncated([&leaf.title, &branch.title], false)),
        (LeafKind::Double32, _) => Ok(truncated([&leaf.title, &branch.title], true)),
        (LeafKind::Text, _) => Err("TLeafC".into()),
        (LeafKind::Element { .. }, _) => Err("TLeafElement".into()),
        (LeafKind::Other(class), _) => Err(class.clone()),
        _ => Err("TLeafObject".into()),
    }
}
