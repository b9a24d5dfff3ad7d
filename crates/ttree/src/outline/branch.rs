//! Walking over `TBranch`, the classes derived from it, and their leaves (root-io-spec TBranch, TBranchElement, TLeaf).

use super::described::Described;
use super::{BranchPlaces, Maximum, Node, Number, Slots, Tables, Walk, array, baskets};
use crate::BranchKind;
use crate::meta::baskets::{Array, BasketTable};
use crate::meta::leaf::leaf_kind;
use crate::meta::objects::{count, io_features, skip_attributes};
use sapwood_core::{Error, Result};
use sapwood_tfile::{Cursor, Marker, PointerSlot, PointerTarget};

impl<'a> Walk<'a> {
    /// Walks over an array of branches: it, and their places in `nodes`.
    pub(super) fn branches(&mut self, marker: &mut Marker<'a>) -> Result<(Slots, Vec<usize>)> {
        let mut nodes = Vec::new();
        let slots = array(marker, |marker, slot, class| {
            nodes.extend(self.branch_at(marker, slot, class)?);
            Ok(())
        })?;
        Ok((slots, nodes))
    }

    /// Walks over a pointer to a branch: it, and where the branch begins.
    pub(super) fn branch_pointer(&mut self, marker: &mut Marker<'a>) -> Result<(PointerSlot, Option<usize>)> {
        let (slot, class) = marker.slot()?;
        self.branch_at(marker, &slot, class)?;
        Ok(match slot.target {
            PointerTarget::Object { .. } => (marker.leave(&slot, class)?, Some(slot.at)),
            PointerTarget::Reference(at) => (slot, Some(at)),
            PointerTarget::Null | PointerTarget::Own => (slot, None),
        })
    }

    /// The place in `nodes` of the branch that a pointer points at.
    fn branch_at(
        &mut self,
        marker: &mut Marker<'a>,
        slot: &PointerSlot,
        class: &str,
    ) -> Result<Option<usize>> {
        match slot.target {
            PointerTarget::Null | PointerTarget::Own => return Ok(None),
            PointerTarget::Reference(at) => return Ok(self.node_of.get(&at).copied()),
            PointerTarget::Object { .. } => {}
        }
        let place = self.nodes.len();
        self.node_of.insert(slot.at, place);
        self.nodes.push(Node {
            class_name: class.to_owned(),
            places: BranchPlaces { at: slot.at, ..BranchPlaces::default() },
            ..Node::default()
        });
        self.branch(marker, place, class)?;
        Ok(Some(place))
    }

    fn node(&mut self, place: usize) -> Result<&mut Node> {
        self.nodes.get_mut(place).ok_or_else(|| Error::corrupt("a branch is missing"))
    }

    fn branch(&mut self, marker: &mut Marker<'a>, place: usize, class: &str) -> Result<()> {
        if class == "TBranch" {
            return self.plain(marker, place);
        }
        let header = marker.open()?;
        if class == "TBranchClones" {
            self.clones(marker, place, header.version > 1)?;
            return marker.close(&header, class);
        }
        self.plain(marker, place)?;
        match class {
            "TBranchElement" => self.element(marker, place, header.version)?,
            "TBranchObject" => marker.cursor.tstring_bytes().map(drop)?,
            _ => {
                let described = Described { streamers: self.streamers };
                let info = self.streamers.select(class, header.version, None);
                let info = info
                    .ok_or_else(|| Error::unsupported(format!("branches of class {class} are not known")))?;
                described.members(marker, info, Some("TBranch"))?;
            }
        }
        marker.close(&header, class)
    }

    /// The members of `TBranchElement` (TBranchElement §2, §12).
    fn element(&mut self, marker: &mut Marker<'a>, place: usize, version: i16) -> Result<()> {
        // Versions 2 to 6 were written for a few months of 2001: the file itself says what they have.
        let info = self.streamers.get("TBranchElement", i32::from(version)).filter(|_| version < 7);
        let has = |name: &str, since: i16| match info {
            Some(info) => info.elements.iter().any(|element| element.name == name),
            None => version >= since,
        };
        let cursor = &mut marker.cursor;
        for there in [true, has("fParentName", 2), has("fClonesName", 2)] {
            if there {
                cursor.tstring_bytes()?;
            }
        }
        cursor.skip(if has("fCheckSum", 8) { 4 } else { 0 })?;
        cursor.skip(if version < 10 { 4 } else { 2 })?;
        cursor.skip(3 * 4)?; // fID, fType, fStreamerType
        let maximum = has("fMaximum", 2).then(|| Maximum::read(cursor, 4)).transpose()?;
        self.node(place)?.maximum = maximum;
        for there in [has("fBranchCount", 2), has("fBranchCount2", 7)] {
            if there {
                let (_, at) = self.branch_pointer(marker)?;
                self.node(place)?.counts.extend(at);
            }
        }
        Ok(())
    }

    /// `TBranch` itself (TBranch §2, §13).
    fn plain(&mut self, marker: &mut Marker<'a>, place: usize) -> Result<()> {
        let header = marker.open()?;
        let version = header.version;
        self.node(place)?.name = marker.cursor.tnamed()?.name;
        let table = match version {
            ..=0 => return Err(marker.cursor.corrupt(format!("a branch has class version {version}"))),
            1..=5 => self.first_members(marker, place, version)?,
            _ => self.members(marker, place, version)?,
        };
        let file_size = self.file_size;
        let node = self.node(place)?;
        if version > 2 {
            let begin = marker.position();
            node.file_name = marker.cursor.tstring()?;
            node.places.file_name = begin..marker.position();
        }
        node.baskets = baskets(&table, &node.file_name, file_size)?;
        if node.baskets.iter().all(|basket| basket.embedded.is_some()) {
            node.file_name = String::new();
        }
        marker.close(&header, "TBranch")
    }

    fn members(&mut self, marker: &mut Marker<'a>, place: usize, version: i16) -> Result<BasketTable<'a>> {
        let long = version > 9;
        let mut table = BasketTable::default();
        if version > 7 {
            skip_attributes(&mut marker.cursor, 4)?;
        }
        self.settings(marker, place)?;
        let node = self.node(place)?;
        let places = &mut node.places;
        places.write_basket = marker.position();
        table.write_basket = marker.cursor.i32()?;
        table.entry_number =
            number(marker, Some(&mut places.entry_number), if long { Number::I64 } else { Number::I32 })?;
        if version > 12 {
            io_features(&mut marker.cursor)?;
        }
        marker.cursor.skip(4)?; // fOffset: a place in memory
        places.max_baskets = marker.position();
        let max_baskets = usize::try_from(marker.cursor.i32()?).unwrap_or(0);
        marker.cursor.skip(if version > 6 { 4 } else { 0 })?; // fSplitLevel
        let width = if long { Number::I64 } else { Number::F64 };
        node.entries = number(marker, Some(&mut places.entries), width)?;
        if version > 10 {
            number(marker, Some(&mut places.first_entry), Number::I64)?;
        }
        number(marker, Some(&mut places.total_bytes), width)?;
        number(marker, Some(&mut places.zip_bytes), width)?;
        self.lists(marker, place, &mut table)?;

        let begin = marker.position();
        // Below version 10 the arrays are there whatever the flag before each says (TBranch §13.1).
        let mut read = |is_long: fn(bool, u8) -> bool| match marker.cursor.u8()? {
            0 if long => Ok(Array::Absent),
            flag => Array::read(&mut marker.cursor, max_baskets, is_long(long, flag)),
        };
        table.bytes = read(|_, _| false)?;
        table.entry = read(|long, _| long)?;
        table.seek = read(|long, flag| long || flag == 2)?;
        let places = &mut self.node(place)?.places;
        places.tables = begin..marker.position();
        places.tables_form = if long { Tables::Long } else { Tables::Int };
        Ok(table)
    }

    /// The members below class version 6 (TBranch §13).
    fn first_members(
        &mut self,
        marker: &mut Marker<'a>,
        place: usize,
        version: i16,
    ) -> Result<BasketTable<'a>> {
        let mut table = BasketTable::default();
        self.settings(marker, place)?;
        let node = self.node(place)?;
        let places = &mut node.places;
        places.max_baskets = marker.position();
        let max_baskets = usize::try_from(marker.cursor.i32()?).unwrap_or(0);
        places.write_basket = marker.position();
        table.write_basket = marker.cursor.i32()?;
        table.entry_number = number(marker, Some(&mut places.entry_number), Number::I32)?;
        node.entries = number(marker, Some(&mut places.entries), Number::F64)?;
        number(marker, Some(&mut places.total_bytes), Number::F64)?;
        number(marker, Some(&mut places.zip_bytes), Number::F64)?;
        marker.cursor.skip(4)?; // fOffset
        self.lists(marker, place, &mut table)?;
        let begin = marker.position();
        let cursor = &mut marker.cursor;
        let entries = cursor.count(4)?;
        table.entry = Array::read(cursor, entries, false)?;
        if version > 4 {
            let bytes = cursor.count(4)?;
            table.bytes = Array::read(cursor, bytes, false)?;
        }
        if version > 1 {
            cursor.skip(4)?;
            table.seek = Array::read(cursor, max_baskets, false)?;
        }
        let places = &mut self.node(place)?.places;
        places.tables = begin..marker.position();
        places.tables_form = Tables::First { bytes: version > 4, seek: version > 1 };
        Ok(table)
    }

    /// `fCompress`, `fBasketSize`, `fEntryOffsetLen`.
    fn settings(&mut self, marker: &mut Marker<'a>, place: usize) -> Result<()> {
        let node = self.node(place)?;
        (node.places.compression, node.compression) = (marker.position(), marker.cursor.i32()?);
        (node.places.basket_size, node.basket_size) = (marker.position(), marker.cursor.i32()?);
        node.entry_offset_len = marker.cursor.i32()?;
        Ok(())
    }

    /// `fBranches`, `fLeaves`, `fBaskets`.
    fn lists(&mut self, marker: &mut Marker<'a>, place: usize, table: &mut BasketTable<'a>) -> Result<()> {
        let (slots, children) = self.branches(marker)?;
        let node = self.node(place)?;
        node.places.children = slots;
        node.children.extend(children);
        let mut leaves = Vec::new();
        let slots = array(marker, |marker, slot, class| {
            leaves.extend(self.leaf_at(marker, slot, class)?);
            Ok(())
        })?;
        let node = self.node(place)?;
        node.places.leaves = slots;
        node.leaves = leaves;
        let payload = self.payload;
        let (mut index, embedded) = (0, &mut table.embedded);
        let slots = array(marker, |marker, slot, class| {
            if let PointerTarget::Object { body, .. } = slot.target {
                if !slot.framed {
                    return Err(Error::unsupported(format!("an object of {class} has no byte count")));
                }
                embedded.push((index, payload.slice(body..slot.end)));
                marker.cursor.seek(slot.end)?;
            }
            index += 1;
            Ok(())
        })?;
        self.node(place)?.places.baskets = slots;
        Ok(())
    }

    /// `TBranchClones`, which writes some members of `TBranch` itself (TBranchElement §13). The branch of the counts
    /// becomes the first sub-branch.
    fn clones(&mut self, marker: &mut Marker<'a>, place: usize, long: bool) -> Result<()> {
        self.node(place)?.name = marker.cursor.tnamed()?.name;
        self.settings(marker, place)?;
        marker.cursor.skip(8)?; // fMaxBaskets, fWriteBasket
        let node = self.node(place)?;
        let places = &mut node.places;
        number(marker, Some(&mut places.entry_number), if long { Number::I64 } else { Number::I32 })?;
        let width = if long { Number::I64 } else { Number::F64 };
        node.entries = number(marker, Some(&mut places.entries), width)?;
        number(marker, Some(&mut places.total_bytes), width)?;
        number(marker, Some(&mut places.zip_bytes), width)?;
        marker.cursor.skip(4)?; // fOffset
        node.kind = Some(BranchKind::Other("TBranchClones".to_owned()));
        let (_, counts) = self.branch_pointer(marker)?;
        let counts = counts.and_then(|at| self.node_of.get(&at).copied());
        self.node(place)?.children.extend(counts);
        marker.cursor.tstring_bytes()?; // fClassName
        let (slots, children) = self.branches(marker)?;
        let node = self.node(place)?;
        node.places.children = slots;
        node.children.extend(children);
        Ok(())
    }

    /// Where the leaf stands that a pointer points at.
    fn leaf_at(&mut self, marker: &mut Marker<'a>, slot: &PointerSlot, class: &str) -> Result<Option<usize>> {
        match slot.target {
            PointerTarget::Null | PointerTarget::Own => Ok(None),
            PointerTarget::Reference(at) => Ok(Some(at)),
            PointerTarget::Object { .. } => {
                let (count, maximum) = self.leaf(marker, class)?;
                self.leaves.insert(slot.at, count);
                self.maxima.extend(maximum.map(|maximum| (slot.at, maximum)));
                Ok(Some(slot.at))
            }
        }
    }

    /// Walks over a leaf (TLeaf §2, §8): where the leaf stands that counts it, and its `fMaximum`.
    fn leaf(&mut self, marker: &mut Marker<'a>, class: &str) -> Result<(Option<usize>, Option<Maximum>)> {
        let own = if class == "TLeaf" { None } else { Some(marker.open()?) };
        let header = marker.open()?;
        marker.cursor.tnamed()?;
        marker.cursor.skip(3 * 4 + 2)?; // fLen, fLenType, fOffset, fIsRange, fIsUnsigned
        let (slot, count_class) = marker.slot()?;
        let count = self.leaf_at(marker, &slot, count_class)?;
        if let PointerTarget::Object { .. } = slot.target {
            marker.leave(&slot, count_class)?;
        }
        marker.close(&header, "TLeaf")?;
        let mut maximum = None;
        if let Some(own) = own {
            if let Some(width) = maximum_width(class) {
                let mut ahead = marker.cursor.clone();
                ahead.skip(width)?; // fMinimum
                maximum = Some(Maximum::read(&mut ahead, width)?);
            }
            // What follows are numbers.
            match own.end {
                Some(end) => marker.cursor.seek(end)?,
                None => leaf_kind(class, &mut marker.cursor).map(drop)?,
            }
            marker.close(&own, class)?;
        }
        Ok((count, maximum))
    }
}

/// Bytes of `fMinimum` and `fMaximum` in the leaves that can count (TLeaf §2).
fn maximum_width(class: &str) -> Option<usize> {
    match class {
        "TLeafO" | "TLeafB" => Some(1),
        "TLeafS" => Some(2),
        "TLeafI" | "TLeafC" => Some(4),
        "TLeafL" | "TLeafG" => Some(8),
        _ => None,
    }
}

impl Maximum {
    fn read(cursor: &mut Cursor<'_>, width: usize) -> Result<Maximum> {
        let at = cursor.position();
        let value = match width {
            1 => i64::from(cursor.i8()?),
            2 => i64::from(cursor.i16()?),
            4 => i64::from(cursor.i32()?),
            _ => cursor.i64()?,
        };
        Ok(Maximum { at, width, value })
    }
}

/// Reads a number and notes where it stands; a negative one counts as 0.
pub(super) fn number(
    marker: &mut Marker<'_>,
    place: Option<&mut Option<Number>>,
    width: fn(usize) -> Number,
) -> Result<u64> {
    let at = width(marker.position());
    if let Some(place) = place {
        *place = Some(at);
    }
    match at {
        Number::I32(_) => Ok(u64::try_from(marker.cursor.i32()?).unwrap_or(0)),
        Number::I64(_) => count(&mut marker.cursor, false),
        Number::F64(_) => count(&mut marker.cursor, true),
    }
}
