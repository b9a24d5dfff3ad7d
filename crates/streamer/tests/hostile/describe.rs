//! Writes class descriptions in the form of the streamer information record.

use sapwood_core::Result;
use sapwood_tfile::write::RecordBuffer;
use sapwood_tfile::{Record, StreamerInfos};

/// The bits of a `TObject` on the heap.
const BITS: u32 = 0x0200_0000;

/// One version of a class.
#[derive(Debug, Clone)]
pub(crate) struct CompiledClass {
    /// Its name.
    pub(crate) name: String,
    /// Its version.
    pub(crate) version: i32,
    /// Its checksum.
    pub(crate) checksum: u32,
    /// Bases and members.
    pub(crate) members: Vec<Member>,
}

/// A base or a member.
#[derive(Debug, Clone)]
pub(crate) struct Member {
    /// The class of the element: `TStreamerBase`, `TStreamerSTL`, …
    pub(crate) element: &'static str,
    /// Its name; that of the class for a base.
    pub(crate) name: String,
    /// Its comment.
    pub(crate) title: String,
    /// `fType`.
    pub(crate) code: i32,
    /// Dimensions of a fixed array.
    pub(crate) dims: Vec<i32>,
    /// The type as declared.
    pub(crate) type_name: String,
    /// The member that counts, and its class.
    pub(crate) counter: (String, String),
    /// `fCtype` of a collection.
    pub(crate) content: i32,
}

impl CompiledClass {
    /// Version 1 of a class.
    pub(crate) fn new(name: &str, members: Vec<Member>) -> CompiledClass {
        CompiledClass { name: name.to_owned(), version: 1, checksum: 1, members }
    }
}

impl Member {
    /// A member described by an element of a class.
    pub(crate) fn new(element: &'static str, name: &str, code: i32, type_name: &str) -> Member {
        Member {
            element,
            name: name.to_owned(),
            title: String::new(),
            code,
            dims: Vec::new(),
            type_name: type_name.to_owned(),
            counter: (String::new(), String::new()),
            content: 61,
        }
    }

    /// A base class.
    pub(crate) fn base(class: &str) -> Member {
        Member::new("TStreamerBase", class, 0, "BASE")
    }

    /// A number.
    pub(crate) fn number(name: &str, code: i32) -> Member {
        Member::new("TStreamerBasicType", name, code, "int")
    }

    /// An object of a class.
    pub(crate) fn object(name: &str, class: &str) -> Member {
        Member::new("TStreamerObjectAny", name, 62, class)
    }

    /// A pointer to an object.
    pub(crate) fn pointer(name: &str, class: &str) -> Member {
        Member::new("TStreamerObjectAnyPointer", name, 69, &format!("{class}*"))
    }

    /// A collection.
    pub(crate) fn collection(name: &str, type_name: &str) -> Member {
        Member::new("TStreamerSTL", name, 300, type_name)
    }

    /// A fixed array of what this is.
    pub(crate) fn array(self, dims: &[i32]) -> Member {
        let code = if self.code < 60 || self.code == 300 { self.code + 20 } else { self.code };
        Member { dims: dims.to_vec(), code, ..self }
    }

    /// With a comment.
    pub(crate) fn titled(self, title: &str) -> Member {
        Member { title: title.to_owned(), ..self }
    }

    /// As many as a member of a class says.
    pub(crate) fn counted(
        element: &'static str,
        name: &str,
        code: i32,
        type_name: &str,
        by: (&str, &str),
    ) -> Member {
        let counter = (by.0.to_owned(), by.1.to_owned());
        Member { counter, ..Member::new(element, name, code, type_name) }
    }
}

/// What a file with these descriptions says.
pub(crate) fn infos(classes: &[CompiledClass]) -> Result<StreamerInfos> {
    let mut buffer = RecordBuffer::new(64);
    buffer.tlist("", classes.len(), |buffer| {
        for class in classes {
            buffer.slot("TStreamerInfo", |buffer| write_class(buffer, class));
            buffer.u8(0);
        }
    });
    let record = Record { payload: buffer.finish()?.into(), key_len: 64, offset: 0, compressed: false };
    StreamerInfos::parse(&record, 62_400)
}

fn write_class(buffer: &mut RecordBuffer, class: &CompiledClass) {
    buffer.object(9, |buffer| {
        buffer.tnamed(&class.name, "", BITS);
        buffer.u32(class.checksum);
        buffer.i32(class.version);
        buffer.slot("TObjArray", |buffer| {
            buffer.tobjarray(class.members.len(), |buffer| {
                for member in &class.members {
                    buffer.slot(member.element, |buffer| write_element(buffer, member));
                }
            });
        });
    });
}

fn write_element(buffer: &mut RecordBuffer, member: &Member) {
    let body = |buffer: &mut RecordBuffer| {
        buffer.object(4, |buffer| {
            buffer.tnamed(&member.name, &member.title, BITS);
            buffer.i32(member.code);
            buffer.i32(0);
            let length = member.dims.iter().fold(1_i32, |all, one| one.wrapping_mul(all));
            buffer.i32(if member.dims.is_empty() { 0 } else { length });
            buffer.count(member.dims.len());
            (0..5).for_each(|at| buffer.i32(member.dims.get(at).copied().unwrap_or(0)));
            buffer.tstring(&member.type_name);
        });
        match member.element {
            "TStreamerBase" => buffer.i32(1),
            "TStreamerBasicPointer" | "TStreamerLoop" => {
                buffer.i32(1);
                buffer.tstring(&member.counter.0);
                buffer.tstring(&member.counter.1);
            }
            "TStreamerSTL" | "TStreamerSTLstring" => {
                buffer.i32(1);
                buffer.i32(member.content);
            }
            _ => {}
        }
    };
    // A string is described as a collection, within one more frame (root-io-spec StreamerInfo §8).
    if member.element == "TStreamerSTLstring" {
        buffer.object(2, |buffer| buffer.object(3, body));
    } else {
        buffer.object(3, body);
    }
}

/// A `TObject`.
pub(crate) fn object_base() -> Vec<u8> {
    vec![0, 1, 0, 0, 0, 0, 2, 0, 0, 0]
}

/// A counted string.
pub(crate) fn text(text: &str) -> Vec<u8> {
    let mut out = match u8::try_from(text.len()) {
        Ok(len) if len < 255 => vec![len],
        _ => [vec![255], word(text.len())].concat(),
    };
    out.extend(text.as_bytes());
    out
}

/// Four bytes.
pub(crate) fn word(value: usize) -> Vec<u8> {
    u32::try_from(value).unwrap_or(u32::MAX).to_be_bytes().to_vec()
}

/// Byte count, version, content.
pub(crate) fn framed(version: i16, body: &[u8]) -> Vec<u8> {
    [&word(0x4000_0000 | (body.len() + 2))[..], &version.to_be_bytes(), body].concat()
}

/// An object behind a pointer, with the name of its class.
pub(crate) fn slot(class: &str, object: &[u8]) -> Vec<u8> {
    let tagged = [&[0xff; 4], class.as_bytes(), &[0], object].concat();
    [word(0x4000_0000 | tagged.len()), tagged].concat()
}
