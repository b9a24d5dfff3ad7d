//! A branch of the new file: the baskets that it got, and the cutter that makes new ones.

use super::baskets::{ClusterBorders, ClusterCutter};
use super::options::RepackOptions;
use sapwood_codec::{Algorithm, Compression};
use sapwood_core::{Error, Result};
use sapwood_tfile::write::NewKey;
use sapwood_ttree::{Branch, BranchChange, BranchOutline, Cutter, Entries, Maximum, NewBasket, References};

/// A branch of the new file.
#[derive(Debug)]
pub(super) struct OutputBranch {
    /// Compression of its baskets.
    pub compression: Compression,
    /// `fCompress`.
    compression_number: i32,
    /// True if baskets are recompressed even if they are not re-split.
    pub recompress: bool,
    basket_size: i32,
    /// The key of its baskets.
    pub key: NewKey,
    offset_len: i32,
    /// How to find references inside its entries.
    pub references: References,
    /// Why some of its baskets were not re-split.
    pub kept_whole: Option<String>,
    /// True if its baskets are in another file, which does not exist; the new tree refers to that file, too.
    pub is_absent: bool,
    maxima: Vec<i64>,
    pub first_entry: u64,
    /// One past the last entry whose basket was placed.
    pub next_entry: u64,
    /// What `next_entry` must be after this input.
    pub end: u64,
    /// One past the last entry whose basket an earlier run placed.
    pub placed: u64,
    pub total_bytes: u64,
    pub zip_bytes: u64,
    pub baskets: Vec<(u64, u64, u32)>,
    /// The cutter of its baskets, if they are re-split.
    pub cutter: Option<ClusterCutter>,
}

impl OutputBranch {
    /// A branch like `branch`, whose record has the given outline.
    pub(super) fn new(
        branch: &Branch,
        outline: &BranchOutline,
        tree: &str,
        file_setting: i32,
        references: References,
        options: &RepackOptions,
    ) -> OutputBranch {
        let number = if branch.compression < 0 { file_setting } else { branch.compression };
        let own = Compression::from_number(number);
        // Compressions that are no longer written (ROOT's first ZLIB) become the closest one.
        let own = own.or_else(|_| Compression::new(Algorithm::Zlib, 1)).unwrap_or_default();
        let basket_size = options.basket_size.and_then(|size| i32::try_from(size).ok());
        OutputBranch {
            compression: options.compression.unwrap_or(own),
            compression_number: options.compression.map_or(branch.compression, Compression::number),
            recompress: options.compression.is_some(),
            basket_size: basket_size.unwrap_or_else(|| i32::try_from(branch.basket_size).unwrap_or(i32::MAX)),
            key: NewKey::new("TBasket", &branch.name, tree, true),
            offset_len: branch.entry_offset_len,
            references,
            kept_whole: None,
            is_absent: false,
            maxima: outline.maxima.iter().map(|maximum| maximum.value).collect(),
            first_entry: 0,
            next_entry: 0,
            end: 0,
            placed: 0,
            total_bytes: 0,
            zip_bytes: 0,
            baskets: Vec::new(),
            cutter: None,
        }
    }

    /// Begins an input that has its entries from `first` to `end`.
    pub(super) fn begin(
        &mut self,
        first: u64,
        end: u64,
        is_empty: bool,
        maxima: &[Maximum],
        resplit: bool,
    ) -> Result<()> {
        // Readers reject more items than this, so it is the maximum over all inputs.
        for (mine, maximum) in self.maxima.iter_mut().zip(maxima) {
            *mine = maximum.value.max(*mine);
        }
        let reached = self.cutter.as_ref().map_or(self.next_entry, |cutter| cutter.next);
        // An input without entries of the branch changes nothing.
        if first == end {
            self.end = reached;
            return Ok(());
        }
        let fresh = self.baskets.is_empty() && self.cutter.is_none();
        if fresh && self.first_entry == reached {
            (self.first_entry, self.next_entry) = (first, first);
        } else if first != reached {
            return Err(Error::unsupported(format!(
                "the branch continues at entry {first} instead of {reached}: an input has fewer entries of it"
            ))
            .hint("drop the branch"));
        }
        self.end = end;
        if is_empty {
            if !fresh {
                return Err(Error::corrupt("the branch has no baskets in this file"));
            }
            self.next_entry = end;
        } else if resplit && self.cutter.is_none() {
            let base = first.max(self.placed);
            self.cutter =
                Some(ClusterCutter { cutter: self.new_cutter(self.basket_size), base, next: first });
        }
        Ok(())
    }

    /// The first entry of its cutter.
    pub(super) fn base(&self) -> u64 {
        self.cutter.as_ref().map_or(0, |cutter| cutter.base)
    }

    /// Remembers the largest number of items that it counts.
    pub(super) fn count(&mut self, items: u32) {
        for maximum in &mut self.maxima {
            *maximum = i64::from(items).max(*maximum);
        }
    }

    /// Adds the first entries of some that do not come from a basket; returns full baskets.
    pub(super) fn add(
        &mut self,
        entries: &Entries,
        count: usize,
        borders: &ClusterBorders,
    ) -> Result<Vec<NewBasket>> {
        let mut cuts = Vec::new();
        let cutter = self.cutter.as_mut().ok_or_else(|| Error::corrupt("a branch has no cutter"))?;
        cutter.add(entries, std::iter::once(0..count), borders, &mut cuts)?;
        Ok(cuts)
    }

    /// A cutter of baskets of at most `limit` bytes.
    fn new_cutter(&self, limit: i32) -> Cutter {
        let limit = usize::try_from(limit).unwrap_or(0);
        Cutter::new(limit, self.key.len(), self.offset_len, false)
    }

    /// A cutter that makes a single basket of any size, with a narrow or wide key.
    pub(super) fn single(&self, narrow: bool) -> Cutter {
        let key = NewKey { wide: !narrow, ..self.key.clone() };
        Cutter::new(usize::MAX, key.len(), self.offset_len, false)
    }

    /// The new values of its record.
    pub(super) fn change(&self) -> BranchChange {
        BranchChange {
            compression: self.compression_number,
            basket_size: self.basket_size,
            first_entry: self.first_entry,
            entry_number: self.next_entry,
            total_bytes: self.total_bytes,
            zip_bytes: self.zip_bytes,
            maxima: self.maxima.clone(),
            baskets: self.baskets.clone(),
            keeps_baskets: self.is_absent,
        }
    }
}
