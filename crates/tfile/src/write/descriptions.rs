//! The class descriptions of a new file: own ones, and ones copied from other files.

use super::RecordBuffer;
use crate::elements::HAS_RANGE;
use crate::streamers::NO_TOBJECT;
use crate::{ElementKind, PointerTarget, Record, StreamerElement, StreamerInfo, StreamerInfos, Walker};
use sapwood_core::{Error, ErrorKind, Result};
use std::collections::HashSet;

/// `TStreamerInfo::kIsCompiled`, which every writer sets (root-io-spec WritingObjects §7.1).
const COMPILED: u32 = 1 << 16;
/// The type code of an STL collection on file.
const STL_ON_FILE: i32 = 500;
/// Name of the list of rules by which ROOT converts old classes, stored among the descriptions.
const RULES: &str = "listOfRules";

/// The descriptions of the classes of a file's objects: one per class version.
#[derive(Debug, Clone, Default)]
pub struct Descriptions {
    infos: Vec<Description>,
    rules: Vec<String>,
    met: HashSet<(String, i32, u32)>,
}

/// The description of one version of a class: its bytes without class tags, which differ between records.
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
    /// Copies all descriptions from the record of another file; `file_version` is the version in its header.
    ///
    /// Their bytes are kept, except in files older than ROOT 3.
    ///
    /// # Errors
    /// `Corrupt` or `Truncated` if the record is broken.
    pub fn add_record(&mut self, record: &Record, file_version: u32) -> Result<()> {
        match read_list(&mut Walker::new(&record.payload, record.key_len)) {
            Ok((infos, rules)) => {
                infos.into_iter().for_each(|info| self.insert(info));
                rules.into_iter().for_each(|rule| self.insert_rule(rule));
                Ok(())
            }
            Err(error) if error.kind() == ErrorKind::Unsupported => {
                let infos = StreamerInfos::parse(record, file_version)?;
                infos.iter().try_for_each(|info| self.add(info))
            }
            Err(error) => Err(record.locate("the streamer information", &error)),
        }
    }

    /// Adds the description of a class, unless it is present.
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

    /// Number of descriptions and rules.
    pub(super) fn len(&self) -> usize {
        self.infos.len() + self.rules.len()
    }

    /// True if nothing is described.
    pub fn is_empty(&self) -> bool {
        self.infos.is_empty()
    }

    /// Adds all descriptions of `other` that are missing.
    pub fn unite(&mut self, other: &Descriptions) {
        other.infos.iter().for_each(|info| self.insert(info.clone()));
        other.rules.iter().for_each(|rule| self.insert_rule(rule.clone()));
    }

    fn insert(&mut self, info: Description) {
        if self.met.insert((info.class_name.clone(), info.version, info.checksum)) {
            self.infos.push(info);
        }
    }

    fn insert_rule(&mut self, rule: String) {
        if !self.rules.contains(&rule) {
            self.rules.push(rule);
        }
    }

    /// Writes the list: the payload of the record of the streamer information.
    pub(super) fn write(&self, buffer: &mut RecordBuffer) {
        let rules = usize::from(!self.rules.is_empty());
        buffer.tlist("", self.infos.len() + rules, |buffer| {
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
        buffer.tlist(RULES, self.rules.len(), |buffer| {
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
        let mut max_index = [0; 5];
        max_index.iter_mut().zip(&element.array_dims).for_each(|(index, dim)| *index = *dim);
        if let ElementKind::Base { checksum, .. } = element.kind {
            max_index[1] = checksum; // StreamerInfo §9
        }
        max_index.into_iter().for_each(|index| buffer.u32(index));
        buffer.tstring(&element.type_name);
    });
}

/// Reads the list of a file as it is; `Unsupported` if objects in it have no byte counts (before ROOT 3).
fn read_list(walker: &mut Walker<'_>) -> Result<(Vec<Description>, Vec<String>)> {
    let (mut infos, mut rules) = (Vec::new(), Vec::new());
    if walker.cursor.clone().read_header()?.version < 5 {
        return Err(too_old());
    }
    walker.list("TList", |walker| {
        walker.pointer(|walker, pointer, class| {
            match class {
                _ if !pointer.framed => return Err(too_old()),
                "TStreamerInfo" => infos.push(read_info(walker)?),
                "TList" => read_rules(walker, &mut rules)?,
                _ => {}
            }
            Ok(())
        })
    })?;
    Ok((infos, rules))
}

fn read_info(walker: &mut Walker<'_>) -> Result<Description> {
    let format = walker.open()?.version;
    let start = walker.position();
    let named = walker.cursor.tnamed()?;
    let checksum = walker.cursor.u32()?;
    let version = walker.cursor.i32()?;
    let bytes = walker.cursor.payload();
    let part = |from: usize, to: usize| bytes.get(from..to).unwrap_or_default().to_vec();
    let head = part(start, walker.position());
    let (mut array_head, mut elements) = (None, Vec::new());
    walker.pointer(|walker, pointer, _| {
        let mut array = walker.cursor.clone();
        let array_format = array.read_header()?.version;
        if !pointer.framed || array_format < 3 {
            return Err(too_old());
        }
        let (count_at, _) = walker.array(|walker| {
            let element = walker.pointer(|walker, pointer, class| {
                elements.push((class.to_owned(), walker.cursor.rest().to_vec()));
                if pointer.framed { Ok(()) } else { Err(too_old()) }
            })?;
            match element.target {
                PointerTarget::Null | PointerTarget::Object { .. } => Ok(element),
                _ => Err(too_old()),
            }
        })?;
        array_head = Some((array_format, part(array.position(), count_at)));
        Ok(())
    })?;
    let (array_format, array_head) = array_head.ok_or_else(too_old)?;
    let class_name = named.name;
    Ok(Description { class_name, version, checksum, format, head, array_format, array_head, elements })
}

fn read_rules(walker: &mut Walker<'_>, rules: &mut Vec<String>) -> Result<()> {
    walker.list("TList", |walker| {
        walker.pointer(|walker, _, class| {
            if class == "TObjString" {
                walker.open()?;
                walker.cursor.tobject()?;
                rules.push(walker.cursor.tstring()?);
            }
            Ok(())
        })
    })
}

fn too_old() -> Error {
    Error::unsupported("class descriptions of a ROOT version before 3")
}
