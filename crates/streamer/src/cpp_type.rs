//! C++ type names as files spell them, and how they are shown: `vector<Int_t>` is `std::vector<int32_t>`.

use crate::StoredNumber;
use sapwood_core::Primitive;
use std::fmt;

/// Templates nested deeper than this come from a damaged file.
const DEEPEST: usize = 32;

/// A C++ type, as far as a branch can hold it without streamer information.
#[derive(Debug, Clone, PartialEq)]
pub enum CppType {
    /// A number.
    Number(StoredNumber),
    /// `std::string`.
    StdString,
    /// ROOT's `TString`.
    RootString,
    /// A container of items of one kind: its name without `std::`, and the items.
    Container(&'static str, Box<CppType>),
    /// `std::bitset`, with its size as spelled.
    Bitset(String),
    /// Anything else, as spelled.
    Other(String),
}

/// Containers whose content is a count and the items (root-io-spec Collections §3 and §11).
const CONTAINERS: &str =
    "vector list deque set multiset forward_list unordered_set unordered_multiset RVec VecOps::RVec";

impl CppType {
    /// Parses a type name. A trailing `*` is dropped: a pointer to a collection is stored as the
    /// collection (Collections §11.3).
    pub fn parse(name: &str) -> CppType {
        parse(name.trim().trim_end_matches('*'), DEEPEST)
    }
}

impl fmt::Display for CppType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CppType::Number(number) => f.write_str(number.type_name()),
            CppType::StdString => f.write_str("std::string"),
            CppType::RootString => f.write_str("TString"),
            CppType::Container(name, content) if name.ends_with("RVec") => {
                write!(f, "ROOT::VecOps::RVec<{content}>")
            }
            CppType::Container(name, content) => write!(f, "std::{name}<{content}>"),
            CppType::Bitset(size) => write!(f, "std::bitset<{size}>"),
            CppType::Other(name) => f.write_str(name),
        }
    }
}

fn parse(name: &str, depth: usize) -> CppType {
    let short = bare(name);
    if let Some(primitive) = plain(short) {
        return CppType::Number(StoredNumber::Plain(primitive));
    }
    match short {
        // Inside a collection there is no range to parse: the plain encodings (Collections §3).
        "Double32_t" => return CppType::Number(StoredNumber::FloatAsDouble),
        "Float16_t" => return CppType::Number(StoredNumber::Truncated { bits: 12, double: false }),
        "string" => return CppType::StdString,
        "TString" => return CppType::RootString,
        _ => {}
    }
    let other = || CppType::Other(without_const(name).to_owned());
    let Some(template) = Template::parse(name) else { return other() };
    let first = template.arguments.first().copied().unwrap_or_default();
    if template.head == "bitset" {
        return CppType::Bitset(first.to_owned());
    }
    match CONTAINERS.split(' ').find(|container| *container == template.head) {
        Some(container) if depth > 0 => CppType::Container(container, Box::new(parse(first, depth - 1))),
        _ => other(),
    }
}

/// The number type that C++ or ROOT calls by a name.
fn plain(name: &str) -> Option<Primitive> {
    Some(match name {
        "bool" | "Bool_t" => Primitive::Bool,
        "char" | "Char_t" | "signed char" | "int8_t" => Primitive::I8,
        "unsigned char" | "UChar_t" | "uint8_t" | "byte" => Primitive::U8,
        "short" | "Short_t" | "int16_t" => Primitive::I16,
        "unsigned short" | "UShort_t" | "uint16_t" => Primitive::U16,
        "int" | "Int_t" | "int32_t" => Primitive::I32,
        "unsigned int" | "unsigned" | "UInt_t" | "uint32_t" => Primitive::U32,
        "long" | "Long_t" | "long long" | "Long64_t" | "int64_t" => Primitive::I64,
        "unsigned long" | "ULong_t" | "unsigned long long" | "ULong64_t" | "uint64_t" | "size_t" => {
            Primitive::U64
        }
        "float" | "Float_t" | "Size_t" => Primitive::F32,
        "double" | "Double_t" | "Axis_t" => Primitive::F64,
        _ => return None,
    })
}

/// A template with its arguments: `map<int,float>` is `map` with `int` and `float`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Template<'a> {
    /// The name before the brackets, without `std::` or `ROOT::`.
    pub(crate) head: &'a str,
    pub(crate) arguments: Vec<&'a str>,
}

/// What an STL collection holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ContainerKind {
    /// Items of one type.
    Items,
    /// Pairs of key and value.
    Pairs,
    /// Bits, one per byte.
    Bits,
}

impl<'a> Template<'a> {
    /// Parses a type name without a pointer's star; `None` if it is no template.
    pub(crate) fn parse(name: &'a str) -> Option<Self> {
        let (head, mut rest) = bare(name).strip_suffix('>')?.split_once('<')?;
        let mut arguments = Vec::new();
        loop {
            let first = first_argument(rest)?;
            arguments.push(first);
            let begin = rest.find(first)? + first.len();
            match rest.get(begin..)?.trim_start().strip_prefix(',') {
                Some(after) => rest = after,
                None => return Some(Template { head: head.trim(), arguments }),
            }
        }
    }

    /// Which kind of STL collection this is, if it is one (root-io-spec Collections §1).
    pub(crate) fn container(&self) -> Option<ContainerKind> {
        match self.head {
            "map" | "multimap" | "unordered_map" | "unordered_multimap" => Some(ContainerKind::Pairs),
            "bitset" => Some(ContainerKind::Bits),
            head => CONTAINERS.split(' ').any(|name| name == head).then_some(ContainerKind::Items),
        }
    }
}

pub(crate) fn without_const(name: &str) -> &str {
    let name = name.trim();
    name.strip_prefix("const ").unwrap_or(name).trim()
}

/// A type name without `const`, `std::` and `ROOT::`.
fn bare(name: &str) -> &str {
    let name = without_const(name);
    name.strip_prefix("std::").or_else(|| name.strip_prefix("ROOT::")).unwrap_or(name)
}

/// The first template argument: what stands before the first comma outside of brackets.
fn first_argument(arguments: &str) -> Option<&str> {
    let mut depth = 0usize;
    for (index, character) in arguments.char_indices() {
        match character {
            '<' | '(' => depth += 1,
            '>' | ')' => depth = depth.checked_sub(1)?,
            ',' if depth == 0 => return Some(arguments[..index].trim()),
            _ => {}
        }
    }
    (depth == 0).then(|| arguments.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_shown_in_one_spelling() {
        let shown = |name: &str| CppType::parse(name).to_string();
        assert_eq!(shown("vector<Int_t>"), "std::vector<int32_t>");
        assert_eq!(shown("vector<vector<string> >"), "std::vector<std::vector<std::string>>");
        assert_eq!(shown("vector<float,allocator<float> >"), "std::vector<float>");
        assert_eq!(shown("vector<pair<int,float> >"), "std::vector<pair<int,float>>");
        assert_eq!(shown("std::set<unsigned long>"), "std::set<uint64_t>");
        assert_eq!(shown("TLorentzVector"), "TLorentzVector");
    }

    #[test]
    fn broken_and_deep_names_are_others() {
        assert!(matches!(CppType::parse("vector<float"), CppType::Other(_)));
        assert!(matches!(CppType::parse("vector<a>b>"), CppType::Other(_)));
        let deep = format!("{}int{}", "vector<".repeat(1000), ">".repeat(1000));
        assert!(CppType::parse(&deep).to_string().contains(&"vector<".repeat(900)));
    }
}
