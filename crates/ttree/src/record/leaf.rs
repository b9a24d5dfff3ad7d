//! `TLeaf` and the classes derived from it (root-io-spec TLeaf §2, §8).

use super::parser::{LeafRecord, Parser};
use super::positions::Maximum;
use crate::meta::{Leaf, LeafKind};
use sapwood_core::Result;
use sapwood_tfile::{Cursor, Pointer, Walker};

impl Parser<'_> {
    /// Reads a pointer to a leaf, and the leaf if it follows; returns its index in [`Parser::leaves`], if it
    /// is not null.
    pub(super) fn leaf_pointer(&mut self, walker: &mut Walker<'_>) -> Result<(Pointer, Option<usize>)> {
        let mut met = None;
        let pointer = walker.pointer(|walker, pointer, class_name| {
            let index = self.add_leaf(pointer.at);
            met = Some(index);
            let record = self.leaf(class_name, walker)?;
            if let Some(leaf) = self.leaves.get_mut(index) {
                *leaf = Some(record);
            }
            Ok(())
        })?;
        Ok((pointer, met.or_else(|| self.leaf_at(&pointer))))
    }

    fn leaf(&mut self, class_name: &str, walker: &mut Walker<'_>) -> Result<LeafRecord> {
        let own = if class_name == "TLeaf" { None } else { Some(walker.open()?) };
        let header = walker.open()?;
        let cursor = &mut walker.cursor;
        let named = cursor.tnamed()?;
        let len_at = cursor.position();
        let len = cursor.i32()?;
        let len_type = cursor.i32()?;
        cursor.i32()?; // fOffset: a place in memory
        cursor.bool()?; // fIsRange
        let unsigned = cursor.bool()?;
        let (_, count) = self.leaf_pointer(walker)?;
        walker.close(&header, "TLeaf")?;
        let cursor = &mut walker.cursor;
        let minimum_at = cursor.position();
        let (kind, maximum) = leaf_kind(class_name, cursor)?;
        if let Some(own) = own {
            // Only numbers follow.
            cursor.finish(&own)?;
        }
        let mut maxima = Vec::new();
        if let Some(width) = maximum_width(&kind).filter(|_| own.is_some()) {
            maxima.push(Maximum { at: minimum_at + width, width, value: maximum });
            if kind == LeafKind::Text {
                maxima.push(Maximum { at: len_at, width: 4, value: i64::from(len) });
            }
        }
        Ok(LeafRecord {
            leaf: Leaf {
                name: named.name,
                title: named.title,
                kind,
                len: if len == 0 { 1 } else { len }, // TLeaf §2: 0 means 1
                len_type,
                unsigned,
                count: None,
                maximum,
            },
            count,
            maxima,
        })
    }
}

/// Size of `fMinimum` and of `fMaximum` in leaves that can count (TLeaf §2).
fn maximum_width(kind: &LeafKind) -> Option<usize> {
    match kind {
        LeafKind::Bool | LeafKind::I8 => Some(1),
        LeafKind::I16 => Some(2),
        LeafKind::I32 | LeafKind::Text => Some(4),
        LeafKind::I64 => Some(8),
        _ => None,
    }
}

/// The kind of a leaf class and its `fMaximum`, read from the members after the base class.
fn leaf_kind(class_name: &str, cursor: &mut Cursor<'_>) -> Result<(LeafKind, i64)> {
    Ok(match class_name {
        "TLeafO" => (LeafKind::Bool, i64::from(last(cursor, Cursor::u8)?)),
        "TLeafB" => (LeafKind::I8, i64::from(last(cursor, Cursor::i8)?)),
        "TLeafS" => (LeafKind::I16, i64::from(last(cursor, Cursor::i16)?)),
        "TLeafI" => (LeafKind::I32, i64::from(last(cursor, Cursor::i32)?)),
        "TLeafL" | "TLeafG" => (LeafKind::I64, last(cursor, Cursor::i64)?),
        "TLeafC" => (LeafKind::Text, i64::from(last(cursor, Cursor::i32)?)),
        "TLeafF" => (LeafKind::F32, last(cursor, Cursor::f32).map(|_| 0)?),
        "TLeafD" => (LeafKind::F64, last(cursor, Cursor::f64).map(|_| 0)?),
        // Without an annotation a Float16_t has three bytes on file (TLeaf §7).
        "TLeafF16" => (LeafKind::Float16, last(cursor, |c| c.skip(3)).map(|()| 0)?),
        "TLeafD32" => (LeafKind::Double32, last(cursor, Cursor::f32).map(|_| 0)?),
        "TLeafElement" => (LeafKind::Element { id: cursor.i32()?, element_type: cursor.i32()? }, 0),
        "TLeafObject" => (LeafKind::Object, 0),
        other => (LeafKind::Other(other.to_owned()), 0),
    })
}

/// Reads `fMinimum` and `fMaximum`, and returns the latter.
fn last<'a, T>(cursor: &mut Cursor<'a>, read: impl Fn(&mut Cursor<'a>) -> Result<T>) -> Result<T> {
    read(cursor)?;
    read(cursor)
}
