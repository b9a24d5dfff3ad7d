//! A version of a dataset, for reading: its tree, and the baskets of its branches, located on first use.

use super::addresses::{AddressSpace, SegmentStripes};
use super::auxiliary::AuxiliaryFiles;
use super::options::default_compression;
use super::schema::{BranchOrigin, ParsedSchema, UnionTree, cluster_starts, empty_version, total};
use super::source::StripeSource;
use super::template::{Template, open_tree};
use super::tree_writer::UnionTreeWriter;
use bytes::Bytes;
use futures::stream::{self, StreamExt, TryStreamExt};
use sapwood_core::{Call, Counters, Deadline, Error, ErrorKind, Result};
use sapwood_root::TreeRecord;
use sapwood_store::Store;
use sapwood_streamer::Compiler;
use sapwood_stripe::{Dataset, ListIndex, ListSections, Snapshot, StripeList, read_lists};
use sapwood_table::EntryStatistics;
use sapwood_tfile::{FileHeader, Record, StreamerInfos};
use sapwood_ttree::BasketRef;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

/// Largest gap between stripe lists that are read together.
const GAP: u64 = 64 << 10;
/// Requests for stripe lists in flight.
const TOGETHER: usize = 32;

/// A dataset at one version, for reading.
#[derive(Debug)]
pub struct DatasetView {
    /// The snapshot of the version.
    pub snapshot: Arc<Snapshot>,
    /// The URL of the dataset, with the version.
    url: String,
    /// By number of the base.
    stores: Vec<Arc<dyn Store>>,
    schemas: Arc<[ParsedSchema]>,
    addresses: Arc<AddressSpace>,
    /// For each product, its stripes in each segment.
    stripes: Vec<OnceLock<Vec<AddressedStripes>>>,
    auxiliary: OnceLock<AuxiliaryFiles>,
    /// The snapshot without segments, and its tree without entries; made on first use.
    frame: OnceLock<Snapshot>,
    tree_writer: Arc<OnceLock<UnionTreeWriter>>,
    counters: Arc<Counters>,
}

/// The stripes of a product in a segment, with the address of each.
#[derive(Debug)]
struct AddressedStripes {
    stripes: Arc<SegmentStripes>,
    addresses: Vec<u64>,
}

impl DatasetView {
    /// A view of the version that a dataset is opened at. The cost of reading is added to `counters`.
    pub fn new(dataset: &Dataset, counters: Arc<Counters>) -> Result<DatasetView> {
        let snapshot = Arc::clone(dataset.snapshot());
        let url = format!("{}@v{}", dataset.store().url(), dataset.version());
        let bases = 0..=u32::try_from(snapshot.bases.len()).unwrap_or(u32::MAX);
        let stores = bases.map(|base| dataset.base(base)).collect::<Result<_>>()?;
        let schemas = snapshot.schemas.iter().map(|schema| ParsedSchema::new(schema, &snapshot.tree));
        let schemas = schemas.collect::<Result<Vec<_>>>()?.into();
        let stripes = snapshot.products.iter().map(|_| OnceLock::new()).collect();
        Ok(DatasetView {
            snapshot,
            url,
            stores,
            schemas,
            addresses: Arc::default(),
            stripes,
            auxiliary: OnceLock::new(),
            frame: OnceLock::new(),
            tree_writer: Arc::default(),
            counters,
        })
    }

    /// The same version, restricted to the entries of one segment, by index.
    pub fn part(&self, segment: usize) -> DatasetView {
        let frame = || Snapshot { segments: Vec::new(), ..(*self.snapshot).clone() };
        let segments = self.snapshot.segments.get(segment).cloned().into_iter().collect();
        DatasetView {
            snapshot: Arc::new(Snapshot { segments, ..self.frame.get_or_init(frame).clone() }),
            url: self.url.clone(),
            stores: self.stores.clone(),
            schemas: Arc::clone(&self.schemas),
            addresses: Arc::default(),
            stripes: self.stripes.iter().map(|_| OnceLock::new()).collect(),
            auxiliary: OnceLock::new(),
            frame: OnceLock::new(),
            tree_writer: Arc::clone(&self.tree_writer),
            counters: Arc::clone(&self.counters),
        }
    }

    /// The URL of the dataset, with the version; without secrets.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The source of the virtual file.
    pub fn source(&self) -> StripeSource {
        StripeSource::new(
            self.url.clone(),
            self.snapshot.id.to_string(),
            self.stores.clone(),
            Arc::clone(&self.addresses),
        )
    }

    /// The file that the tree appears to be in: the file of the first schema.
    pub fn file(&self) -> Result<(&Bytes, &FileHeader)> {
        let schema = self.snapshot.schemas.first().zip(self.schemas.first());
        schema
            .map(|(schema, parsed)| (&schema.file, &parsed.header))
            .ok_or_else(|| empty_version().url(self.url()))
    }

    /// The descriptions of the classes of all schemas.
    pub fn streamers(&self) -> StreamerInfos {
        self.schemas.iter().flat_map(|schema| schema.streamers.iter()).cloned().collect()
    }

    /// The same, as stored: each record with the version of ROOT that wrote it.
    pub fn descriptions(&self) -> Result<Vec<(Record, u32)>> {
        let records = self.schemas.iter().zip(&self.snapshot.schemas).map(|(parsed, schema)| {
            let record = ParsedSchema::description(schema)?;
            Ok(record.map(|record| (record, parsed.header.version)))
        });
        records.filter_map(Result::transpose).collect()
    }

    /// The compilers for the classes of each schema.
    pub fn compilers(&self) -> Vec<Compiler> {
        self.schemas.iter().map(|schema| Compiler::new(schema.streamers.clone())).collect()
    }

    /// The tree, and the origin of each of its branches.
    pub fn tree(&self) -> Result<(sapwood_ttree::TTree, Vec<BranchOrigin>)> {
        let union = UnionTree::new(&self.snapshot, &self.schemas).map_err(|error| error.url(self.url()))?;
        Ok((union.tree, union.origins))
    }

    /// The tree as its record in a file, without baskets; the origin of each branch; and the starts of the clusters.
    pub fn record(&self, call: &mut Call<'_>) -> Result<(TreeRecord, Vec<BranchOrigin>, Vec<u64>)> {
        let snapshot = &self.snapshot;
        let mut tree = match self.tree_writer.get() {
            Some(tree) => tree.clone(),
            None => {
                let template = Template::of_snapshot(snapshot, call)?;
                let tree = UnionTreeWriter::new(&template, call)?;
                self.tree_writer.get_or_init(|| tree).clone()
            }
        };
        for file in self.auxiliary(call)?.files() {
            tree.raise(&open_tree(file, &snapshot.tree, call)?);
        }
        for segment in &snapshot.segments {
            tree.end_segment(segment.entries, segment.batch);
        }
        let (record, origins) = tree.into_record(default_compression()?)?;
        Ok((record, origins, cluster_starts(snapshot, total(snapshot)?)?))
    }

    /// The auxiliary files of the segments, read on first use.
    pub fn auxiliary(&self, call: &mut Call<'_>) -> Result<&AuxiliaryFiles> {
        if let Some(auxiliary) = self.auxiliary.get() {
            return Ok(auxiliary);
        }
        let store = |base| self.store(base).map(Arc::clone);
        let counters = Arc::clone(&self.counters);
        let auxiliary = AuxiliaryFiles::read(self.url(), &self.snapshot, store, counters, call)?;
        Ok(self.auxiliary.get_or_init(|| auxiliary))
    }

    fn store(&self, base: u32) -> Result<&Arc<dyn Store>> {
        let store = usize::try_from(base).ok().and_then(|base| self.stores.get(base));
        store.ok_or_else(|| Error::unsupported(format!("the dataset has no base {base}")))
    }

    /// Total size in bytes of the stripes located so far.
    pub fn known_bytes(&self) -> u64 {
        let known = self.stripes.iter().filter_map(OnceLock::get).flatten();
        known.flat_map(|known| known.stripes.list.stripes()).map(|stripe| u64::from(stripe.len)).sum()
    }

    /// Locates the stripes of some branches.
    pub(super) async fn find_stripes_of(&self, origins: &[BranchOrigin], deadline: Deadline) -> Result<()> {
        let products = origins.iter().map(|origin| origin.product).collect();
        self.find_stripes(&products, deadline).await.map_err(|error| error.url(self.url()))
    }

    /// The name of a branch's product.
    pub(super) fn product(&self, origin: BranchOrigin) -> Option<&str> {
        self.snapshot.products.get(origin.product).map(|product| product.name.as_str())
    }

    /// The baskets with entries of a branch, whose stripes are located.
    pub(super) fn baskets(&self, origin: BranchOrigin) -> Vec<BasketRef> {
        let known = self.stripes.get(origin.product).and_then(OnceLock::get);
        let known = known.into_iter().flatten();
        known
            .flat_map(|AddressedStripes { stripes, addresses }| {
                addresses.iter().enumerate().filter_map(move |(number, address)| {
                    let start = stripes.list.start(origin.branch, number)?;
                    let basket = stripes.list.basket(origin.branch, number)?;
                    (basket.len > 0 && basket.entries > 0).then_some(BasketRef {
                        first_entry: stripes.first_entry + basket.first_entry,
                        entries: basket.entries,
                        offset: address + u64::from(start),
                        len: u64::from(basket.len),
                        embedded: None,
                    })
                })
            })
            .collect()
    }

    /// The statistics of a branch, whose stripes are located.
    pub(super) fn statistics(&self, origin: BranchOrigin) -> Vec<EntryStatistics> {
        let known = self.stripes.get(origin.product).and_then(OnceLock::get);
        let stripes = known.into_iter().flatten().flat_map(|known| {
            let stripes = &known.stripes;
            let of_branch = stripes
                .list
                .stripes()
                .enumerate()
                .filter(move |(_, stripe)| stripe.branches.contains(&origin.branch));
            of_branch.map(move |(number, stripe)| {
                let first = stripes.first_entry + stripe.first_entry;
                let statistics = stripes.list.statistics(origin.branch, number);
                EntryStatistics { entries: first..first + stripe.entries, statistics }
            })
        });
        stripes.collect()
    }

    /// Locates the stripes of some products; all their lists are requested together.
    async fn find_stripes(&self, products: &BTreeSet<usize>, deadline: Deadline) -> Result<()> {
        let unknown = |number: &&usize| self.stripes.get(**number).is_some_and(|known| known.get().is_none());
        let mut found: BTreeMap<usize, BTreeMap<usize, StripeList>> =
            products.iter().filter(unknown).map(|number| (*number, BTreeMap::new())).collect();
        let mut sections = ListSections::new();
        for number in found.keys() {
            let Some(product) = self.snapshot.products.get(*number) else { continue };
            for (index, segment) in self.snapshot.segments.iter().enumerate() {
                let list = segment.lists.get(&product.id).ok_or_else(|| {
                    let message =
                        format!("segment {} does not have the product '{}'", segment.id, product.name);
                    Error::corrupt(message).hint("add it for these entries, or drop it")
                })?;
                sections.entry((list.base, list.id)).or_default().push((*number, index));
            }
        }
        let parts = sections.into_iter().flat_map(|((base, _), lists)| {
            self.group(lists).into_iter().map(move |part| self.read_lists(base, part, deadline))
        });
        let read = stream::iter(parts.collect::<Vec<_>>()).buffer_unordered(TOGETHER);
        for ((product, segment), list) in read.try_collect::<Vec<_>>().await?.into_iter().flatten() {
            found.entry(product).or_default().insert(segment, list?);
        }
        for (number, lists) in found {
            self.know(number, lists)?;
        }
        Ok(())
    }

    /// Groups lists of one object that are close together.
    fn group(&self, mut lists: Vec<ListIndex>) -> Vec<Vec<ListIndex>> {
        let span = |&(product, segment): &ListIndex| {
            let product = self.snapshot.products.get(product);
            let list = product.zip(self.snapshot.segments.get(segment));
            let list = list.and_then(|(product, segment)| segment.lists.get(&product.id));
            list.map_or((0, 0), |list| (list.offset, list.offset.saturating_add(list.len)))
        };
        lists.sort_unstable_by_key(span);
        let groups = lists.chunk_by(|one, next| span(next).0 <= span(one).1.saturating_add(GAP));
        groups.map(<[ListIndex]>::to_vec).collect()
    }

    /// Reads stripe lists of one object in a base.
    async fn read_lists(
        &self,
        base: u32,
        lists: Vec<ListIndex>,
        deadline: Deadline,
    ) -> Result<Vec<(ListIndex, Result<StripeList>)>> {
        let store = self.store(base)?;
        read_lists(&**store, &self.snapshot, lists, deadline).await.map_err(|error| match error.kind() {
            ErrorKind::NotFound => {
                let lost = Error::corrupt("a stripe list is lost: its object is not in the store");
                lost.url(error.url_str().unwrap_or(store.url())).caused_by(error)
            }
            _ => error,
        })
    }

    /// Assigns addresses to the stripes of a product, given its list in each segment.
    fn know(&self, product: usize, lists: BTreeMap<usize, StripeList>) -> Result<()> {
        let (Some(place), Some(described)) = (self.stripes.get(product), self.snapshot.products.get(product))
        else {
            return Ok(());
        };
        let mut first_entry = 0;
        let mut known = Vec::with_capacity(lists.len());
        for (segment, list) in self.snapshot.segments.iter().zip(lists.into_values()) {
            let stripes = Arc::new(SegmentStripes { product: described.name.clone(), first_entry, list });
            let addresses = self.addresses.place(&stripes)?;
            known.push(AddressedStripes { stripes, addresses });
            first_entry += segment.entries;
        }
        place.get_or_init(|| known);
        Ok(())
    }
}
