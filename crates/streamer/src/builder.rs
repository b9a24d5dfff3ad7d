//! The output of a decoding program, which grows entry by entry: one per basket, joined at the end.

mod form;
mod gaps;

use crate::{Node, StoredNumber};
use sapwood_core::{Error, Primitive, Result};

/// Growing buffers in the shape of what a [`Node`] builds.
#[derive(Debug)]
pub(crate) enum Builder {
    /// Values as in memory.
    Numbers { size: usize, bytes: Vec<u8> },
    /// Lists of `size` items each.
    Fixed { size: usize, length: usize, content: Box<Builder> },
    /// Lists; offsets begin with 0.
    List { offsets: Vec<i64>, content: Box<Builder> },
    /// Strings; offsets begin with 0.
    Text { offsets: Vec<i64>, bytes: Vec<u8> },
    /// Fields side by side, with or without names.
    Record { length: usize, fields: Vec<Builder> },
    /// Items whose class is named in the data.
    Any(Box<Any>),
}

/// Items of classes that only the data name.
#[derive(Debug)]
pub(crate) struct Any {
    /// Items are pointers, which may be null: the form has an option even if none is.
    nullable: bool,
    /// For each item its index in `alternatives`, or -1 for null.
    pub(crate) tags: Vec<i8>,
    pub(crate) alternatives: Vec<Alternative>,
}

/// One of the classes that items have.
#[derive(Debug)]
pub(crate) struct Alternative {
    pub(crate) class: String,
    pub(crate) node: Node,
    /// Levels of the form that the node builds.
    pub(crate) depth: usize,
    pub(crate) builder: Builder,
}

/// The bytes of one finished buffer.
#[derive(Debug)]
pub(crate) enum Raw {
    Bytes(Vec<u8>),
    Words(Vec<i64>),
    Tags(Vec<i8>),
}

impl Raw {
    pub(crate) fn as_bytes(&self) -> &[u8] {
        match self {
            Raw::Bytes(bytes) => bytes,
            Raw::Words(words) => bytemuck::cast_slice(words),
            Raw::Tags(tags) => bytemuck::cast_slice(tags),
        }
    }
}

impl Builder {
    /// An empty builder for what `node` builds.
    pub(crate) fn new(node: &Node) -> Self {
        let fields = |nodes: &mut dyn Iterator<Item = &Node>| Builder::Record {
            length: 0,
            fields: nodes.map(Builder::new).collect(),
        };
        match node {
            Node::Number(number) => Builder::numbers(number.size()),
            Node::Bits => Builder::numbers(4),
            Node::Text | Node::TextOrNothing | Node::LongText => {
                Builder::Text { offsets: vec![0], bytes: Vec::new() }
            }
            Node::Fixed { size, content } => {
                Builder::Fixed { size: *size, length: 0, content: Box::new(Builder::new(content)) }
            }
            Node::Framed(content) | Node::FramedOrNothing(content) | Node::Named(content) => {
                Builder::new(content)
            }
            Node::Record(named) => fields(&mut named.iter().map(|(_, node)| node)),
            Node::Tuple(nodes) => fields(&mut nodes.iter()),
            Node::Object(class) | Node::Members(class, _) => {
                fields(&mut class.fields.iter().map(|field| &field.node))
            }
            Node::Ref => fields(&mut [Node::Number(StoredNumber::Plain(Primitive::U32))].iter()),
            Node::RefArray => fields(&mut Node::ref_array().iter().map(|(_, node)| node)),
            Node::Symmetric(class, number, _) => {
                let elements = Node::List(Box::new(Node::Number(*number)));
                let members = class.fields.iter().map(|field| &field.node);
                fields(&mut members.chain([&elements]))
            }
            Node::Pointer(_) | Node::PointerOrObject(..) => Builder::any(true),
            Node::Later(..) => Builder::any(false),
            Node::Nothing | Node::TObject | Node::Opaque(_) | Node::Missing(_) => {
                Builder::Record { length: 0, fields: Vec::new() }
            }
            other => match other.items() {
                Some(content) => {
                    Builder::List { offsets: vec![0], content: Box::new(Builder::new(&content)) }
                }
                None => Builder::Record { length: 0, fields: Vec::new() },
            },
        }
    }

    fn numbers(size: usize) -> Self {
        Builder::Numbers { size, bytes: Vec::new() }
    }

    fn any(nullable: bool) -> Self {
        Builder::Any(Box::new(Any { nullable, tags: Vec::new(), alternatives: Vec::new() }))
    }

    /// Number of items.
    pub(crate) fn length(&self) -> usize {
        match self {
            Builder::Numbers { size, bytes } => bytes.len() / size,
            Builder::Fixed { length, .. } | Builder::Record { length, .. } => *length,
            Builder::List { offsets, .. } | Builder::Text { offsets, .. } => offsets.len() - 1,
            Builder::Any(any) => any.tags.len(),
        }
    }

    /// The bytes of the numbers, before `items` items are added: numbers or fixed arrays of them.
    #[inline]
    pub(crate) fn numbers_mut(&mut self, items: usize) -> Result<&mut Vec<u8>> {
        match self {
            Builder::Numbers { bytes, .. } => Ok(bytes),
            Builder::Fixed { size, length, content } => {
                *length += items;
                content.numbers_mut(items.saturating_mul(*size))
            }
            _ => Err(misfit()),
        }
    }

    /// Offsets and content of the lists, before `items` items are added: fixed arrays of lists count as the
    /// lists they hold. The caller then adds that many lists, times the sizes of the arrays.
    pub(crate) fn lists_mut(&mut self, items: usize) -> Result<(&mut Vec<i64>, &mut Builder)> {
        match self {
            Builder::List { offsets, content } => Ok((offsets, content)),
            Builder::Fixed { size, length, content } => {
                *length += items;
                content.lists_mut(items.saturating_mul(*size))
            }
            _ => Err(misfit()),
        }
    }

    /// Adds `items` zeros, or empty lists and strings, or nulls.
    pub(crate) fn push_default(&mut self, items: usize) {
        match self {
            Builder::Numbers { size, bytes } => bytes.resize(bytes.len() + items * *size, 0),
            Builder::Fixed { size, length, content } => {
                *length += items;
                content.push_default(items.saturating_mul(*size));
            }
            Builder::List { offsets, content } => {
                let end = position(content.length());
                offsets.resize(offsets.len() + items, end);
            }
            Builder::Text { offsets, bytes } => offsets.resize(offsets.len() + items, position(bytes.len())),
            Builder::Record { length, fields } => {
                *length += items;
                fields.iter_mut().for_each(|field| field.push_default(items));
            }
            Builder::Any(any) => any.tags.resize(any.tags.len() + items, -1),
        }
    }

    /// Bytes that [`push_default`](Builder::push_default) adds for one item.
    pub(crate) fn default_size(&self) -> usize {
        match self {
            Builder::Numbers { size, .. } => *size,
            Builder::Fixed { size, content, .. } => size.saturating_mul(content.default_size()),
            Builder::List { .. } | Builder::Text { .. } => 8,
            // Objects without members count, too: there could be any number of them.
            Builder::Record { fields, .. } => {
                fields.iter().map(Builder::default_size).fold(1, usize::saturating_add)
            }
            Builder::Any(_) => 1,
        }
    }

    /// Hands over all buffers, depth first, as [`sapwood_core::Column::join`] takes them.
    pub(crate) fn finish(self, out: &mut Vec<Raw>) {
        match self {
            Builder::Numbers { bytes, .. } => out.push(Raw::Bytes(bytes)),
            Builder::Text { offsets, bytes } => out.extend([Raw::Words(offsets), Raw::Bytes(bytes)]),
            Builder::List { offsets, content } => {
                out.push(Raw::Words(offsets));
                content.finish(out);
            }
            Builder::Fixed { content, .. } => content.finish(out),
            Builder::Record { fields, .. } => fields.into_iter().for_each(|field| field.finish(out)),
            Builder::Any(any) => any.finish(out),
        }
    }
}

impl Any {
    /// True if items can be null.
    pub(crate) fn is_option(&self) -> bool {
        self.nullable || self.tags.contains(&-1)
    }

    fn finish(self, out: &mut Vec<Raw>) {
        if self.is_option() {
            let mut next = 0;
            let positions = self.tags.iter().map(|tag| {
                let position = if *tag < 0 { -1 } else { next };
                next += i64::from(*tag >= 0);
                position
            });
            out.push(Raw::Words(positions.collect()));
        }
        if self.alternatives.len() > 1 {
            let mut next = [0_i64; 128];
            let tags: Vec<i8> = self.tags.into_iter().filter(|tag| *tag >= 0).collect();
            let positions = tags.iter().map(|tag| {
                let next = &mut next[usize::from(tag.unsigned_abs()) % 128];
                *next += 1;
                *next - 1
            });
            let positions = positions.collect();
            out.extend([Raw::Tags(tags), Raw::Words(positions)]);
        }
        self.alternatives.into_iter().for_each(|one| one.builder.finish(out));
    }
}

/// The error of a program and an output that do not match.
#[cold]
pub(crate) fn misfit() -> Error {
    Error::corrupt("a decoding program does not fit its output")
}

/// A length as an offset of an array; memory never holds more than `i64::MAX` items.
pub fn position(length: usize) -> i64 {
    i64::try_from(length).unwrap_or(i64::MAX)
}
