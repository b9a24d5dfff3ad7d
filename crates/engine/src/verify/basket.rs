//! One basket: its key, its header, its compressed blocks, its table of offsets, and its values.

use super::checked_tree::CheckedTree;
use crate::verify::counts::CountBaskets;
use bytes::Bytes;
use sapwood_core::{Column, Counters, Error, ErrorKind, Form, Result};
use sapwood_tfile::Key;
use sapwood_ttree::integers;
use sapwood_ttree::{
    BasketBytes, BasketHeader, BasketRef, Counts, Entries, Interpretation, Layout, Meaning, References,
    decode, uncompressed_record,
};

/// What became of the attempt to read something.
#[derive(Debug)]
pub(super) enum Verdict {
    /// It was decompressed and decoded.
    Decoded,
    /// It was decompressed; sapwood cannot read its type.
    Opaque,
    /// It was decompressed, and is not what the file says of its class. That is damage, or a class that streams itself.
    Undecodable(Error),
    /// It cannot be read, or is not what it should be.
    Damaged(Error),
}

/// A basket of a branch, and its bytes.
#[derive(Debug)]
pub(super) struct StoredBasket<'a> {
    pub(super) tree: &'a CheckedTree,
    pub(super) branch: usize,
    pub(super) basket: &'a BasketRef,
    pub(super) bytes: &'a Bytes,
    /// The baskets that count its items, where its values cannot be found without them.
    pub(super) counts: Option<&'a CountBaskets>,
}

impl StoredBasket<'_> {
    /// Looks whether the basket is what the tree says, and can be read.
    pub(super) fn check(&self, counters: &Counters) -> Verdict {
        if let Err(error) = self.check_structure() {
            return Verdict::Damaged(error);
        }
        let Some(interpretation) = self.interpretation() else { return Verdict::Opaque };
        let Err(error) = self.decode(interpretation, counters) else { return Verdict::Decoded };
        let described = matches!(interpretation.layout, Layout::Program(_));
        if let Err(error) = self.check_content() {
            return Verdict::Damaged(error);
        }
        if described || error.kind() == ErrorKind::Unsupported {
            Verdict::Undecodable(error)
        } else {
            Verdict::Damaged(error)
        }
    }

    /// Checks the key, and that the header has the entries that the tree announces.
    fn check_structure(&self) -> Result<()> {
        if self.basket.embedded.is_none() {
            self.check_key()?;
        }
        let header = BasketHeader::parse(self.bytes)?;
        if header.entries as u64 != self.basket.entries {
            return Err(Error::corrupt(format!(
                "the basket holds {} entries, the tree announces {}",
                header.entries, self.basket.entries
            )));
        }
        if self.interpretation().is_none() { self.check_content() } else { Ok(()) }
    }

    /// Decompresses the content, and checks where entries begin, as far as it says so itself.
    fn check_content(&self) -> Result<()> {
        match Entries::parse(self.bytes, self.basket.embedded.is_some(), &References::None) {
            Err(error) if error.kind() != ErrorKind::Unsupported => Err(error),
            Err(_) if self.basket.embedded.is_none() => uncompressed_record(self.bytes).map(drop),
            _ => Ok(()),
        }
    }

    /// The key must be that of a basket, of this place and length, and name the branch.
    fn check_key(&self) -> Result<()> {
        let key = Key::parse_at(self.bytes, self.basket.offset)?;
        if !key.class_name.starts_with("TBasket") {
            return Err(Error::corrupt(format!(
                "a record of class {} lies in place of the basket",
                key.class_name
            )));
        }
        if u64::from(key.nbytes) != self.basket.len {
            return Err(Error::corrupt(format!(
                "the basket has {} bytes, the tree announces {}",
                key.nbytes, self.basket.len
            )));
        }
        let branches = self.tree.tree.branches();
        let own = branches.get(self.branch).is_none_or(|branch| branch.name == key.name);
        // Branches and trees can be renamed after their baskets were written: only a name that is in use is wrong.
        if !own && branches.iter().any(|branch| branch.name == key.name && !branch.baskets.is_empty()) {
            return Err(Error::corrupt(format!("a basket of the branch '{}' lies in its place", key.name)));
        }
        Ok(())
    }

    fn interpretation(&self) -> Option<&Interpretation> {
        match &self.tree.tree.branch_types().get(self.branch)?.meaning {
            Meaning::Column(interpretation) => Some(interpretation),
            Meaning::Group | Meaning::Unsupported(_) => None,
        }
    }

    fn decode(&self, interpretation: &Interpretation, counters: &Counters) -> Result<()> {
        let entries = self.basket.first_entry..self.basket.end();
        let own = [BasketBytes { basket: self.basket, bytes: self.bytes.clone() }];
        let needed = self.counts.filter(|counts| counts.needed);
        let counted = needed.map(|counts| counts.decode(self.tree, &entries, counters)).transpose();
        let counted = counted.map_err(|error| {
            Error::new(error.kind(), format!("what counts its items cannot be read: {}", error.message()))
        })?;
        let widened = match &counted {
            Some(column) => Some(
                integers(column)
                    .ok_or_else(|| Error::corrupt("items are counted by a branch that holds no integers"))?,
            ),
            None => None,
        };
        let counts = widened.as_ref().map(|(offsets, values)| Counts {
            first_entry: entries.start,
            offsets: *offsets,
            values,
        });
        let column = decode(interpretation, &own, entries.clone(), counts, None, counters)?;
        self.check_lengths(&column, counters)
    }

    /// The lengths of lists must be those that another branch counts.
    fn check_lengths(&self, column: &Column, counters: &Counters) -> Result<()> {
        let (Form::List(_), Some(offsets), Some(counts)) =
            (&column.form, column.buffers.first(), self.counts)
        else {
            return Ok(());
        };
        let first = self.basket.first_entry;
        match counts.differ(self.tree, first, offsets.view(), counters) {
            None => Ok(()),
            Some(entry) => Err(Error::corrupt(format!(
                "entry {entry} has another number of items than '{}' counts",
                self.tree.branch_path(counts.branch)
            ))),
        }
    }
}
