//! Sums of histograms: finds the numbers in a histogram's record that add up, so that records can be added as
//! bytes (root-io-spec Histograms; the members of `TH1`, `TH2`, `TH3`, `TProfile` and `TProfile2D` as ROOT
//! describes them).

use sapwood_core::{Error, ErrorKind, Primitive, Result};
use sapwood_tfile::Cursor;
use std::ops::Range;

/// The class versions of `TH1` with these members: since ROOT 5.
const TH1_VERSIONS: std::ops::RangeInclusive<i16> = 5..=8;

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

/// Adds the histogram in the payload of a record to another one. `Some` is the reason why it could not be
/// added; nothing was changed then.
///
/// # Errors
/// `Corrupt` or `Truncated` if one of them is broken.
pub fn add_histogram(class_name: &str, sum: &mut [u8], other: &[u8]) -> Result<Option<String>> {
    let walks = HistogramWalk::over(class_name, sum)
        .and_then(|mine| Ok((mine, HistogramWalk::over(class_name, other)?)));
    let (mine, theirs) = match walks {
        Ok((Some(mine), Some(theirs))) => (mine, theirs),
        Err(error) if error.kind() != ErrorKind::Unsupported => return Err(error),
        _ => return Ok(Some(format!("unknown version or state of {class_name}"))),
    };
    if mine.shape != theirs.shape {
        return Ok(Some("bins or errors differ".to_owned()));
    }
    for ((range, kind), (from, _)) in mine.numbers.iter().zip(&theirs.numbers) {
        let (Some(into), Some(from)) = (sum.get_mut(range.clone()), other.get(from.clone())) else {
            return Err(Error::corrupt("a histogram ends early"));
        };
        match kind {
            Primitive::I8 => each::<1>(into, from, |a, b| {
                i8::from_be_bytes(a).saturating_add(i8::from_be_bytes(b)).to_be_bytes()
            }),
            Primitive::I16 => each::<2>(into, from, |a, b| {
                i16::from_be_bytes(a).saturating_add(i16::from_be_bytes(b)).to_be_bytes()
            }),
            Primitive::I32 => each::<4>(into, from, |a, b| {
                i32::from_be_bytes(a).saturating_add(i32::from_be_bytes(b)).to_be_bytes()
            }),
            Primitive::I64 => each::<8>(into, from, |a, b| {
                i64::from_be_bytes(a).saturating_add(i64::from_be_bytes(b)).to_be_bytes()
            }),
            Primitive::F32 => {
                each::<4>(into, from, |a, b| (f32::from_be_bytes(a) + f32::from_be_bytes(b)).to_be_bytes())
            }
            Primitive::F64 => {
                each::<8>(into, from, |a, b| (f64::from_be_bytes(a) + f64::from_be_bytes(b)).to_be_bytes())
            }
            _ => return Err(Error::corrupt("bins of a type that no histogram has")),
        }
    }
    Ok(None)
}

fn each<const N: usize>(into: &mut [u8], from: &[u8], add: impl Fn([u8; N], [u8; N]) -> [u8; N]) {
    for (a, b) in into.as_chunks_mut::<N>().0.iter_mut().zip(from.as_chunks::<N>().0) {
        *a = add(*a, *b);
    }
}

/// A walk over a histogram.
struct HistogramWalk<'a> {
    cursor: Cursor<'a>,
    payload: &'a [u8],
    /// The ranges of numbers that add up.
    numbers: Vec<(Range<usize>, Primitive)>,
    /// Bytes that must be equal in all addends.
    shape: Vec<u8>,
}

impl<'a> HistogramWalk<'a> {
    /// None if the layout is unknown.
    fn over(class_name: &str, payload: &'a [u8]) -> Result<Option<HistogramWalk<'a>>> {
        let mut walk = HistogramWalk {
            cursor: Cursor::new(payload, 0),
            payload,
            numbers: Vec::new(),
            shape: Vec::new(),
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
        self.cursor.tnamed()?;
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
        self.cursor.seek(end)
    }

    /// An array whose numbers add up.
    fn array(&mut self, kind: Primitive) -> Result<()> {
        let count = self.cursor.clone().count(kind.size())?;
        self.same(4)?;
        self.add(kind, count)
    }

    /// Numbers that add up.
    fn add(&mut self, kind: Primitive, count: usize) -> Result<()> {
        let from = self.cursor.position();
        self.cursor.skip(count.saturating_mul(kind.size()))?;
        self.numbers.push((from..self.cursor.position(), kind));
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
