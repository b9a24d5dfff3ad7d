//! `TLeaf` and the classes derived from it (root-io-spec TLeaf §2, §8).

use super::{Leaf, LeafKind};
use crate::meta::parser::Parser;
use sapwood_core::Result;
use sapwood_tfile::{Cursor, ObjectSlot};

/// A leaf as it stands in the record: its count leaf is known by reference only.
#[derive(Debug, Clone)]
pub(super) struct LeafRecord {
    pub(super) leaf: Leaf,
    /// What references to the count leaf name.
    pub(super) count: Option<u64>,
}

impl Parser<'_> {
    /// Reads the slot of a leaf: what references name it, if there is one.
    pub(super) fn leaf_slot<'a>(
        &mut self,
        cursor: &mut Cursor<'a>,
        slot: ObjectSlot<'a>,
    ) -> Result<Option<u64>> {
        match slot {
            ObjectSlot::Null => Ok(None),
            ObjectSlot::Reference(id) => Ok(Some(id)),
            ObjectSlot::Object { class_name, id, mut body, bounded } => {
                let record = self.leaf(class_name, &mut body)?;
                self.leaves.insert(id, record);
                if !bounded {
                    cursor.seek(body.position())?;
                }
                Ok(Some(id))
            }
        }
    }

    fn leaf(&mut self, class_name: &str, cursor: &mut Cursor<'_>) -> Result<LeafRecord> {
        let own = if class_name == "TLeaf" { None } else { Some(cursor.read_header()?) };
        let header = cursor.read_header()?;
        let named = cursor.tnamed()?;
        let len = cursor.i32()?;
        let len_type = cursor.i32()?;
        cursor.i32()?; // fOffset: a place in memory
        cursor.bool()?; // fIsRange
        let unsigned = cursor.bool()?;
        let slot = cursor.read_object_any()?;
        let count = self.leaf_slot(cursor, slot)?;
        cursor.finish(&header)?;
        let (kind, maximum) = leaf_kind(class_name, cursor)?;
        if let Some(own) = own {
            cursor.finish(&own)?;
        }
        let leaf = Leaf {
            name: named.name,
            title: named.title,
            kind,
            len: if len == 0 { 1 } else { len }, // TLeaf §2: 0 means 1
            len_type,
            unsigned,
            count: None,
            maximum,
        };
        Ok(LeafRecord { leaf, count })
    }
}

/// The kind of a leaf class and its `fMaximum`, read from the members behind the base class.
pub(crate) fn leaf_kind(class_name: &str, cursor: &mut Cursor<'_>) -> Result<(LeafKind, i64)> {
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

/// Reads `fMinimum` and `fMaximum`, and gives the latter.
fn last<'a, T>(cursor: &mut Cursor<'a>, read: impl Fn(&mut Cursor<'a>) -> Result<T>) -> Result<T> {
    read(cursor)?;
    read(cursor)
}
