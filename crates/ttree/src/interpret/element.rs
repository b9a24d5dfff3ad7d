//! What a branch of a split class holds: a member, a column of members, a count, or nothing of its own.

use super::{Outcome, count_column};
use crate::meta::{Branch, BranchElement};
use sapwood_core::Primitive;
use sapwood_streamer::{CppType, Node, Number, basic};
use sapwood_tfile::{ElementKind, StreamerElement, StreamerInfo, StreamerInfos};

/// `TBranchElement::fType` (root-io-spec TBranchElement §3).
mod branch_type {
    pub(super) const CLONES_MASTER: i32 = 3;
    pub(super) const COLLECTION_MASTER: i32 = 4;
    pub(super) const CLONES_MEMBER: i32 = 31;
    pub(super) const COLLECTION_MEMBER: i32 = 41;
}

/// Type codes of elements (root-io-spec ElementTypes §1).
mod code {
    pub(super) const ARRAY: i32 = 20;
    pub(super) const COUNTED: i32 = 40;
    pub(super) const COUNTER: i32 = 6;
    pub(super) const CHAR_STAR: i32 = 7;
    pub(super) const DOUBLE32: i32 = 9;
    pub(super) const BITS: i32 = 15;
    pub(super) const FLOAT16: i32 = 19;
    pub(super) const TSTRING: i32 = 65;
    pub(super) const STL_POINTER: i32 = 71;
    pub(super) const STL: i32 = 300;
    pub(super) const STL_STRING: i32 = 365;
    pub(super) const STREAMER: i32 = 500;
}

/// The meaning of a `TBranchElement`.
pub(super) fn interpret(branch: &Branch, element: &BranchElement, streamers: &StreamerInfos) -> Outcome {
    match element.element_type {
        branch_type::CLONES_MASTER => return count_column("int32_t".into()),
        _ if !branch.children.is_empty() => return Outcome::group(group_name(element, streamers)),
        branch_type::COLLECTION_MASTER => return count_column("int32_t".into()),
        _ if element.id < 0 => return whole(element),
        _ => {}
    }
    let Some(member) = member(element, streamers) else {
        let name = format!("{} of {}", branch.name, element.class_name);
        return Outcome::unsupported(&name, "the file does not describe its class");
    };
    if let CppType::Bitset(_) = CppType::parse(&member.type_name)
        && holds_nothing(branch)
    {
        return Outcome::unsupported(
            &shown_type(member),
            "ROOT before 6.08/06 lost the bits when it wrote them",
        );
    }
    let is_column =
        matches!(element.element_type, branch_type::CLONES_MEMBER | branch_type::COLLECTION_MEMBER);
    match (node_of_member(member, is_column), is_column) {
        (Ok((node, name)), false) => Outcome::program(name, node),
        (Ok((node, name)), true) => Outcome::program(format_column(&name), column(node)),
        (Err(name), false) => Outcome::unsupported(&name, "the type is not read yet"),
        (Err(name), true) => Outcome::unsupported(&format_column(&name), "the type is not read yet"),
    }
}

/// True if the branch has no more bytes than the keys of its baskets and their tables of offsets take.
/// Nothing else tells a bitset that was written from one whose bits were lost (ReadingEntries §3.6).
fn holds_nothing(branch: &Branch) -> bool {
    const KEY: u64 = 150;
    let baskets = branch.baskets.len() as u64;
    let embedded = branch.baskets.iter().any(|basket| basket.embedded.is_some());
    !embedded && branch.total_bytes <= baskets * (KEY + 8) + branch.entries.saturating_mul(4)
}

/// The class of a branch that has sub-branches.
fn group_name(element: &BranchElement, streamers: &StreamerInfos) -> String {
    match member(element, streamers) {
        Some(member) if member.is_base() => member.name.clone(),
        Some(member) => CppType::parse(&member.type_name).to_string(),
        None => CppType::parse(&element.class_name).to_string(),
    }
}

/// The member that a branch holds: `fID` counts in the streamer information that class, version and
/// checksum select (TBranchElement §9 step 4).
fn member<'a>(element: &BranchElement, streamers: &'a StreamerInfos) -> Option<&'a StreamerElement> {
    let index = usize::try_from(element.id).ok()?;
    let class = &element.class_name;
    let by_version = || streamers.get(class, element.class_version);
    let by_checksum = || streamers.by_checksum(class, element.checksum);
    let info: &StreamerInfo = if element.class_version > 0 {
        by_version().or_else(by_checksum)
    } else {
        by_checksum().or_else(by_version)
    }
    .or_else(|| streamers.newest(class))?;
    info.elements.get(index)
}

/// A whole object in one branch: collections and strings need no description.
fn whole(element: &BranchElement) -> Outcome {
    let class = CppType::parse(&element.class_name);
    let name = class.to_string();
    match class {
        CppType::StdString | CppType::RootString => Outcome::program(name, Node::Text),
        CppType::Container(..) | CppType::Bitset(_) => match class.node() {
            Ok(node) => Outcome::program(name, Node::Framed(Box::new(node))),
            Err(unknown) => Outcome::unsupported(&name, &format!("{unknown} is not read yet")),
        },
        _ => Outcome::unsupported(&name, "unsplit objects are not read yet"),
    }
}

/// What a member looks like on file, and the type to show; or the type that cannot be read.
fn node_of_member(member: &StreamerElement, in_column: bool) -> Result<(Node, String), String> {
    let unknown = || shown_type(member);
    let dims: Vec<usize> = member.array_dims.iter().map(|size| *size as usize).collect();
    let brackets: String = dims.iter().map(|size| format!("[{size}]")).collect();
    match (&member.kind, member.type_code) {
        (ElementKind::BasicType, code::CHAR_STAR) => Ok((Node::LongText, "char*".into())),
        (ElementKind::BasicType, code::BITS) => Ok((Node::Bits, "uint32_t".into())),
        (ElementKind::BasicType, _) => {
            let is_array = !dims.is_empty();
            let code = member.type_code - if is_array { code::ARRAY } else { 0 };
            let (number, name) = number(member, code).ok_or_else(unknown)?;
            Ok((Node::fixed(&dims, Node::Number(number)), format!("{name}{brackets}")))
        }
        // In a column each object has a count of its own, in another branch (ReadingEntries §4.2).
        (ElementKind::BasicPointer(_), _) if in_column => Err(unknown()),
        (ElementKind::BasicPointer(_), _) => {
            let (number, name) = number(member, member.type_code - code::COUNTED).ok_or_else(unknown)?;
            let item = Node::fixed(&dims, Node::Number(number));
            Ok((Node::FlaggedToEnd(Box::new(item)), format!("{name}[]{brackets}")))
        }
        (ElementKind::String, code::TSTRING) => Ok((Node::Text, "TString".into())),
        // An array of strings has a frame, a single one has none (ElementTypes §7.2).
        (ElementKind::String, _) => {
            Ok((framed(Node::fixed(&dims, Node::Text)), format!("TString{brackets}")))
        }
        (ElementKind::StlString, _) => {
            Ok((framed(Node::fixed(&dims, Node::Text)), format!("std::string{brackets}")))
        }
        (ElementKind::Stl { .. }, code::STL_STRING) => Ok((framed(Node::Text), "std::string".into())),
        (ElementKind::Stl { .. }, code) if is_collection(code) => {
            let class = CppType::parse(&member.type_name);
            let node = class.node().map_err(|_| unknown())?;
            Ok((framed(Node::fixed(&dims, node)), format!("{class}{brackets}")))
        }
        _ => Err(unknown()),
    }
}

fn is_collection(type_code: i32) -> bool {
    [code::STL, code::STL_POINTER, code::STREAMER]
        .into_iter()
        .any(|collection| type_code == collection || type_code == collection + code::ARRAY)
}

fn framed(node: Node) -> Node {
    Node::Framed(Box::new(node))
}

/// The number of a basic type code, and the name to show.
fn number(member: &StreamerElement, code: i32) -> Option<(Number, &'static str)> {
    match code {
        code::DOUBLE32 => Some((Number::packed(member.range, true), "Double32_t")),
        code::FLOAT16 => Some((Number::packed(member.range, false), "Float16_t")),
        // A counter keeps the code 6 whether or not it has a sign (ElementTypes §2.1).
        code::COUNTER if member.type_name.starts_with('u') || member.type_name.starts_with('U') => {
            Some((Number::Plain(Primitive::U32), "uint32_t"))
        }
        _ => basic(code).map(|(primitive, name)| (Number::Plain(primitive), name)),
    }
}

fn shown_type(member: &StreamerElement) -> String {
    if member.is_base() { member.name.clone() } else { CppType::parse(&member.type_name).to_string() }
}

/// `float[3]` of each item is `float[][3]` of the entry.
fn format_column(name: &str) -> String {
    match name.split_once('[') {
        Some((item, dims)) if !name.contains('<') => format!("{item}[][{dims}"),
        _ => format!("{name}[]"),
    }
}

/// The column that a member of a split collection makes: the items of all objects of the entry, behind one
/// frame if the member has one (root-io-spec ReadingEntries §3.2 and §5.3).
fn column(item: Node) -> Node {
    match item {
        Node::Framed(content) => Node::FramedOrNothing(Box::new(Node::ToEnd(content))),
        item => Node::ToEnd(Box::new(item)),
    }
}
