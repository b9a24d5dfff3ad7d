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

/// The result of checking an item.
#[derive(Debug)]
pub(super) enum Verdict {
    /// It was decompressed and decoded.
    Decoded,
    /// It was decompressed; sapwood cannot read its type.
    Opaque,
    /// It was decompressed, but differs from the description of its class: it is damaged, or its class streams itself.
    Undecodable(Error),
    /// It cannot be read, or contradicts the file's own description of it.
    Damaged(Error),
}

/// A basket of a branch, and its bytes.
#[derive(Debug)]
pub(super) struct StoredBasket<'a> {
    pub(super) tree: &'a CheckedTree,
    pub(super) branch: usize,
    pub(super) basket: &'a BasketRef,
    pub(super) bytes: &'a Bytes,
    /// The baskets that count its items.
    pub(super) counts: Option<&'a CountBaskets>,
}

impl StoredBasket<'_> {
    /// Checks that the basket agrees with the tree, and can be read.
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

    /// Checks the key, and that the header has the number of entries given by the tree.
    fn check_structure(&self) -> Result<()> {
        if self.basket.embedded.is_none() {
            self.check_key()?;
        }
        let header = BasketHeader::parse(self.bytes)?;
        if header.entries as u64 != self.basket.entries {
            return Err(Error::corrupt(format!(
                "the basket has {} entries, but the tree says {}",
                header.entries, self.basket.entries
            )));
        }
        if self.interpretation().is_none() { self.check_content() } else { Ok(()) }
    }

    /// Decompresses the content, and checks the offsets of entries if there are any.
    fn check_content(&self) -> Result<()> {
        match Entries::parse(self.bytes, self.basket.embedded.is_some(), &References::None) {
            Err(error) if error.kind() != ErrorKind::Unsupported => Err(error),
            Err(_) if self.basket.embedded.is_none() => uncompressed_record(self.bytes).map(drop),
            _ => Ok(()),
        }
    }

    /// The key must be that of a basket at this offset, with this length and the name of the branch.
    fn check_key(&self) -> Result<()> {
        let key = Key::parse_at(self.bytes, self.basket.offset)?;
        if !key.class_name.starts_with("TBasket") {
            return Err(Error::corrupt(format!(
                "there is a record of class {} in place of the basket",
                key.class_name
            )));
        }
        if u64::from(key.nbytes) != self.basket.len {
            return Err(Error::corrupt(format!(
                "the basket has {} bytes, but the tree says {}",
                key.nbytes, self.basket.len
            )));
        }
        let branches = self.tree.table.branches();
        let own = branches.get(self.branch).is_none_or(|branch| branch.name == key.name);
        // Branches can be renamed after their baskets were written, so only the name of another branch is wrong.
        if !own && branches.iter().any(|branch| branch.name == key.name && !branch.baskets.is_empty()) {
            return Err(Error::corrupt(format!(
                "there is a basket of the branch '{}' in its place",
                key.name
            )));
        }
        Ok(())
    }

    fn interpretation(&self) -> Option<&Interpretation> {
        match &self.tree.table.branch_types().get(self.branch)?.meaning {
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
            Error::new(
                error.kind(),
                format!("the basket that counts its items cannot be read: {}", error.message()),
            )
        })?;
        let widened =
            match &counted {
                Some(column) => Some(integers(column).ok_or_else(|| {
                    Error::corrupt("the branch that counts the items does not hold integers")
                })?),
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

    /// The lengths of lists must agree with the count branch.
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
                "the number of items of entry {entry} differs from '{}'",
                self.tree.branch_path(counts.branch)
            ))),
        }
    }
}
