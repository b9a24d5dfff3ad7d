//! Short forms for class descriptions and bytes.

use sapwood_core::{Column, Error, Form, Primitive};
use sapwood_streamer::Compiler;
use sapwood_tfile::{Count, ElementKind, StreamerElement, StreamerInfo};

pub(crate) fn element(name: &str, kind: ElementKind, type_code: i32, type_name: &str) -> StreamerElement {
    StreamerElement::new(name, kind, type_code, type_name)
}

pub(crate) fn int(name: &str) -> StreamerElement {
    element(name, ElementKind::BasicType, 3, "int")
}

pub(crate) fn float(name: &str) -> StreamerElement {
    element(name, ElementKind::BasicType, 5, "float")
}

pub(crate) fn base(name: &str, version: i32) -> StreamerElement {
    let code = if name == "TObject" { 66 } else { 0 };
    element(name, ElementKind::Base { version, checksum: 0 }, code, "BASE")
}

pub(crate) fn object(name: &str, class: &str) -> StreamerElement {
    element(name, ElementKind::ObjectAny, 62, class)
}

pub(crate) fn pointer(name: &str, class: &str) -> StreamerElement {
    element(name, ElementKind::ObjectAnyPointer, 69, &format!("{class}*"))
}

pub(crate) fn stl(name: &str, type_name: &str) -> StreamerElement {
    element(name, ElementKind::Stl { stl_type: 1, content_type: 61 }, 300, type_name)
}

pub(crate) fn text(name: &str) -> StreamerElement {
    element(name, ElementKind::String, 65, "TString")
}

/// A counted pointer to floats.
pub(crate) fn floats(name: &str, counter: &str, class: &str) -> StreamerElement {
    let count = Count { name: counter.into(), class_name: class.into(), version: 1 };
    element(name, ElementKind::BasicPointer(count), 45, "float*")
}

pub(crate) fn class(name: &str, version: i32, elements: Vec<StreamerElement>) -> StreamerInfo {
    let checksum = name.bytes().fold(0x0100_0000, |sum: u32, byte| sum.wrapping_mul(31) + u32::from(byte));
    StreamerInfo { name: name.into(), version, checksum, format: 10, without_tobject: false, elements }
}

pub(crate) fn compiler(classes: Vec<StreamerInfo>) -> Compiler {
    Compiler::new(classes.into_iter().collect())
}

/// Runs the program of a class on one record behind a key of 0 bytes.
pub(crate) fn read(classes: Vec<StreamerInfo>, name: &str, payload: &[u8]) -> Result<Column, Error> {
    compiler(classes).object(name, &[])?.read_object(payload, 0).map(|(column, _)| column)
}

/// Parts of a payload, one after the other.
pub(crate) fn bytes(parts: &[&[u8]]) -> Vec<u8> {
    parts.concat()
}

/// An object of a version: byte count, version, content.
pub(crate) fn framed(version: u16, content: &[u8]) -> Vec<u8> {
    let count = 0x4000_0000 | u32::try_from(content.len() + 2).unwrap();
    bytes(&[&count.to_be_bytes(), &version.to_be_bytes(), content])
}

pub(crate) fn ints(values: &[i32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_be_bytes()).collect()
}

/// The names of a record's fields, however deep in lists and options it lies.
pub(crate) fn names(form: &Form) -> Vec<&str> {
    match form {
        Form::Record { fields, .. } => fields.iter().map(|field| field.name.as_str()).collect(),
        Form::List(content) | Form::Option(content) | Form::Fixed { content, .. } => names(content),
        _ => Vec::new(),
    }
}

pub(crate) const I32: Form = Form::Primitive(Primitive::I32);
