//! Classes of split objects, described as ROOT describes a C++ class with these members.

use super::schema::{Class, ClassMember, Storage, VectorItem, cpp_name, item_size};
use sapwood_core::{Error, Primitive, Result};
use sapwood_streamer::StoredNumber;
use sapwood_tfile::{ElementKind, StreamerElement, StreamerInfo};

/// The format of `TStreamerInfo` that ROOT writes.
const FORMAT: i16 = 9;
/// The version in the description of a class without `ClassDef` (root-io-spec StreamerInfo §6).
const VERSION: i32 = 1;
/// Added to the type code of a fixed array (root-io-spec ElementTypes §1).
const ARRAY: i32 = 20;
/// Type codes of objects and of collections; `std::string` counts as a collection.
const OBJECT: i32 = 61;
const ANY: i32 = 62;
const STL: i32 = 300;
/// The type code of `std::string` on file (StreamerInfo §10).
const ON_FILE: i32 = 500;
/// `ROOT::kSTLvector`.
const STL_VECTOR: i32 = 1;
/// Most dimensions in a description.
const MAX_DIMS: usize = 5;
/// Sizes in memory on the platform of most ROOT files: 64 bits, libstdc++.
const STRING_SIZE: usize = 32;
const VECTOR_SIZE: usize = 24;
const BITS_SIZE: usize = 40;
const POINTER_SIZE: usize = 8;

impl Class {
    /// The member at the end of a path, with the class that declares it and its index there.
    pub(super) fn member<'a>(&'a self, path: &[usize]) -> Option<(&'a Class, usize, &'a ClassMember)> {
        let (first, rest) = path.split_first()?;
        let member = self.members.get(*first)?;
        match (rest, &member.storage) {
            ([], _) => Some((self, *first, member)),
            (rest, Storage::Object(class)) => class.member(rest),
            _ => None,
        }
    }

    /// Its checksum, as `TClass::GetCheckSum` computes it (root-io-spec StreamerInfo §11).
    pub(super) fn checksum(&self) -> u32 {
        let mut sum = text(0, &self.name);
        for member in &self.members {
            sum = text(text(sum, &member.name), &member.storage.type_name());
            if let Storage::Numbers { dims, .. } = &member.storage {
                sum = dims.iter().fold(sum, |sum, dim| sum.wrapping_mul(3).wrapping_add(*dim as u32));
            }
        }
        sum
    }

    /// Adds the descriptions of the classes of its members, then its own.
    pub(super) fn describe(&self, found: &mut Vec<StreamerInfo>) {
        for member in &self.members {
            if let Storage::Object(class) | Storage::Objects(class) = &member.storage {
                class.describe(found);
            }
        }
        if found.iter().all(|info| info.name != self.name) {
            found.push(StreamerInfo {
                name: self.name.clone(),
                version: VERSION,
                checksum: self.checksum(),
                format: FORMAT,
                without_tobject: false,
                elements: self.members.iter().map(ClassMember::element).collect(),
            });
        }
    }

    /// Adds this class and the classes of its members.
    pub(super) fn classes<'a>(&'a self, found: &mut Vec<&'a Class>) {
        found.push(self);
        for member in &self.members {
            if let Storage::Object(class) | Storage::Objects(class) = &member.storage {
                class.classes(found);
            }
        }
    }

    /// Checks that such a class can exist in ROOT; `listed` if its objects are in a vector.
    pub(super) fn check(&self, listed: bool) -> Result<()> {
        let class = &self.name;
        let fault = |message: String| Err(Error::usage(message));
        if !self.name.split("::").all(is_name) {
            return fault(format!("'{class}' cannot be the name of a class in C++"));
        }
        if self.members.is_empty() {
            return fault(format!("the class {class} has no members"));
        }
        for (place, member) in self.members.iter().enumerate() {
            let name = &member.name;
            if !is_name(name) {
                return fault(format!("'{name}' cannot be the name of a member of {class} in C++"));
            }
            if self.members.iter().take(place).any(|other| other.name == *name) {
                return fault(format!("the class {class} has two members '{name}'"));
            }
            match &member.storage {
                Storage::Numbers { dims, .. } if dims.len() > MAX_DIMS => {
                    return fault(format!("the member {class}::{name} has more than {MAX_DIMS} dimensions"));
                }
                Storage::Numbers { .. } | Storage::Vector(VectorItem::Number(_)) => {}
                Storage::Object(inner) => inner.check(listed)?,
                Storage::StdString | Storage::Vector(_) if !listed => {}
                Storage::Objects(inner) if !listed => inner.check(true)?,
                storage => {
                    let message = format!("{class}::{name}, a {}, cannot be split", storage.type_name());
                    return Err(Error::unsupported(message).hint("write the members as columns of their own"));
                }
            }
        }
        Ok(())
    }

    /// Size and alignment of an object in memory.
    fn layout(&self) -> (usize, usize) {
        let most = self.members.iter().map(|member| member.layout().1).max().unwrap_or(1);
        (self.offset(self.members.len()).next_multiple_of(most), most)
    }

    /// The offset of a member in an object in memory; beyond the last member, the end.
    fn offset(&self, number: usize) -> usize {
        let mut end = 0_usize;
        for (place, member) in self.members.iter().enumerate() {
            let (size, align) = member.layout();
            end = end.next_multiple_of(align);
            if place == number {
                break;
            }
            end = end.saturating_add(size);
        }
        end
    }

    /// The offset of the object that contains the last member of a path.
    pub(super) fn offset_of_holder(&self, path: &[usize]) -> usize {
        match path {
            [first, rest @ ..] if !rest.is_empty() => {
                let inner = self.members.get(*first).map_or(0, |member| match &member.storage {
                    Storage::Object(class) => class.offset_of_holder(rest),
                    _ => 0,
                });
                self.offset(*first).saturating_add(inner)
            }
            _ => 0,
        }
    }
}

impl ClassMember {
    fn layout(&self) -> (usize, usize) {
        match &self.storage {
            Storage::Numbers { primitive, dims } => (item_size(*primitive, dims), primitive.size()),
            Storage::StdString => (STRING_SIZE, POINTER_SIZE),
            Storage::Object(class) => class.layout(),
            Storage::Vector(VectorItem::Number(Primitive::Bool)) => (BITS_SIZE, POINTER_SIZE),
            _ => (VECTOR_SIZE, POINTER_SIZE),
        }
    }

    /// The type code in the writer's memory, which branches also state (root-io-spec TBranchElement §5.2).
    pub(super) fn type_code(&self) -> i32 {
        match &self.storage {
            Storage::Numbers { primitive, dims } => {
                StoredNumber::Plain(*primitive).type_code() + if dims.is_empty() { 0 } else { ARRAY }
            }
            Storage::Object(_) => ANY,
            _ => STL,
        }
    }

    fn element(&self) -> StreamerElement {
        let mut title = String::new();
        let mut array_dims = Vec::new();
        let (kind, type_code, type_name) = match &self.storage {
            Storage::Numbers { primitive, dims } => {
                array_dims.extend(dims.iter().map(|dim| *dim as u32));
                (ElementKind::BasicType, self.type_code(), declared_name(*primitive).to_owned())
            }
            Storage::StdString => (ElementKind::StlString, ON_FILE, self.storage.type_name()),
            Storage::Object(class) => (ElementKind::ObjectAny, ANY, class.name.clone()),
            storage => {
                let content_type = match storage {
                    Storage::Vector(VectorItem::Number(primitive)) => {
                        StoredNumber::Plain(*primitive).type_code()
                    }
                    _ => OBJECT,
                };
                if let Storage::Objects(class) = storage {
                    title = format!(" ({})", class.name);
                }
                let type_name = storage.type_name().replace("ULong64_t", "unsigned long long");
                let type_name = type_name.replace("Long64_t", "long long");
                (ElementKind::Stl { stl_type: STL_VECTOR, content_type }, STL, type_name)
            }
        };
        StreamerElement {
            title,
            size: self.layout().0 as i32,
            array_length: if array_dims.is_empty() { 0 } else { array_dims.iter().product() },
            array_dims,
            ..StreamerElement::new(&self.name, kind, type_code, &type_name)
        }
    }
}

/// The name of a number type in the declaration of a member.
fn declared_name(primitive: Primitive) -> &'static str {
    match primitive {
        Primitive::I64 => "long long",
        Primitive::U64 => "unsigned long long",
        _ => cpp_name(primitive),
    }
}

/// Adds a text to a checksum.
pub(super) fn text(sum: u32, text: &str) -> u32 {
    text.bytes().fold(sum, |sum, byte| sum.wrapping_mul(3).wrapping_add(u32::from(byte)))
}

/// True for a C++ identifier.
fn is_name(name: &str) -> bool {
    let mut letters = name.chars();
    letters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
        && letters.all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
        && !KEYWORDS.split(' ').any(|keyword| keyword == name)
}

/// The keywords of C++.
const KEYWORDS: &str = "alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t \
    char32_t class compl concept const consteval constexpr constinit const_cast continue co_await \
    co_return co_yield decltype default delete do double dynamic_cast else enum explicit export extern \
    false float for friend goto if inline int long mutable namespace new noexcept not not_eq nullptr \
    operator or or_eq private protected public register reinterpret_cast requires return short signed \
    sizeof static static_assert static_cast struct switch template this thread_local throw true try \
    typedef typeid typename union unsigned using virtual void volatile wchar_t while xor xor_eq";

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    fn class(name: &str, members: &[(&str, Storage)]) -> Class {
        let members = members
            .iter()
            .map(|(name, storage)| ClassMember { name: (*name).to_owned(), storage: storage.clone() });
        Class { name: name.to_owned(), members: members.collect() }
    }

    fn number(primitive: Primitive, dims: &[usize]) -> Storage {
        Storage::Numbers { primitive, dims: dims.to_vec() }
    }

    fn deep() -> Class {
        let momentum =
            class("P4", &[("pt", number(Primitive::F32, &[])), ("e", number(Primitive::F64, &[]))]);
        class("Deep", &[("a", number(Primitive::I32, &[])), ("p4", Storage::Object(Arc::new(momentum)))])
    }

    #[test]
    fn checksums_and_sizes_are_those_of_root() {
        let vector = |primitive| Storage::Vector(VectorItem::Number(primitive));
        let deep = deep();
        assert_eq!((deep.checksum(), deep.layout()), (0x0141_5eea, (24, 8)));
        let arrays = [
            ("w", number(Primitive::F32, &[2])),
            ("ids", vector(Primitive::I32)),
            ("on", vector(Primitive::Bool)),
            ("deep", Storage::Object(Arc::new(deep))),
        ];
        let hit = class("Hit", &arrays);
        assert_eq!((hit.offset(2), hit.offset_of_holder(&[3, 1, 0]), hit.layout().0), (32, 80, 96));
    }

    #[test]
    fn what_root_cannot_know_is_refused() {
        let with = |storage| class("C", &[("x", storage)]);
        assert!(with(Storage::StdString).check(false).is_ok());
        assert!(with(Storage::StdString).check(true).is_err());
        assert!(with(Storage::Objects(Arc::new(deep()))).check(true).is_err());
        assert!(with(Storage::Text).check(false).is_err());
        assert!(class("class", &[("x", Storage::StdString)]).check(false).is_err());
        assert!(class("a::B", &[("x y", Storage::StdString)]).check(false).is_err());
        assert!(class("C", &[]).check(false).is_err());
        let twice = [("x", Storage::StdString), ("x", Storage::StdString)];
        assert!(class("C", &twice).check(false).unwrap_err().to_string().contains("two members"));
    }
}
