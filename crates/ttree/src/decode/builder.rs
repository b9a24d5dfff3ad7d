//! Output of a decoding program that grows entry by entry: one per basket, joined at the end.

use super::program::{Node, position};

/// Growing buffers in the shape of a form.
#[derive(Debug)]
pub(super) enum Builder {
    /// Values as in memory.
    Numbers { size: usize, bytes: Vec<u8> },
    /// Lists of fixed size.
    Fixed { length: usize, content: Box<Builder> },
    /// Lists; offsets begin with 0.
    List { offsets: Vec<i64>, content: Box<Builder> },
    /// Strings; offsets begin with 0.
    Text { offsets: Vec<i64>, bytes: Vec<u8> },
    /// Fields side by side.
    Record { length: usize, fields: Vec<Builder> },
}

impl Builder {
    /// An empty builder for what `node` builds.
    pub(super) fn new(node: &Node) -> Self {
        match node {
            Node::Number(number) => Builder::Numbers { size: number.size(), bytes: Vec::new() },
            Node::Bits => Builder::Numbers { size: 4, bytes: Vec::new() },
            Node::Text | Node::TextOrNothing | Node::LongText => {
                Builder::Text { offsets: vec![0], bytes: Vec::new() }
            }
            Node::Fixed { content, .. } => {
                Builder::Fixed { length: 0, content: Box::new(Builder::new(content)) }
            }
            Node::List(content) | Node::FlaggedToEnd(content) | Node::ToEnd(content) => {
                Builder::List { offsets: vec![0], content: Box::new(Builder::new(content)) }
            }
            Node::Framed(content) | Node::FramedOrNothing(content) => Builder::new(content),
            Node::Record(fields) => Builder::Record {
                length: 0,
                fields: fields.iter().map(|(_, node)| Builder::new(node)).collect(),
            },
        }
    }

    /// Number of items.
    pub(super) fn length(&self) -> usize {
        match self {
            Builder::Numbers { size, bytes } => bytes.len() / size,
            Builder::Fixed { length, .. } | Builder::Record { length, .. } => *length,
            Builder::List { offsets, .. } | Builder::Text { offsets, .. } => offsets.len() - 1,
        }
    }

    /// Adds an empty list or string.
    pub(super) fn push_empty(&mut self) {
        match self {
            Builder::List { offsets, content } => offsets.push(position(content.length())),
            Builder::Text { offsets, bytes } => offsets.push(position(bytes.len())),
            Builder::Numbers { .. } | Builder::Fixed { .. } | Builder::Record { .. } => {}
        }
    }

    /// The bytes of all buffers, depth first, as [`sapwood_core::Column::join`] takes them.
    pub(super) fn slices(&self) -> Vec<&[u8]> {
        let mut slices = Vec::new();
        self.append_slices(&mut slices);
        slices
    }

    fn append_slices<'a>(&'a self, out: &mut Vec<&'a [u8]>) {
        match self {
            Builder::Numbers { bytes, .. } => out.push(bytes),
            Builder::Text { offsets, bytes } => out.extend([bytemuck::cast_slice(offsets), bytes.as_slice()]),
            Builder::List { offsets, content } => {
                out.push(bytemuck::cast_slice(offsets));
                content.append_slices(out);
            }
            Builder::Fixed { content, .. } => content.append_slices(out),
            Builder::Record { fields, .. } => fields.iter().for_each(|field| field.append_slices(out)),
        }
    }
}
