//! Descriptions of classes, as they are written: those of ours, and those that are taken over from other files.

use super::RecordBuffer;
use crate::{Cursor, ElementKind, ObjectSlot, Record, StreamerElement, StreamerInfo, StreamerInfos};
use sapwood_core::{Error, Result};
use std::collections::HashSet;

/// `TStreamerInfo::kIsCompiled`, which every writer sets (root-io-spec WritingObjects §7.1).
const COMPILED: u32 = 1 << 16;
/// `TStreamerInfo::kIgnoreTObjectStreamer`.
const NO_TOBJECT: u32 = 1 << 13;
/// `TStreamerElement::kHasRange`.
const HAS_RANGE: u32 = 1 << 6;
/// What the type code of an STL collection is on file.
const STL_ON_FILE: i32 = 500;
/// Name of the list, among the descriptions, of the rules by which ROOT converts old classes.
const RULES: &str = "listOfRules";

/// The descriptions of the classes that a file holds objects of: each version of each class once.
#[derive(Debug, Clone, Default)]
pub struct Descriptions {
    infos: Vec<Description>,
    rules: Vec<String>,
    met: HashSet<(String, i32, u32)>,
}

/// The description of one version of a class: its bytes, but for tags of classes, which change from one record to
/// another.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Description {
    class_name: String,
    /// `fClassVersion` and `fCheckSum`.
    version: i32,
    checksum: u32,
    /// Version of `TStreamerInfo`, and its members before the elements.
    format: i16,
    head: Vec<u8>,
    /// Version of the `TObjArray`, and its members before the number of elements.
    array_format: i16,
    array_head: Vec<u8>,
    /// Class and bytes of each element.
    elements: Vec<(String, Vec<u8>)>,
}

impl Descriptions {
    /// Takes over all descriptions in the record of another file; `file_version` is of that file's header.
    ///
    /// Their bytes are kept, except in files of before ROOT 3.
    ///
    /// # Errors
    /// `Corrupt` or `Truncated` if the record is broken.
    pub fn add_record(&mut self, record: &Record, file_version: u32) -> Result<()> {
        match read_list(&mut record.cursor()) {
            Ok(Some((infos, rules))) => {
                infos.into_iter().for_each(|info| self.insert(info));
                for rule in rules {
                    if !self.rules.contains(&rule) {
                        self.rules.push(rule);
                    }
                }
                Ok(())
            }
            Ok(None) => {
                let infos = StreamerInfos::parse(record, file_version)?;
                infos.iter().try_for_each(|info| self.add(info))
            }
            Err(error) => Err(record.locate("the streamer information", &error)),
        }
    }

    /// Adds the description of a class, unless it is there.
    ///
    /// # Errors
    /// `Limit` if it is too long.
    pub fn add(&mut self, info: &StreamerInfo) -> Result<()> {
        if !self.has(&info.name, info.version, info.checksum) {
            self.insert(Description::new(info)?);
        }
        Ok(())
    }

    /// True if there is a description of a version of a class.
    pub fn has(&self, class_name: &str, version: i32, checksum: u32) -> bool {
        self.met.contains(&(class_name.to_owned(), version, checksum))
    }

    /// How many there are, and rules.
    pub(super) fn len(&self) -> usize {
        self.infos.len() + self.rules.len()
    }

    /// True if nothing is described.
    pub fn is_empty(&self) -> bool {
        self.infos.is_empty()
    }

    /// Adds all those of `other` that are not there.
    pub fn unite(&mut self, other: &Descriptions) {
        other.infos.iter().for_each(|info| self.insert(info.clone()));
        for rule in &other.rules {
            if !self.rules.contains(rule) {
                self.rules.push(rule.clone());
            }
        }
    }

    fn insert(&mut self, info: Description) {
        if self.met.insert((info.class_name.clone(), info.version, info.checksum)) {
            self.infos.push(info);
        }
    }

    /// Writes the list: the payload of the record of the streamer information.
    pub(super) fn write(&self, buffer: &mut RecordBuffer) {
        let rules = usize::from(!self.rules.is_empty());
        list(buffer, "", self.infos.len() + rules, |buffer| {
            for info in &self.infos {
                buffer.slot("TStreamerInfo", |buffer| info.write(buffer));
                buffer.u8(0); // the option of the entry
            }
            if rules > 0 {
                buffer.slot("TList", |buffer| self.write_rules(buffer));
                buffer.u8(0);
            }
        });
    }

    fn write_rules(&self, buffer: &mut RecordBuffer) {
        list(buffer, RULES, self.rules.len(), |buffer| {
            for rule in &self.rules {
                buffer.slot("TObjString", |buffer| {
                    buffer.object(1, |buffer| {
                        buffer.tobject(0);
                        buffer.tstring(rule);
                    });
                });
                buffer.u8(0);
            }
        });
    }
}

/// Writes a `TList` with what `entries` writes.
fn list(buffer: &mut RecordBuffer, name: &str, count: usize, entries: impl FnOnce(&mut RecordBuffer)) {
    buffer.object(5, |buffer| {
        buffer.tobject(0);
        buffer.tstring(name);
        buffer.count(count);
        entries(buffer);
    });
}

impl Description {
    fn new(info: &StreamerInfo) -> Result<Description> {
        let elements = info.elements.iter().map(element).collect::<Result<_>>()?;
        let bits = COMPILED | if info.without_tobject { NO_TOBJECT } else { 0 };
        let mut head = RecordBuffer::new(0);
        head.tnamed(&info.name, "", bits);
        head.u32(info.checksum);
        head.i32(info.version);
        let mut array_head = RecordBuffer::new(0);
        array_head.tobject(0);
        array_head.tstring("");
        Ok(Description {
            class_name: info.name.clone(),
            version: info.version,
            checksum: info.checksum,
            format: 9,
            head: head.finish()?,
            array_format: 3,
            array_head: array_head.finish()?,
            elements,
        })
    }

    fn write(&self, buffer: &mut RecordBuffer) {
        buffer.object(self.format, |buffer| {
            buffer.bytes(&self.head);
            buffer.slot("TObjArray", |buffer| {
                buffer.object(self.array_format, |buffer| {
                    buffer.bytes(&self.array_head);
                    buffer.count(self.elements.len());
                    buffer.i32(0); // fLowerBound
                    for (class_name, bytes) in &self.elements {
                        buffer.slot(class_name, |buffer| buffer.bytes(bytes));
                    }
                });
            });
        });
    }
}

/// The class and the bytes of an element (root-io-spec StreamerInfo §7-8).
fn element(element: &StreamerElement) -> Result<(String, Vec<u8>)> {
    let mut buffer = RecordBuffer::new(0);
    let mut tail = |version, members: &dyn Fn(&mut RecordBuffer)| {
        buffer.object(version, |buffer| {
            element_base(buffer, element);
            members(buffer);
        });
    };
    let class_name = match &element.kind {
        ElementKind::Base { version, .. } => {
            tail(3, &|buffer| buffer.i32(*version));
            "TStreamerBase"
        }
        ElementKind::BasicPointer(count) | ElementKind::Loop(count) => {
            tail(2, &|buffer| {
                buffer.i32(count.version);
                buffer.tstring(&count.name);
                buffer.tstring(&count.class_name);
            });
            if matches!(element.kind, ElementKind::Loop(_)) {
                "TStreamerLoop"
            } else {
                "TStreamerBasicPointer"
            }
        }
        ElementKind::Stl { stl_type, content_type } => {
            tail(3, &|buffer| {
                buffer.i32(*stl_type);
                buffer.i32(*content_type);
            });
            "TStreamerSTL"
        }
        ElementKind::StlString => {
            buffer.object(2, |buffer| {
                buffer.object(3, |buffer| {
                    element_base(buffer, element);
                    buffer.i32(365); // TDataType's code of std::string, twice
                    buffer.i32(365);
                });
            });
            "TStreamerSTLstring"
        }
        plain => {
            tail(2, &|_| ());
            match plain {
                ElementKind::BasicType => "TStreamerBasicType",
                ElementKind::Object => "TStreamerObject",
                ElementKind::ObjectAny => "TStreamerObjectAny",
                ElementKind::ObjectPointer => "TStreamerObjectPointer",
                ElementKind::ObjectAnyPointer => "TStreamerObjectAnyPointer",
                ElementKind::String => "TStreamerString",
                _ => return Err(Error::unsupported(format!("'{}' exists in memory only", element.name))),
            }
        }
    };
    Ok((class_name.to_owned(), buffer.finish()?))
}

/// Writes the members of `TStreamerElement`.
fn element_base(buffer: &mut RecordBuffer, element: &StreamerElement) {
    let type_code = match (&element.kind, element.type_code) {
        (ElementKind::Stl { .. }, _) if !element.type_name.ends_with('*') => STL_ON_FILE,
        (_, code) => code,
    };
    buffer.object(4, |buffer| {
        buffer.tnamed(&element.name, &element.title, if element.range.is_some() { HAS_RANGE } else { 0 });
        buffer.i32(type_code);
        buffer.i32(element.size);
        buffer.u32(element.array_length);
        buffer.count(element.array_dims.len());
        for extent in element.max_index {
            buffer.i32(extent);
        }
        buffer.tstring(&element.type_name);
    });
}

/// Reads the list of a file as it is; `None` if objects in it have no byte counts (before ROOT 3).
fn read_list(cursor: &mut Cursor<'_>) -> Result<Option<(Vec<Description>, Vec<String>)>> {
    let (mut infos, mut rules) = (Vec::new(), Vec::new());
    let (header, mut list) = cursor.read_object()?;
    if header.version < 5 {
        return Ok(None);
    }
    list.tobject()?;
    list.tstring_bytes()?;
    for _ in 0..list.count(4)? {
        match list.read_object_any()? {
            ObjectSlot::Object { class_name: "TStreamerInfo", mut body, bounded: true, .. } => {
                let Some(info) = read_info(&mut body)? else { return Ok(None) };
                infos.push(info);
            }
            ObjectSlot::Object { class_name: "TList", mut body, bounded: true, .. } => {
                rules.extend(read_rules(&mut body)?);
            }
            ObjectSlot::Object { bounded: false, .. } => return Ok(None),
            _ => {}
        }
        list.tstring_bytes()?; // the option of the entry
    }
    Ok(Some((infos, rules)))
}

fn read_info(body: &mut Cursor<'_>) -> Result<Option<Description>> {
    let (header, mut info) = body.read_object()?;
    let start = info.rest();
    let from = info.position();
    let named = info.tnamed()?;
    let checksum = info.u32()?;
    let version = info.i32()?;
    let head = start.get(..info.position() - from).unwrap_or_default().to_vec();
    let ObjectSlot::Object { mut body, bounded: true, .. } = info.read_object_any()? else { return Ok(None) };
    let (array_header, mut array) = body.read_object()?;
    if array_header.version < 3 {
        return Ok(None);
    }
    let start = array.rest();
    let from = array.position();
    array.tobject()?;
    array.tstring_bytes()?;
    let array_head = start.get(..array.position() - from).unwrap_or_default().to_vec();
    let count = array.count(4)?;
    array.skip(4)?; // fLowerBound
    let mut elements = Vec::new();
    for _ in 0..count {
        match array.read_object_any()? {
            ObjectSlot::Object { class_name, body, bounded: true, .. } => {
                elements.push((class_name.to_owned(), body.rest().to_vec()));
            }
            ObjectSlot::Null => {}
            _ => return Ok(None),
        }
    }
    Ok(Some(Description {
        class_name: named.name,
        version,
        checksum,
        format: header.version,
        head,
        array_format: array_header.version,
        array_head,
        elements,
    }))
}

fn read_rules(body: &mut Cursor<'_>) -> Result<Vec<String>> {
    let (_, mut list) = body.read_object()?;
    list.tobject()?;
    list.tstring_bytes()?;
    let mut rules = Vec::new();
    for _ in 0..list.count(4)? {
        if let ObjectSlot::Object { class_name: "TObjString", mut body, .. } = list.read_object_any()? {
            let (_, mut text) = body.read_object()?;
            text.tobject()?;
            rules.push(text.tstring()?);
        }
        list.tstring_bytes()?;
    }
    Ok(rules)
}
