//! What a branch of plain leaves holds: numbers, arrays, counted arrays, strings, and structures of them.

use super::outcome::{Meaning, Outcome};
use super::title::{dimensions, truncated};
use crate::decode::{Interpretation, Layout};
use crate::meta::{Branch, Leaf, LeafKind};
use sapwood_core::{Form, Primitive};
use sapwood_streamer::{Node, Number, StructureMember};

/// The meaning of a branch without streamer information.
pub(super) fn interpret(index: usize, branch: &Branch) -> Outcome {
    match branch.leaves.as_slice() {
        [] => Outcome::unsupported("unknown", "the branch has no leaf"),
        [leaf] => single(branch, leaf),
        leaves => structure(index, branch, leaves),
    }
}

fn single(branch: &Branch, leaf: &Leaf) -> Outcome {
    if leaf.kind == LeafKind::Text {
        return Outcome::program("char*".into(), Node::TextOrNothing);
    }
    let (number, name) = match number(branch, leaf) {
        Ok(known) => known,
        Err(class) => return Outcome::unsupported(&class, "it needs streamer information"),
    };
    let Some(values) = values(leaf) else {
        return Outcome::unsupported(name, "its dimensions are unknown");
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
    Outcome {
        typename,
        meaning: Meaning::Column(Interpretation { form, layout, count_branch, skipped: Vec::new() }),
    }
}

/// Several leaves share each entry, one after the other (root-io-spec TLeaf §5.1).
fn structure(index: usize, branch: &Branch, leaves: &[Leaf]) -> Outcome {
    let mut members = Vec::with_capacity(leaves.len());
    let mut names = Vec::with_capacity(leaves.len());
    for leaf in leaves {
        let (member, shown) = match member(index, branch, leaf) {
            Ok(known) => known,
            Err(why) => return Outcome::unsupported(&format!("struct with leaf {}", leaf.name), &why),
        };
        names.push(format!("{shown} {}", leaf.name));
        members.push(member);
    }
    let Some(node) = Node::structure(members) else {
        return Outcome::unsupported(
            "struct",
            "a leaf is counted by one that is no integer or stands behind it",
        );
    };
    Outcome::program(format!("struct {{{};}}", names.join("; ")), node)
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
    let (number, number_name) = number(branch, leaf)?;
    let values = values(leaf).ok_or("its dimensions are unknown")?;
    let dims = dimensions([&leaf.title, ""], values);
    let shown: String = dims.iter().map(|size| format!("[{size}]")).collect();
    let list = if count.is_some() { "[]" } else { "" };
    let node = Node::fixed(&dims, Node::Number(number));
    Ok((StructureMember { name, node, count }, format!("{number_name}{list}{shown}")))
}

/// Numbers per entry, or per item of the count; 0 on file means 1 (root-io-spec TLeaf §2).
fn values(leaf: &Leaf) -> Option<usize> {
    usize::try_from(leaf.len).ok().map(|len| len.max(1))
}

/// The number type of a leaf and the name to show, or the class of a leaf that holds none.
fn number(branch: &Branch, leaf: &Leaf) -> Result<(Number, &'static str), String> {
    let (primitive, name) = match (&leaf.kind, leaf.unsigned) {
        (LeafKind::Bool, _) => (Primitive::Bool, "bool"),
        (LeafKind::I8, false) => (Primitive::I8, "int8_t"),
        (LeafKind::I8, true) => (Primitive::U8, "uint8_t"),
        (LeafKind::I16, false) => (Primitive::I16, "int16_t"),
        (LeafKind::I16, true) => (Primitive::U16, "uint16_t"),
        (LeafKind::I32, false) => (Primitive::I32, "int32_t"),
        (LeafKind::I32, true) => (Primitive::U32, "uint32_t"),
        (LeafKind::I64, false) => (Primitive::I64, "int64_t"),
        (LeafKind::I64, true) => (Primitive::U64, "uint64_t"),
        (LeafKind::F32, _) => (Primitive::F32, "float"),
        (LeafKind::F64, _) => (Primitive::F64, "double"),
        (LeafKind::Float16, _) => {
            return Ok((truncated([&leaf.title, &branch.title], false), "Float16_t"));
        }
        (LeafKind::Double32, _) => {
            return Ok((truncated([&leaf.title, &branch.title], true), "Double32_t"));
        }
        (LeafKind::Text, _) => return Err("TLeafC".into()),
        (LeafKind::Element { .. }, _) => return Err("TLeafElement".into()),
        (LeafKind::Object, _) => return Err("TLeafObject".into()),
        (LeafKind::Other(class), _) => return Err(class.clone()),
    };
    Ok((Number::Plain(primitive), name))
}
