//! Sums of histograms: finds the numbers in a histogram's record that add up, so that records can be added as
//! bytes (root-io-spec Histograms; the members of `TH1`, `TH2`, `TH3`, `TProfile` and `TProfile2D` as ROOT
//! describes them).

use sapwood_core::{Error, ErrorKind, Primitive, Result};
use sapwood_tfile::{Cursor, ObjectSlot, Record};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// The class versions of `TH1` with these members: since ROOT 5.
const TH1_VERSIONS: std::ops::RangeInclusive<i16> = 5..=8;

/// `TH1::kIsAverage`: bins hold averages, which do not add up.
const IS_AVERAGE: u32 = 1 << 18;

/// The first class version of `TAxis` with labels behind these members: that of ROOT 5.
const LABELLED_AXIS: i16 = 9;

/// The type of the bins, by the last letter of the class.
fn type_of_letter(letter: u8) -> Option<Primitive> {
    Some(match letter {
        b'C' => Primitive::I8,
        b'S' => Primitive::I16,
        b'I' => Primitive::I32,
        b'L' => Primitive::I64,
        b'F' => Primitive::F32,
        b'D' => Primitive::F64,
        _ => return None,
    })
}

/// True if histograms of a class can be added.
pub fn is_summable(class_name: &str) -> bool {
    matches!(class_name, "TProfile" | "TProfile2D") || bins(class_name).is_some()
}

/// Dimensions and type of the bins of a `TH1D` and the like.
fn bins(class_name: &str) -> Option<(u8, Primitive)> {
    match class_name.as_bytes() {
        [b'T', b'H', dimensions @ b'1'..=b'3', letter] => Some((dimensions - b'0', type_of_letter(*letter)?)),
        _ => None,
    }
}

/// Adds the histogram of a record to `sum`, the payload of another one whose key has `key_len` bytes. Bins of one dimension
/// are added by their labels. `Some` is the reason why it could not be added; nothing was changed then.
///
/// # Errors
/// `Corrupt` or `Truncated` if one of them is broken.
pub fn add_histogram(
    class_name: &str,
    sum: &mut [u8],
    key_len: u32,
    other: &Record,
) -> Result<Option<String>> {
    let walks = HistogramWalk::over(class_name, sum, key_len)
        .and_then(|mine| Ok((mine, HistogramWalk::over(class_name, &other.payload, other.key_len)?)));
    let (mine, theirs) = match walks {
        Ok((Some(mine), Some(theirs))) => (mine, theirs),
        Err(error) if error.kind() != ErrorKind::Unsupported => return Err(error),
        _ => return Ok(Some(format!("unknown version or state of {class_name}"))),
    };
    if mine.shape != theirs.shape {
        return Ok(Some("bins or errors differ".to_owned()));
    }
    if mine.is_average || theirs.is_average {
        return Ok(Some("bins hold averages".to_owned()));
    }
    let Some(order) = theirs.order_in(&mine) else {
        return Ok(Some("the labels of bins differ".to_owned()));
    };
    for (mine, theirs) in mine.numbers.iter().zip(&theirs.numbers) {
        let (Some(into), Some(from)) =
            (sum.get_mut(mine.range.clone()), other.payload.get(theirs.range.clone()))
        else {
            return Err(Error::corrupt("a histogram ends early"));
        };
        let order = if mine.by_bin { order.as_slice() } else { &[] };
        match mine.kind {
            Primitive::I8 => each::<1>(into, from, order, |a, b| {
                i8::from_be_bytes(a).saturating_add(i8::from_be_bytes(b)).to_be_bytes()
            }),
            Primitive::I16 => each::<2>(into, from, order, |a, b| {
                i16::from_be_bytes(a).saturating_add(i16::from_be_bytes(b)).to_be_bytes()
            }),
            Primitive::I32 => each::<4>(into, from, order, |a, b| {
                i32::from_be_bytes(a).saturating_add(i32::from_be_bytes(b)).to_be_bytes()
            }),
            Primitive::I64 => each::<8>(into, from, order, |a, b| {
                i64::from_be_bytes(a).saturating_add(i64::from_be_bytes(b)).to_be_bytes()
            }),
            Primitive::F32 => each::<4>(into, from, order, |a, b| {
                (f32::from_be_bytes(a) + f32::from_be_bytes(b)).to_be_bytes()
            }),
            Primitive::F64 => each::<8>(into, from, order, |a, b| {
                (f64::from_be_bytes(a) + f64::from_be_bytes(b)).to_be_bytes()
            }),
            _ => return Err(Error::corrupt("bins of a type that no histogram has")),
        }
    }
    Ok(None)
}

/// Adds each number to the one at its index; those whose index is in `order`, to the one that it names there.
fn each<const N: usize>(
    into: &mut [u8],
    from: &[u8],
    order: &[usize],
    add: impl Fn([u8; N], [u8; N]) -> [u8; N],
) {
    let into = into.as_chunks_mut::<N>().0;
    for (index, b) in from.as_chunks::<N>().0.iter().enumerate() {
        let target = order.get(index).copied().unwrap_or(index);
        if let Some(a) = into.get_mut(target) {
            *a = add(*a, *b);
        }
    }
}

/// A walk over a histogram.
struct HistogramWalk<'a> {
    cursor: Cursor<'a>,
    payload: &'a [u8],
    numbers: Vec<Addends>,
    /// Bytes that must be equal in all addends.
    shape: Vec<u8>,
    /// The number of each labelled bin, by its label, for each axis.
    labels: Vec<BTreeMap<String, usize>>,
    is_average: bool,
    dimensions: u8,
}

/// Numbers that add up.
struct Addends {
    range: Range<usize>,
    kind: Primitive,
    /// One for each bin, with those of underflow and overflow.
    by_bin: bool,
}

impl<'a> HistogramWalk<'a> {
    /// None if the layout is unknown.
    fn over(class_name: &str, payload: &'a [u8], key_len: u32) -> Result<Option<HistogramWalk<'a>>> {
        let mut walk = HistogramWalk {
            cursor: Cursor::new(payload, key_len),
            payload,
            numbers: Vec::new(),
            shape: Vec::new(),
            labels: Vec::new(),
            is_average: false,
            dimensions: 0,
        };
        let known = match (class_name, bins(class_name)) {
            ("TProfile", _) => walk.profile(1, 6..=7)?,
            ("TProfile2D", _) => walk.profile(2, 7..=8)?,
            (_, Some((dimensions, kind))) => walk.histogram(dimensions, kind)?,
            _ => false,
        };
        Ok(known.then_some(walk))
    }

    fn histogram(&mut self, dimensions: u8, kind: Primitive) -> Result<bool> {
        let header = self.cursor.read_header()?;
        self.dimensions = dimensions;
        let known = match dimensions {
            1 => self.base()?,
            2 => {
                let inner = self.cursor.read_header()?;
                let known = self.base()?;
                self.same(8)?; // fScalefactor
                self.add(Primitive::F64, 3)?; // fTsumwy, fTsumwy2, fTsumwxy
                self.cursor.finish(&inner)?;
                known
            }
            _ => {
                let inner = self.cursor.read_header()?;
                let known = self.base()?;
                self.cursor.skip_object()?; // TAtt3D
                self.add(Primitive::F64, 7)?; // fTsumwy, wy2, wxy, wz, wz2, wxz, wyz
                self.cursor.finish(&inner)?;
                known
            }
        };
        self.array(kind)?;
        self.cursor.finish(&header)?;
        Ok(known)
    }

    fn profile(&mut self, dimensions: u8, versions: std::ops::RangeInclusive<i16>) -> Result<bool> {
        let header = self.cursor.read_header()?;
        if !versions.contains(&header.version) {
            return Ok(false);
        }
        let known = self.histogram(dimensions, Primitive::F64)?;
        self.array(Primitive::F64)?; // fBinEntries
        self.same(4 + 8 + 8)?; // fErrorMode, and the limits
        self.add(Primitive::F64, 2)?; // fTsumwy and fTsumwy2, or those of z
        self.array(Primitive::F64)?; // fBinSumw2
        self.cursor.finish(&header)?;
        Ok(known)
    }

    /// `TH1`; false if its layout is unknown, or if it buffers entries that are in no bin yet.
    fn base(&mut self) -> Result<bool> {
        let header = self.cursor.read_header()?;
        let Some(end) = header.end.filter(|_| TH1_VERSIONS.contains(&header.version)) else {
            return Err(Error::unsupported("a histogram was written by an unknown version of ROOT"));
        };
        self.is_average = self.cursor.tnamed()?.object.bits & IS_AVERAGE != 0;
        for _ in 0..3 {
            self.cursor.skip_object()?; // TAttLine, TAttFill, TAttMarker
        }
        self.same(4)?; // fNcells
        for _ in 0..3 {
            self.axis()?;
        }
        self.cursor.skip(2 + 2)?; // fBarOffset, fBarWidth
        self.add(Primitive::F64, 5)?; // fEntries, fTsumw, fTsumw2, fTsumwx, fTsumwx2
        self.cursor.skip(3 * 8)?; // fMaximum, fMinimum, fNormFactor
        let contours = self.cursor.count(8)?;
        self.cursor.skip(contours * 8)?;
        self.array(Primitive::F64)?; // fSumw2
        self.cursor.tstring_bytes()?; // fOption
        self.cursor.skip_object()?; // fFunctions
        let waiting = self.cursor.i32()?; // fBufferSize
        self.cursor.seek(end)?;
        Ok(waiting == 0)
    }

    fn axis(&mut self) -> Result<()> {
        let header = self.cursor.read_header()?;
        self.cursor.tnamed()?;
        self.cursor.skip_object()?; // TAttAxis
        self.same(4 + 8 + 8)?; // fNbins, fXmin, fXmax
        let edges = self.cursor.clone().count(8)?;
        self.same(4 + edges * 8)?;
        let end = header.end.ok_or_else(|| self.cursor.corrupt("an axis has no byte count"))?;
        if header.version < LABELLED_AXIS {
            return self.same(end.saturating_sub(self.cursor.position()));
        }
        self.cursor.skip(4 + 4 + 2 + 1)?; // fFirst, fLast, fBits2, fTimeDisplay
        self.cursor.tstring_bytes()?; // fTimeFormat
        let labels = match self.cursor.read_object_any()? {
            ObjectSlot::Object { body, .. } => labels(body)?,
            ObjectSlot::Null => BTreeMap::new(),
            ObjectSlot::Reference(_) => {
                return Err(Error::unsupported("labels of bins are stored elsewhere"));
            }
        };
        self.labels.push(labels);
        self.cursor.seek(end)
    }

    /// The index in `other` of each bin whose labels are elsewhere there: none if all labels are the same. `None` if they
    /// are not those of the same bins in another order, on the only axis.
    fn order_in(&self, other: &HistogramWalk<'_>) -> Option<Vec<usize>> {
        if self.labels == other.labels {
            return Some(Vec::new());
        }
        let (mine, theirs) = (self.labels.first()?, other.labels.first()?);
        let of_other_axes =
            |walk: &HistogramWalk<'_>| walk.labels.iter().skip(1).any(|labels| !labels.is_empty());
        let bins = |labels: &BTreeMap<String, usize>| labels.values().copied().collect::<BTreeSet<usize>>();
        if self.dimensions != 1
            || of_other_axes(self)
            || of_other_axes(other)
            || !mine.keys().eq(theirs.keys())
            || bins(mine) != bins(theirs)
        {
            return None;
        }
        let last = mine.values().max().copied().unwrap_or_default();
        let mut order: Vec<usize> = (0..=last).collect();
        for (mine, theirs) in mine.values().zip(theirs.values()) {
            *order.get_mut(*mine)? = *theirs;
        }
        Some(order)
    }

    /// An array whose numbers add up.
    fn array(&mut self, kind: Primitive) -> Result<()> {
        let count = self.cursor.clone().count(kind.size())?;
        self.same(4)?;
        self.numbers_of(kind, count, true)
    }

    /// Numbers that add up, for the whole histogram.
    fn add(&mut self, kind: Primitive, count: usize) -> Result<()> {
        self.numbers_of(kind, count, false)
    }

    fn numbers_of(&mut self, kind: Primitive, count: usize, by_bin: bool) -> Result<()> {
        let from = self.cursor.position();
        self.cursor.skip(count.saturating_mul(kind.size()))?;
        self.numbers.push(Addends { range: from..self.cursor.position(), kind, by_bin });
        Ok(())
    }

    /// Bytes that must be the same.
    fn same(&mut self, len: usize) -> Result<()> {
        let from = self.cursor.position();
        self.cursor.skip(len)?;
        self.shape.extend(self.payload.get(from..from + len).unwrap_or_default());
        Ok(())
    }
}

/// The numbers of bins by their labels, in a `THashList` of `TObjString` whose `fUniqueID` is the bin (`TAxis::SetBinLabel`).
fn labels(mut list: Cursor<'_>) -> Result<BTreeMap<String, usize>> {
    list.read_header()?;
    list.tobject()?;
    list.tstring_bytes()?; // fName
    let count = list.i32()?;
    let mut labels = BTreeMap::new();
    for _ in 0..count {
        let ObjectSlot::Object { class_name: "TObjString", mut body, bounded: true, .. } =
            list.read_object_any()?
        else {
            return Err(Error::unsupported("labels of bins are not texts"));
        };
        body.read_header()?;
        let bin = body.tobject()?.unique_id as usize;
        if labels.insert(body.tstring()?, bin).is_some() {
            return Err(Error::unsupported("bins have the same label"));
        }
        let option = usize::from(list.u8()?);
        list.skip(option)?;
    }
    Ok(labels)
}
