//! How many entries make a batch and a stripe, and which products share an object.

use std::ops::{Range, RangeInclusive};

/// Ceph stores objects up to this length in one piece, without a list of pieces.
const OBJECT_LIMIT: f64 = 4_194_304.0;

/// Most entries of a basket.
const BATCH_LIMIT: u64 = 1 << 31;

/// A batch whose size has fewer divisors cannot be divided well for large branches.
const FEWEST_DIVISORS: usize = 12;

/// Options of a layout.
#[derive(Debug, Clone, PartialEq)]
pub struct LayoutOptions {
    /// Target size of an object in bytes, measured as the branches are stored at their origin; default 1 MiB.
    /// Below 256 KiB, most of a request's cost is not transfer.
    pub target: u64,
    /// Target size of all products of a batch in bytes; default 32 MiB. Readers and writers hold at least a
    /// batch in memory.
    pub batch_bytes: u64,
    /// Entries of a batch; `None` chooses them.
    pub batch: Option<u64>,
    /// Entries of the clusters that are written, if all have the same number. Batches of whole clusters are
    /// preferred, or clusters of whole batches: no basket is then decompressed twice to write them, and step
    /// sizes that suit one layout suit the other.
    pub cluster: Option<u64>,
    /// Entries that a chosen batch may have.
    pub batch_bounds: RangeInclusive<u64>,
    /// Entries of the segment, if known: batches may never become full.
    pub entries: Option<u64>,
    /// Whether small products share objects.
    pub group: bool,
    /// The store pads objects to a multiple of this many bytes; 0 if it does not. For Ceph's erasure code of
    /// k + m: k × 4 KiB.
    pub pad_quantum: u64,
}

impl Default for LayoutOptions {
    fn default() -> Self {
        LayoutOptions {
            target: 1 << 20,
            batch_bytes: 32 << 20,
            batch: None,
            cluster: None,
            batch_bounds: 1..=1_000_000,
            entries: None,
            group: true,
            pad_quantum: 0,
        }
    }
}

/// How the entries of a segment are divided into objects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SegmentLayout {
    /// Entries of a batch.
    pub batch: u64,
    /// The objects, in the order of their first products.
    pub objects: Vec<ObjectPlan>,
}

/// The contents of one kind of object, and its number of entries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectPlan {
    /// Indices of the planned products; for each, the range of its branches in the object.
    pub products: Vec<(usize, Range<usize>)>,
    /// Entries of an object; divides [`SegmentLayout::batch`].
    pub entries: u64,
}

/// Plans objects for products, given the compressed bytes per entry of each branch.
///
/// Small products share an object. A product that is too large for one is divided by branches: each object
/// has few, large baskets, and few requests read it. Only a branch that is itself too large is divided by
/// entries.
///
/// ```
/// use sapwood_stripe::{LayoutOptions, ObjectPlan, plan};
/// // A large branch, two products of a small one, and one of branches that are large together.
/// let products = [vec![40_000.0], vec![20.0], vec![50.0], vec![600.0, 600.0, 800.0]];
/// let layout = plan(&products, &LayoutOptions::default());
/// assert_eq!(layout.batch, 840);
/// assert_eq!(layout.objects, [
///     ObjectPlan { products: vec![(0, 0..1)], entries: 28 },
///     ObjectPlan { products: vec![(1, 0..1), (2, 0..1)], entries: 840 },
///     ObjectPlan { products: vec![(3, 0..2)], entries: 840 },
///     ObjectPlan { products: vec![(3, 2..3)], entries: 840 },
/// ]);
/// ```
pub fn plan(bytes_per_entry: &[Vec<f64>], options: &LayoutOptions) -> SegmentLayout {
    let known = |bytes: &f64| if bytes.is_finite() { bytes.max(0.0) } else { 0.0 };
    let products: Vec<Vec<f64>> =
        bytes_per_entry.iter().map(|branches| branches.iter().map(known).collect()).collect();
    let target = options.target.max(1) as f64;
    let batch = options.batch.unwrap_or_else(|| choose_batch(products.iter().flatten().sum(), options));
    let batch = batch.clamp(1, BATCH_LIMIT);
    let (divisors, filled) = (divisors(batch), options.entries.unwrap_or(batch).clamp(1, batch));
    let mut objects: Vec<ObjectPlan> = Vec::new();
    // The group that is not full yet, and its bytes.
    let mut open: Option<(usize, f64)> = None;
    let parts = products.iter().enumerate().flat_map(|(product, branches)| {
        divide(branches, filled, target).into_iter().map(move |range| (product, range))
    });
    for (product, range) in parts {
        let branches = products.get(product).and_then(|branches| branches.get(range.clone()));
        let bytes: f64 = branches.unwrap_or_default().iter().sum();
        let whole = bytes * filled as f64;
        let divisible = range.len() < 2 || whole > OBJECT_LIMIT;
        let part = (product, range);
        if !options.group || whole >= target / 2.0 {
            let entries = if divisible { choose_entries(bytes, &divisors, options) } else { batch };
            objects.push(ObjectPlan { products: vec![part], entries });
            continue;
        }
        let room = open.filter(|(_, sum)| sum + whole <= 1.25 * target);
        if let Some((group, sum)) = room
            && let Some(group) = objects.get_mut(group)
        {
            group.products.push(part);
            open = open.map(|(number, _)| (number, sum + whole));
        } else {
            open = Some((objects.len(), whole));
            objects.push(ObjectPlan { products: vec![part], entries: batch });
        }
    }
    SegmentLayout { batch, objects }
}

/// Consecutive branches of which this many entries have about the target size; all of them, if they are
/// smaller.
fn divide(bytes: &[f64], entries: u64, target: f64) -> Vec<Range<usize>> {
    let whole = |bytes: f64| bytes * entries as f64;
    if whole(bytes.iter().sum()) < 1.5 * target {
        return std::iter::once(0..bytes.len()).collect();
    }
    let small: f64 = bytes.iter().copied().filter(|bytes| whole(*bytes) < target).map(whole).sum();
    // As many parts of equal size as come nearest to the target.
    let wanted = small / (small / target).round().max(1.0);
    let (mut parts, mut start, mut sum) = (Vec::new(), 0, 0.0);
    for (branch, bytes) in bytes.iter().copied().map(whole).enumerate() {
        let full = sum + bytes / 2.0 > wanted || bytes >= target || sum >= target;
        if full && branch > start {
            parts.push(start..branch);
            (start, sum) = (branch, 0.0);
        }
        sum += bytes;
    }
    parts.push(start..bytes.len());
    parts
}

/// The number near the target with the most divisors.
fn choose_batch(bytes_per_entry: f64, options: &LayoutOptions) -> u64 {
    let (least, most) = (*options.batch_bounds.start(), *options.batch_bounds.end());
    // As many entries as allowed for an empty product.
    let wanted = (options.batch_bytes as f64 / bytes_per_entry.max(1e-9)) as u64;
    let wanted = wanted.clamp(least.max(1), most.max(least).max(1));
    let of_clusters = options.cluster.and_then(|cluster| choose_clusters(cluster, wanted));
    if let Some(batch) = of_clusters.filter(|batch| options.batch_bounds.contains(batch)) {
        return batch;
    }
    let range = (wanted - wanted / 4).max(least)..=wanted.saturating_add(wanted / 4).min(most);
    let mut best = (1, wanted);
    for (number, count) in smooth_numbers(*range.end()) {
        let nearer = number.abs_diff(wanted) < best.1.abs_diff(wanted);
        if range.contains(&number) && (count > best.0 || count == best.0 && nearer) {
            best = (count, number);
        }
    }
    best.1
}

/// Whole clusters, or an integer fraction of one, with about as many entries as wanted; those with the most
/// divisors.
fn choose_clusters(cluster: u64, wanted: u64) -> Option<u64> {
    // From 1/√2 to √2 of the target: the cluster times a power of two is always in this range.
    let range = wanted.saturating_mul(7) / 10..=wanted.saturating_mul(10) / 7;
    let multiples =
        smooth_numbers(range.end().checked_div(cluster)?).into_iter().map(|(number, _)| number * cluster);
    let parts = divisors(cluster.min(BATCH_LIMIT)).into_iter().filter(|part| cluster.is_multiple_of(*part));
    let near = multiples.chain(parts).filter(|batch| range.contains(batch));
    let counted = near.map(|batch| (divisors(batch).len(), std::cmp::Reverse(batch.abs_diff(wanted)), batch));
    counted.max().filter(|(count, ..)| *count >= FEWEST_DIVISORS).map(|(.., batch)| batch)
}

/// Numbers up to `limit` without prime factors above 7, and how many divisors each has.
fn smooth_numbers(limit: u64) -> Vec<(u64, u64)> {
    let mut numbers = vec![(1u64, 1u64)];
    for prime in [2, 3, 5, 7] {
        for place in 0..numbers.len() {
            let Some(&(mut number, count)) = numbers.get(place) else { break };
            let mut power = 1;
            while let Some(next) = number.checked_mul(prime).filter(|next| *next <= limit) {
                (number, power) = (next, power + 1);
                numbers.push((number, count * power));
            }
        }
    }
    numbers
}

/// All divisors, in no particular order.
fn divisors(number: u64) -> Vec<u64> {
    let small = (1..=number.isqrt()).filter(|divisor| number.is_multiple_of(*divisor));
    small.flat_map(|divisor| [divisor, number / divisor]).collect()
}

/// The divisor with which an object comes nearest to the target, and the store pads it least.
fn choose_entries(bytes_per_entry: f64, divisors: &[u64], options: &LayoutOptions) -> u64 {
    let cost = |entries: u64| {
        let size = (entries as f64 * bytes_per_entry).max(1.0);
        let distance = (size / options.target.max(1) as f64).ln().abs();
        // Lengths differ from stripe to stripe, so half of the last unit is padding on average.
        let padding = options.pad_quantum as f64 / 2.0 / size;
        let too_long = if size > OBJECT_LIMIT && entries > 1 { 1e9 } else { 0.0 };
        distance + padding + too_long
    };
    divisors.iter().copied().min_by(|one, other| cost(*one).total_cmp(&cost(*other))).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn batches_have_many_divisors() {
        let batch = |bytes: f64| plan(&[vec![bytes]], &LayoutOptions::default()).batch;
        // As NanoAOD, MiniAOD and AOD have.
        assert_eq!([4e3, 45e3, 450e3].map(batch), [10080, 840, 72]);
        assert_eq!([0.0, f64::NAN, -1.0].map(batch), [907_200; 3]);
        assert_eq!(batch(1e12), 1);
    }

    #[test]
    fn batches_are_whole_clusters_where_these_can_well_be_divided() {
        let batch = |cluster| {
            let options = LayoutOptions { cluster: Some(cluster), ..LayoutOptions::default() };
            plan(&[vec![4485.0]], &options).batch
        };
        // 7,481 entries have the target size.
        assert_eq!([5000, 1000, 20_000, 40_000, 100].map(batch), [10_000, 9000, 10_000, 8000, 8400]);
        // For prime numbers, for almost empty entries, and for more entries than there are.
        assert_eq!([7919, 0, u64::MAX].map(batch), [7560; 3]);
        let bounded =
            LayoutOptions { cluster: Some(5000), batch_bounds: 1..=8000, ..LayoutOptions::default() };
        assert_eq!(plan(&[vec![4485.0]], &bounded).batch, 7560);
    }

    #[test]
    fn entries_per_stripe_change_with_the_pad_quantum() {
        let entries = |pad_quantum| {
            let options =
                LayoutOptions { target: 20_000, batch: Some(144), pad_quantum, ..LayoutOptions::default() };
            plan(&[vec![1000.0]], &options).objects[0].entries
        };
        assert_eq!((entries(0), entries(32_768)), (18, 24));
    }

    #[test]
    fn few_entries_stand_together() {
        let ten = vec![vec![500.0]; 10];
        let few = |entries| LayoutOptions { entries, ..LayoutOptions::default() };
        assert_eq!(plan(&ten, &few(None)).objects.len(), 10);
        assert_eq!(plan(&ten, &few(Some(30))).objects.len(), 1);
        assert_eq!(plan(&ten, &few(Some(0))).batch, plan(&ten, &few(None)).batch);
    }

    #[test]
    fn products_are_alone_where_grouping_is_not_wanted() {
        let options = LayoutOptions { group: false, batch: Some(720), ..LayoutOptions::default() };
        let objects = plan(&[vec![1.0], vec![1.0]], &options).objects;
        assert_eq!(objects.iter().map(|object| object.products.len()).collect::<Vec<_>>(), [1, 1]);
        assert!(objects.iter().all(|object| object.entries == 720));
    }

    #[test]
    fn branches_stand_apart_where_they_are_too_much_for_an_object() {
        let of = |bytes: &[f64]| {
            let options = LayoutOptions { batch: Some(1000), target: 1000, ..LayoutOptions::default() };
            let objects = plan(&[bytes.to_vec()], &options).objects;
            let part = |object: ObjectPlan| (object.products[0].1.clone(), object.entries);
            objects.into_iter().map(part).collect::<Vec<_>>()
        };
        assert_eq!(of(&[0.5; 6]), [(0..2, 1000), (2..4, 1000), (4..6, 1000)]);
        assert_eq!(of(&[0.4; 3]), [(0..3, 1000)]);
        assert_eq!(of(&[0.7, 4.0, 0.7]), [(0..1, 1000), (1..2, 250), (2..3, 1000)]);
        assert_eq!(of(&[0.0, 8.0]), [(0..1, 1000), (1..2, 125)]);
        assert_eq!(of(&[]), [(0..0, 1000)]);
    }

    proptest! {
        #[test]
        fn every_branch_is_planned_once_and_stripes_divide_the_batch(
            bytes in prop::collection::vec(prop::collection::vec(0.0f64..1e6, 0..9), 0..100),
            target in 1u64..4_000_000,
            batch in prop::option::of(1u64..100_000),
            group: bool,
        ) {
            let options = LayoutOptions { target, batch, group, ..LayoutOptions::default() };
            let layout = plan(&bytes, &options);
            prop_assert!(batch.is_none_or(|batch| batch == layout.batch));
            let mut seen = vec![Vec::new(); bytes.len()];
            for (product, branches) in layout.objects.iter().flat_map(|object| &object.products) {
                seen[*product].extend(branches.clone());
            }
            seen.iter_mut().for_each(|branches| branches.sort_unstable());
            prop_assert_eq!(seen, bytes.iter().map(|branches| (0..branches.len()).collect()).collect::<Vec<Vec<_>>>());
            for object in &layout.objects {
                prop_assert_eq!(layout.batch % object.entries, 0);
                let of_part = |(product, branches): &(usize, Range<usize>)| bytes[*product][branches.clone()].iter().sum::<f64>();
                let size = object.products.iter().map(of_part).sum::<f64>() * object.entries as f64;
                prop_assert!(size <= (target as f64 * 1.25).max(OBJECT_LIMIT) || object.entries == 1);
            }
        }
    }
}
