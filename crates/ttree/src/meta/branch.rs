//! `TBranch` and the classes derived from it (root-io-spec TBranch, TBranchElement).

use super::baskets::{Array, BasketTable};
use super::objects::{count, io_features, obj_array, skip_attributes};
use super::parser::{Node, Parser};
use super::{BranchElement, BranchKind};
use sapwood_core::{Error, Result};
use sapwood_tfile::{Cursor, ObjectSlot};

/// The newest class version of `TBranch` that is known.
const NEWEST: i16 = 13;

impl Parser<'_> {
    /// Reads an array of branches: their places in [`Parser::nodes`].
    pub(super) fn branch_array(&mut self, cursor: &mut Cursor<'_>) -> Result<Vec<usize>> {
        let mut branches = Vec::new();
        obj_array(cursor, |cursor, _, slot| {
            branches.extend(self.branch_slot(cursor, slot)?);
            Ok(())
        })?;
        Ok(branches)
    }

    /// Reads the slot of a branch: its place in [`Parser::nodes`], if there is one.
    ///
    /// A branch that cannot be read is kept as broken if its byte count tells where it ends, so that it does
    /// not spoil the others.
    fn branch_slot<'a>(&mut self, cursor: &mut Cursor<'a>, slot: ObjectSlot<'a>) -> Result<Option<usize>> {
        let (class_name, id, mut body, bounded) = match slot {
            ObjectSlot::Null => return Ok(None),
            ObjectSlot::Reference(id) => return Ok(self.node_of.get(&id).copied()),
            ObjectSlot::Object { class_name, id, body, bounded } => (class_name, id, body, bounded),
        };
        let node = self.add_node(id, class_name)?;
        match self.branch(node, class_name, &mut body) {
            Ok(()) => {}
            Err(error) if bounded => self.node(node)?.branch.broken = Some(error.to_string()),
            Err(error) => return Err(error),
        }
        if !bounded {
            cursor.seek(body.position())?;
        }
        Ok(Some(node))
    }

    fn node(&mut self, node: usize) -> Result<&mut Node> {
        self.nodes.get_mut(node).ok_or_else(|| Error::corrupt("a branch is missing"))
    }

    fn branch(&mut self, node: usize, class_name: &str, cursor: &mut Cursor<'_>) -> Result<()> {
        match class_name {
            "TBranch" => return self.plain_branch(node, cursor),
            "TBranchClones" => return self.clones_branch(node, cursor),
            _ => {}
        }
        let header = cursor.read_header()?;
        self.plain_branch(node, cursor)?;
        match class_name {
            "TBranchElement" => {
                let element = self.element(node, header.version, cursor)?;
                self.node(node)?.branch.kind = BranchKind::Element(element);
            }
            "TBranchObject" => {
                self.node(node)?.branch.kind = BranchKind::Object { class_name: cursor.tstring()? };
            }
            _ => {}
        }
        cursor.finish(&header)
    }

    /// The members of `TBranchElement` (root-io-spec TBranchElement §2, §12).
    fn element(&mut self, node: usize, version: i16, cursor: &mut Cursor<'_>) -> Result<BranchElement> {
        // Versions 2 to 6 were written for a few months of 2001: the file itself says what they have.
        let info = self.streamers.get("TBranchElement", i32::from(version)).filter(|_| version < 7);
        let has = |name: &str, since: i16| match info {
            Some(info) => info.elements.iter().any(|element| element.name == name),
            None => version >= since,
        };
        let text =
            |cursor: &mut Cursor<'_>, there: bool| if there { cursor.tstring() } else { Ok(String::new()) };
        let mut element = BranchElement {
            class_name: cursor.tstring()?,
            parent_name: text(cursor, has("fParentName", 2))?,
            clones_name: text(cursor, has("fClonesName", 2))?,
            checksum: if has("fCheckSum", 8) { cursor.u32()? } else { 0 },
            class_version: if version < 10 { cursor.i32()? } else { i32::from(cursor.i16()?) },
            id: cursor.i32()?,
            element_type: cursor.i32()?,
            streamer_type: cursor.i32()?,
            maximum: 0,
            branch_count: None,
            branch_count2: None,
        };
        element.maximum = if has("fMaximum", 2) { cursor.i32()? } else { 0 };
        let counts = [has("fBranchCount", 2), has("fBranchCount2", 7)];
        for (which, _) in counts.into_iter().enumerate().filter(|(_, there)| *there) {
            let slot = cursor.read_object_any()?;
            let id = match slot {
                ObjectSlot::Null => None,
                ObjectSlot::Reference(id) | ObjectSlot::Object { id, .. } => Some(id),
            };
            self.branch_slot(cursor, slot)?;
            self.node(node)?.counts[which] = id;
        }
        Ok(element)
    }

    /// The members of `TBranch` (root-io-spec TBranch §2, §13).
    fn plain_branch(&mut self, node: usize, cursor: &mut Cursor<'_>) -> Result<()> {
        let header = cursor.read_header()?;
        let version = header.version;
        let named = cursor.tnamed()?;
        let branch = &mut self.node(node)?.branch;
        (branch.name, branch.title) = (named.name, named.title);
        let table = match version {
            ..=0 => return Err(cursor.corrupt(format!("a branch has class version {version}"))),
            1..=5 => self.first_layout(node, version, cursor)?,
            _ => self.members(node, version, cursor)?,
        };
        if version > 2 {
            let name = cursor.tstring()?;
            self.node(node)?.branch.file_name = name;
        }
        if header.end.is_some_and(|end| end != cursor.position()) && version > NEWEST {
            return Err(Error::unsupported(format!("class version {version} of TBranch is not known")));
        }
        cursor.finish(&header)?;

        let file_size = self.file_size;
        let node = self.node(node)?;
        let branch = &mut node.branch;
        if branch.split_level == 0 && !node.children.is_empty() {
            branch.split_level = 1; // TBranch §2: 0 means 1 if there are sub-branches
        }
        // The rest of the branch may still say what it would hold.
        match table.baskets(branch.file_name.is_empty().then_some(file_size)) {
            Ok(baskets) => {
                // What the record embeds is not in the other file, which need not be there.
                if baskets.iter().all(|basket| basket.embedded.is_some()) {
                    branch.file_name = String::new();
                }
                branch.baskets = baskets.into();
            }
            Err(error) => branch.broken = Some(error.to_string()),
        }
        Ok(())
    }

    /// The members between the bases and `fFileName` from class version 6 on.
    fn members<'a>(&mut self, node: usize, version: i16, cursor: &mut Cursor<'a>) -> Result<BasketTable<'a>> {
        let long = version > 9;
        let mut table = BasketTable::default();
        if version > 7 {
            skip_attributes(cursor, 4)?;
        }
        let branch = &mut self.node(node)?.branch;
        branch.compression = cursor.i32()?;
        branch.basket_size = u32::try_from(cursor.i32()?).unwrap_or(0);
        branch.entry_offset_len = cursor.i32()?;
        table.write_basket = cursor.i32()?;
        table.entry_number = entry_number(cursor, long)?;
        if version > 12 {
            branch.io_bits = io_features(cursor)?;
        }
        cursor.i32()?; // fOffset: a place in memory
        let max_baskets = max_baskets(cursor)?;
        branch.split_level = if version > 6 { cursor.i32()? } else { 0 };
        branch.entries = count(cursor, !long)?;
        branch.first_entry = if version > 10 { count(cursor, false)? } else { 0 };
        branch.total_bytes = count(cursor, !long)?;
        branch.zip_bytes = count(cursor, !long)?;
        self.lists(node, cursor, &mut table)?;
        // Below version 10 the arrays are there whatever the flag before each says (TBranch §13.1).
        let mut array = |is_long: fn(bool, u8) -> bool| match cursor.u8()? {
            0 if long => Ok(Array::Absent),
            flag => Array::read(cursor, max_baskets, is_long(long, flag)),
        };
        table.bytes = array(|_, _| false)?;
        table.entry = array(|long, _| long)?;
        table.seek = array(|long, flag| long || flag == 2)?; // TBranch §13.3
        Ok(table)
    }

    /// The members between the bases and `fFileName` below class version 6 (TBranch §13).
    fn first_layout<'a>(
        &mut self,
        node: usize,
        version: i16,
        cursor: &mut Cursor<'a>,
    ) -> Result<BasketTable<'a>> {
        let mut table = BasketTable::default();
        let branch = &mut self.node(node)?.branch;
        branch.compression = cursor.i32()?;
        branch.basket_size = u32::try_from(cursor.i32()?).unwrap_or(0);
        branch.entry_offset_len = cursor.i32()?;
        let max_baskets = max_baskets(cursor)?;
        table.write_basket = cursor.i32()?;
        table.entry_number = entry_number(cursor, false)?;
        branch.entries = count(cursor, true)?;
        branch.total_bytes = count(cursor, true)?;
        branch.zip_bytes = count(cursor, true)?;
        cursor.i32()?; // fOffset
        self.lists(node, cursor, &mut table)?;
        let entries = cursor.count(4)?;
        table.entry = Array::read(cursor, entries, false)?;
        if version > 4 {
            let bytes = cursor.count(4)?;
            table.bytes = Array::read(cursor, bytes, false)?;
        }
        if version > 1 {
            cursor.i32()?;
            table.seek = Array::read(cursor, max_baskets, false)?;
        }
        Ok(table)
    }

    /// `fBranches`, `fLeaves`, `fBaskets`.
    fn lists<'a>(&mut self, node: usize, cursor: &mut Cursor<'a>, table: &mut BasketTable<'a>) -> Result<()> {
        let children = self.branch_array(cursor)?;
        self.node(node)?.children.extend(children);
        let mut leaves = Vec::new();
        obj_array(cursor, |cursor, _, slot| {
            leaves.extend(self.leaf_slot(cursor, slot)?);
            Ok(())
        })?;
        self.node(node)?.leaves = leaves;
        let payload = self.payload;
        obj_array(cursor, |cursor, index, slot| match slot {
            ObjectSlot::Object { body, bounded: true, .. } => {
                table.embedded.push((index, payload.slice(body.position()..body.end())));
                Ok(())
            }
            ObjectSlot::Object { .. } => {
                Err(cursor.corrupt("a basket inside the tree's record has no byte count"))
            }
            ObjectSlot::Null | ObjectSlot::Reference(_) => Ok(()),
        })
    }

    /// `TBranchClones`, which writes some members of `TBranch` itself (root-io-spec TBranchElement §13). The
    /// branch of the counts becomes the first sub-branch.
    fn clones_branch(&mut self, node: usize, cursor: &mut Cursor<'_>) -> Result<()> {
        let header = cursor.read_header()?;
        let long = header.version > 1;
        let named = cursor.tnamed()?;
        let branch = &mut self.node(node)?.branch;
        (branch.name, branch.title) = (named.name, named.title);
        branch.compression = cursor.i32()?;
        branch.basket_size = u32::try_from(cursor.i32()?).unwrap_or(0);
        branch.entry_offset_len = cursor.i32()?;
        cursor.skip(8)?; // fMaxBaskets, fWriteBasket
        entry_number(cursor, long)?;
        branch.entries = count(cursor, !long)?;
        branch.total_bytes = count(cursor, !long)?;
        branch.zip_bytes = count(cursor, !long)?;
        branch.split_level = 1;
        cursor.i32()?; // fOffset
        let slot = cursor.read_object_any()?;
        let counts = self.branch_slot(cursor, slot)?;
        self.node(node)?.children.extend(counts);
        cursor.tstring_bytes()?; // fClassName
        let children = self.branch_array(cursor)?;
        self.node(node)?.children.extend(children);
        cursor.finish(&header)
    }
}

/// `fEntryNumber`; a negative one counts as 0.
fn entry_number(cursor: &mut Cursor<'_>, long: bool) -> Result<u64> {
    let number = if long { cursor.i64()? } else { i64::from(cursor.i32()?) };
    Ok(u64::try_from(number).unwrap_or(0))
}

/// `fMaxBaskets`: the length of the three arrays that follow later.
fn max_baskets(cursor: &mut Cursor<'_>) -> Result<usize> {
    let at = cursor.position();
    let value = cursor.i32()?;
    usize::try_from(value)
        .map_err(|_| cursor.corrupt_at(at, format!("the branch has room for {value} baskets")))
}
