//! Divides a column of input among the columns of a field.

use sapwood_core::Primitive;
use sapwood_table::write::{ColumnView, Offsets};
use std::ops::Range;

/// What a field holds. Its columns come in the order of a walk through it, parents first.
#[derive(Debug, Clone)]
pub(super) enum Node {
    Numbers(Primitive),
    Text,
    List(Box<Node>),
    Option(Box<Node>),
    Fixed(usize, Box<Node>),
    Fields(Vec<Node>),
    Union {
        /// Whether there may be no value.
        optional: bool,
        items: Vec<Node>,
    },
}

/// What a column gets: the elements of some entries.
#[derive(Debug, Clone)]
pub(super) enum Feed<'a> {
    /// Bytes of elements.
    Values(&'a [u8]),
    /// Lists, by their offsets: one more than there are lists.
    Lists(Offsets<'a>, Range<usize>),
    /// Items or nothing, by their positions.
    Options(Offsets<'a>, Range<usize>),
    /// Alternatives by their tags; if items may be missing, with their positions.
    Tags(&'a [u8], Option<(Offsets<'a>, Range<usize>)>),
}

impl Feed<'_> {
    /// Bytes of the elements, before they are encoded: about how much work they are.
    pub(super) fn byte_count(&self) -> u64 {
        let bytes = match self {
            Feed::Values(values) => values.len(),
            Feed::Lists(_, items) | Feed::Options(_, items) => items.len() * size_of::<u64>(),
            Feed::Tags(tags, _) => tags.len(),
        };
        bytes as u64
    }
}

impl Node {
    /// Appends what each of its columns gets for these items of a checked column, whose first buffer for it is at
    /// `place`; advances the place.
    pub(super) fn feed<'a>(
        &self,
        column: &ColumnView<'a>,
        place: &mut usize,
        items: Range<usize>,
        feeds: &mut Vec<Feed<'a>>,
    ) {
        let mut next = || {
            *place += 1;
            *place - 1
        };
        match self {
            Node::Numbers(primitive) => {
                let size = primitive.size();
                let bytes = items.start * size..items.end * size;
                feeds.push(Feed::Values(column.buffer(next()).get(bytes).unwrap_or_default()));
            }
            Node::Text => {
                let offsets = column.offsets(next());
                let chars = offsets.get(items.start)..offsets.get(items.end);
                feeds.push(Feed::Lists(offsets, items));
                feeds.push(Feed::Values(column.buffer(next()).get(chars).unwrap_or_default()));
            }
            Node::List(item) => {
                let offsets = column.offsets(next());
                let below = offsets.get(items.start)..offsets.get(items.end);
                feeds.push(Feed::Lists(offsets, items));
                item.feed(column, place, below, feeds);
            }
            Node::Option(item) => {
                let positions = column.offsets(next());
                let below = present(positions, &items);
                feeds.push(Feed::Options(positions, items));
                item.feed(column, place, below, feeds);
            }
            Node::Fixed(size, item) => item.feed(column, place, items.start * size..items.end * size, feeds),
            Node::Fields(fields) => {
                fields.iter().for_each(|field| field.feed(column, place, items.clone(), feeds))
            }
            Node::Union { optional, items: alternatives } => {
                let above = optional.then(|| (column.offsets(next()), items.clone()));
                let items = above.as_ref().map_or(items, |(positions, items)| present(*positions, items));
                let tags = column.buffer(next()).get(items.clone()).unwrap_or_default();
                let positions = column.offsets(next());
                feeds.push(Feed::Tags(tags, above));
                for (number, alternative) in alternatives.iter().enumerate() {
                    let mut own = tags.iter().zip(items.clone());
                    let first = own.find(|(tag, _)| usize::from(**tag) == number).map(|(_, item)| item);
                    let start = first.map_or(0, |item| positions.get(item));
                    let count = tags.iter().filter(|tag| usize::from(**tag) == number).count();
                    alternative.feed(column, place, start..start + count, feeds);
                }
            }
        }
    }
}

/// Where the items are that are not missing.
fn present(positions: Offsets<'_>, items: &Range<usize>) -> Range<usize> {
    let found = positions.slice(items.clone()).filter_map(|position| usize::try_from(position).ok());
    let start = found.clone().next().unwrap_or_default();
    start..start + found.count()
}
