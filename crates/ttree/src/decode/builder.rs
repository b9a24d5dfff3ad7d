//! Output of a decoding program that grows entry by entry: one per basket, joined at the end.

use super::program::{Node, position};
use sapwood_core::Buffer;

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

    /// The buffers of all `parts`, which were built by one program, joined in depth-first order.
    pub(super) fn join(parts: &[&Builder], buffers: &mut Vec<Buffer>) {
        match parts.first() {
            None => {}
            Some(Builder::Numbers { .. }) => {
                buffers.push(concatenate(parts.iter().filter_map(|part| match part {
                    Builder::Numbers { bytes, .. } => Some(bytes.as_slice()),
                    _ => None,
                })));
            }
            Some(Builder::Text { .. }) => {
                buffers.push(join_offsets(parts));
                buffers.push(concatenate(parts.iter().filter_map(|part| match part {
                    Builder::Text { bytes, .. } => Some(bytes.as_slice()),
                    _ => None,
                })));
            }
            Some(Builder::List { .. }) => {
                buffers.push(join_offsets(parts));
                Builder::join(&contents(parts), buffers);
            }
            Some(Builder::Fixed { .. }) => Builder::join(&contents(parts), buffers),
            Some(Builder::Record { fields, .. }) => {
                for index in 0..fields.len() {
                    let parts: Vec<&Builder> = parts
                        .iter()
                        .filter_map(|part| match part {
                            Builder::Record { fields, .. } => fields.get(index),
                            _ => None,
                        })
                        .collect();
                    Builder::join(&parts, buffers);
                }
            }
        }
    }
}

fn contents<'a>(parts: &[&'a Builder]) -> Vec<&'a Builder> {
    parts
        .iter()
        .filter_map(|part| match part {
            Builder::List { content, .. } | Builder::Fixed { content, .. } => Some(&**content),
            _ => None,
        })
        .collect()
}

fn concatenate<'a>(parts: impl Iterator<Item = &'a [u8]> + Clone) -> Buffer {
    let mut buffer = Buffer::zeroed(parts.clone().map(<[u8]>::len).sum());
    let mut rest = buffer.as_bytes_mut();
    for part in parts {
        let (place, after) = rest.split_at_mut(part.len());
        place.copy_from_slice(part);
        rest = after;
    }
    buffer
}

fn join_offsets(parts: &[&Builder]) -> Buffer {
    let all = || {
        parts.iter().filter_map(|part| match part {
            Builder::List { offsets, .. } | Builder::Text { offsets, .. } => Some(offsets.as_slice()),
            _ => None,
        })
    };
    let lists: usize = all().map(|offsets| offsets.len() - 1).sum();
    let mut buffer = Buffer::zeroed((lists + 1) * size_of::<i64>());
    let mut places = buffer.view_mut::<i64>().iter_mut().skip(1);
    let mut base = 0;
    for offsets in all() {
        for (offset, place) in offsets[1..].iter().zip(places.by_ref()) {
            *place = base + offset;
        }
        base += offsets.last().copied().unwrap_or_default();
    }
    buffer
}
