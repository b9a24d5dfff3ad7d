//! `TBranch` and the classes derived from it (root-io-spec TBranch, TBranchElement).

use super::basket_table::{BasketTable, IntegerArray};
use super::classes::DescribedClasses;
use super::number::{io_features, number, skip_attributes};
use super::parser::Parser;
use super::positions::{BranchOutline, Maximum, NumberPosition, PointerArray, TableLayout};
use crate::meta::{BranchElement, BranchKind};
use sapwood_core::{Error, Result};
use sapwood_tfile::{Cursor, Pointer, Walker};

/// The newest known class version of `TBranch`.
const NEWEST: i16 = 13;

impl<'a> Parser<'a> {
    /// Reads an array of branches; returns it with their indices in [`Parser::nodes`].
    pub(super) fn branch_array(&mut self, walker: &mut Walker<'a>) -> Result<(PointerArray, Vec<usize>)> {
        let mut branches = Vec::new();
        let array = PointerArray::read(walker, |walker| {
            let (pointer, node) = self.branch_pointer(walker)?;
            branches.extend(node);
            Ok(pointer)
        })?;
        Ok((array, branches))
    }

    /// Reads a pointer to a branch, and the branch if it follows; returns its index in [`Parser::nodes`], if
    /// there is one.
    ///
    /// A branch that cannot be read is marked as broken if its byte count gives its end, so that the others
    /// stay readable. For an outline it is an error, because all of its bytes must be known.
    pub(super) fn branch_pointer(&mut self, walker: &mut Walker<'a>) -> Result<(Pointer, Option<usize>)> {
        let mut met = None;
        let pointer = walker.pointer(|walker, pointer, class_name| {
            let node = self.add_node(pointer.at, class_name)?;
            met = Some(node);
            match self.branch(node, class_name, walker) {
                Err(error) if pointer.framed && !walker.is_outlining() => {
                    self.node(node)?.branch.broken = Some(error.to_string());
                }
                result => result?,
            }
            if let Some(outline) = &mut self.node(node)?.outline {
                outline.at = pointer.at;
            }
            Ok(())
        })?;
        Ok((pointer, met.or_else(|| self.node_at(&pointer))))
    }

    fn branch(&mut self, node: usize, class_name: &str, walker: &mut Walker<'a>) -> Result<()> {
        match class_name {
            "TBranch" => return self.plain_branch(node, walker),
            "TBranchClones" => return self.clones_branch(node, walker),
            _ => {}
        }
        let header = walker.open()?;
        self.plain_branch(node, walker)?;
        match class_name {
            "TBranchElement" => {
                let element = self.element(node, header.version, walker)?;
                self.node(node)?.branch.kind = BranchKind::Element(element);
            }
            "TBranchObject" => {
                self.node(node)?.branch.kind = BranchKind::Object { class_name: walker.cursor.tstring()? };
            }
            _ if walker.is_outlining() => {
                let info = self.streamers.select(class_name, header.version, None);
                let info =
                    info.ok_or_else(|| Error::unsupported(format!("unknown branch class {class_name}")))?;
                DescribedClasses::new(self.streamers).members(walker, info, Some("TBranch"))?;
            }
            _ => {}
        }
        walker.close(&header, class_name)
    }

    /// The members of `TBranchElement` (root-io-spec TBranchElement §2, §12).
    fn element(&mut self, node: usize, version: i16, walker: &mut Walker<'a>) -> Result<BranchElement> {
        // Versions 2 to 6 were written for a few months of 2001; their members are those that the file
        // describes.
        let info = self.streamers.get("TBranchElement", i32::from(version)).filter(|_| version < 7);
        let has = |name: &str, since: i16| match info {
            Some(info) => info.elements.iter().any(|element| element.name == name),
            None => version >= since,
        };
        let text =
            |cursor: &mut Cursor<'_>, there: bool| if there { cursor.tstring() } else { Ok(String::new()) };
        let cursor = &mut walker.cursor;
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
        if has("fMaximum", 2) {
            let at = cursor.position();
            element.maximum = cursor.i32()?;
            if let Some(outline) = &mut self.node(node)?.outline {
                outline.maxima.push(Maximum { at, width: 4, value: i64::from(element.maximum) });
            }
        }
        let counts = [has("fBranchCount", 2), has("fBranchCount2", 7)];
        for (which, _) in counts.into_iter().enumerate().filter(|(_, there)| *there) {
            let (_, count) = self.branch_pointer(walker)?;
            self.node(node)?.counts[which] = count;
        }
        Ok(element)
    }

    /// The members of `TBranch` (root-io-spec TBranch §2, §13).
    fn plain_branch(&mut self, node: usize, walker: &mut Walker<'a>) -> Result<()> {
        let header = walker.open()?;
        let version = header.version;
        let named = walker.cursor.tnamed()?;
        let branch = &mut self.node(node)?.branch;
        (branch.name, branch.title) = (named.name, named.title);
        let mut at = BranchOutline::default();
        let table = match version {
            ..=0 => return Err(walker.cursor.corrupt(format!("a branch has class version {version}"))),
            1..=5 => self.first_layout(node, version, walker, &mut at)?,
            _ => self.members(node, version, walker, &mut at)?,
        };
        if version > 2 {
            let begin = walker.position();
            self.node(node)?.branch.file_name = walker.cursor.tstring()?;
            at.file_name = begin..walker.position();
        }
        if header.end.is_some_and(|end| end != walker.position()) && version > NEWEST {
            return Err(Error::unsupported(format!("unknown class version {version} of TBranch")));
        }
        walker.close(&header, "TBranch")?;

        let file_size = self.file_size;
        let node = self.node(node)?;
        node.outline = walker.is_outlining().then(|| Box::new(at));
        let branch = &mut node.branch;
        if branch.split_level == 0 && !node.children.is_empty() {
            branch.split_level = 1; // TBranch §2: 0 means 1 if there are sub-branches
        }
        branch.hides_offsets = branch.entry_offset_len == 0 && table.ends_with_an_empty_basket();
        // The rest of the branch may still identify its type.
        match table.baskets(branch.file_name.is_empty().then_some(file_size)) {
            Ok(baskets) => {
                // Embedded baskets are not in the other file, which may be missing.
                if baskets.iter().all(|basket| basket.embedded.is_some()) {
                    branch.file_name = String::new();
                }
                branch.baskets = baskets.into();
            }
            Err(error) if walker.is_outlining() => return Err(error),
            Err(error) => branch.broken = Some(error.to_string()),
        }
        Ok(())
    }

    /// The members between the bases and `fFileName` from class version 6 on.
    fn members(
        &mut self,
        node: usize,
        version: i16,
        walker: &mut Walker<'a>,
        at: &mut BranchOutline,
    ) -> Result<BasketTable<'a>> {
        let long = version > 9;
        let mut table = BasketTable::default();
        let cursor = &mut walker.cursor;
        if version > 7 {
            skip_attributes(cursor, 4)?;
        }
        self.settings(node, cursor, at)?;
        let branch = &mut self.node(node)?.branch;
        (at.write_basket, table.write_basket) = (cursor.position(), cursor.i32()?);
        (table.entry_number, at.entry_number) = number(cursor, entry_width(long))?;
        if version > 12 {
            branch.io_bits = io_features(cursor)?;
        }
        cursor.i32()?; // fOffset: a place in memory
        at.max_baskets = cursor.position();
        let max_baskets = max_baskets(cursor)?;
        branch.split_level = if version > 6 { cursor.i32()? } else { 0 };
        let width = statistics_width(long);
        (branch.entries, at.entries) = number(cursor, width)?;
        if version > 10 {
            (branch.first_entry, at.first_entry) = number(cursor, NumberPosition::I64)?;
        }
        (branch.total_bytes, at.total_bytes) = number(cursor, width)?;
        (branch.zip_bytes, at.zip_bytes) = number(cursor, width)?;
        self.lists(node, walker, &mut table, at)?;
        let cursor = &mut walker.cursor;
        let begin = cursor.position();
        // Below version 10, the arrays are present whatever the flag before each (TBranch §13.1).
        let mut array = |is_long: fn(bool, u8) -> bool| match cursor.u8()? {
            0 if long => Ok(IntegerArray::Absent),
            flag => IntegerArray::read(cursor, max_baskets, is_long(long, flag)),
        };
        table.bytes = array(|_, _| false)?;
        table.entry = array(|long, _| long)?;
        table.seek = array(|long, flag| long || flag == 2)?; // TBranch §13.3
        at.tables = begin..cursor.position();
        at.table_layout = if long { TableLayout::Long } else { TableLayout::Int };
        Ok(table)
    }

    /// The members between the bases and `fFileName` below class version 6 (TBranch §13).
    fn first_layout(
        &mut self,
        node: usize,
        version: i16,
        walker: &mut Walker<'a>,
        at: &mut BranchOutline,
    ) -> Result<BasketTable<'a>> {
        let mut table = BasketTable::default();
        let cursor = &mut walker.cursor;
        self.settings(node, cursor, at)?;
        let branch = &mut self.node(node)?.branch;
        at.max_baskets = cursor.position();
        let max_baskets = max_baskets(cursor)?;
        (at.write_basket, table.write_basket) = (cursor.position(), cursor.i32()?);
        (table.entry_number, at.entry_number) = number(cursor, entry_width(false))?;
        (branch.entries, at.entries) = number(cursor, statistics_width(false))?;
        (branch.total_bytes, at.total_bytes) = number(cursor, statistics_width(false))?;
        (branch.zip_bytes, at.zip_bytes) = number(cursor, statistics_width(false))?;
        cursor.i32()?; // fOffset
        self.lists(node, walker, &mut table, at)?;
        let cursor = &mut walker.cursor;
        let begin = cursor.position();
        let entries = cursor.count(4)?;
        table.entry = IntegerArray::read(cursor, entries, false)?;
        if version > 4 {
            let bytes = cursor.count(4)?;
            table.bytes = IntegerArray::read(cursor, bytes, false)?;
        }
        if version > 1 {
            cursor.i32()?;
            table.seek = IntegerArray::read(cursor, max_baskets, false)?;
        }
        at.tables = begin..cursor.position();
        at.table_layout = TableLayout::First { bytes: version > 4, seek: version > 1 };
        Ok(table)
    }

    /// `fCompress`, `fBasketSize`, `fEntryOffsetLen`.
    fn settings(&mut self, node: usize, cursor: &mut Cursor<'a>, at: &mut BranchOutline) -> Result<()> {
        let branch = &mut self.node(node)?.branch;
        (at.compression, branch.compression) = (cursor.position(), cursor.i32()?);
        at.basket_size = cursor.position();
        branch.basket_size = u32::try_from(cursor.i32()?).unwrap_or(0);
        branch.entry_offset_len = cursor.i32()?;
        Ok(())
    }

    /// `fBranches`, `fLeaves`, `fBaskets`.
    fn lists(
        &mut self,
        node: usize,
        walker: &mut Walker<'a>,
        table: &mut BasketTable<'a>,
        at: &mut BranchOutline,
    ) -> Result<()> {
        let (array, children) = self.branch_array(walker)?;
        at.children = array;
        self.node(node)?.children.extend(children);
        let mut leaves = Vec::new();
        at.leaves = PointerArray::read(walker, |walker| {
            let (pointer, leaf) = self.leaf_pointer(walker)?;
            leaves.extend(leaf);
            Ok(pointer)
        })?;
        self.node(node)?.leaves = leaves;
        let (payload, mut index) = (self.payload, 0);
        at.baskets = PointerArray::read(walker, |walker| {
            let pointer = walker.pointer(|walker, pointer, _| {
                if !pointer.framed {
                    return Err(walker.cursor.corrupt("a basket inside the tree's record has no byte count"));
                }
                table.embedded.push((index, payload.slice(walker.position()..pointer.end)));
                walker.cursor.seek(pointer.end)
            })?;
            index += 1;
            Ok(pointer)
        })?;
        Ok(())
    }

    /// `TBranchClones`, which writes some members of `TBranch` itself (root-io-spec TBranchElement §13). The
    /// branch of the counts becomes the first sub-branch.
    fn clones_branch(&mut self, node: usize, walker: &mut Walker<'a>) -> Result<()> {
        let header = walker.open()?;
        let long = header.version > 1;
        let mut at = BranchOutline::default();
        let cursor = &mut walker.cursor;
        let named = cursor.tnamed()?;
        self.settings(node, cursor, &mut at)?;
        let branch = &mut self.node(node)?.branch;
        (branch.name, branch.title) = (named.name, named.title);
        cursor.skip(8)?; // fMaxBaskets, fWriteBasket
        (_, at.entry_number) = number(cursor, entry_width(long))?;
        let width = statistics_width(long);
        (branch.entries, at.entries) = number(cursor, width)?;
        (branch.total_bytes, at.total_bytes) = number(cursor, width)?;
        (branch.zip_bytes, at.zip_bytes) = number(cursor, width)?;
        branch.split_level = 1;
        cursor.i32()?; // fOffset
        let (_, counts) = self.branch_pointer(walker)?;
        self.node(node)?.children.extend(counts);
        walker.cursor.tstring_bytes()?; // fClassName
        let (array, children) = self.branch_array(walker)?;
        at.children = array;
        let node = self.node(node)?;
        node.children.extend(children);
        node.outline = walker.is_outlining().then(|| Box::new(at));
        walker.close(&header, "TBranchClones")
    }
}

/// The type of `fEntryNumber`.
fn entry_width(long: bool) -> fn(usize) -> NumberPosition {
    if long { NumberPosition::I64 } else { NumberPosition::I32 }
}

/// The type of `fEntries`, `fTotBytes` and `fZipBytes`.
fn statistics_width(long: bool) -> fn(usize) -> NumberPosition {
    if long { NumberPosition::I64 } else { NumberPosition::F64 }
}

/// `fMaxBaskets`: the length of the three arrays that follow later.
fn max_baskets(cursor: &mut Cursor<'_>) -> Result<usize> {
    let at = cursor.position();
    let value = cursor.i32()?;
    usize::try_from(value)
        .map_err(|_| cursor.corrupt_at(at, format!("the branch has room for {value} baskets")))
}
