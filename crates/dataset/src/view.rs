//! A version of a dataset that is read: which baskets its branches have, found when they are wanted first.

use super::beside::Beside;
use super::grafted::Grafted;
use super::objects::{Objects, Stripes};
use super::options::stored;
use super::schema::{Origin, Parsed, Union, cluster_starts, total};
use super::source::StripeSource;
use super::template::{Template, open_tree};
use bytes::Bytes;
use futures::stream::{self, StreamExt, TryStreamExt};
use sapwood_core::{ByteRange, Call, Counters, Deadline, Error, ErrorKind, Result};
use sapwood_root::TreeRecord;
use sapwood_store::Store;
use sapwood_streamer::Compiler;
use sapwood_stripe::{Dataset, Id, ObjectRef, Snapshot, StripeList, keys};
use sapwood_table::EntryStatistics;
use sapwood_table::pool::wait;
use sapwood_tfile::{FileHeader, Record, StreamerInfos};
use sapwood_ttree::BasketRef;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

/// Parts of an object that are so near are read together.
const GAP: u64 = 64 << 10;
/// Requests for stripe lists that are in flight together.
const TOGETHER: usize = 32;

/// A version of a dataset.
#[derive(Debug)]
pub struct View {
    /// The snapshot of the version.
    pub snapshot: Arc<Snapshot>,
    /// The URL of the dataset, with the version.
    url: String,
    /// By the number of the base.
    stores: Vec<Arc<dyn Store>>,
    schemas: Arc<[Parsed]>,
    objects: Arc<Objects>,
    /// Of each product: its stripes in each segment.
    stripes: Vec<OnceLock<Vec<Known>>>,
    beside: OnceLock<Beside>,
    /// The snapshot without segments, and its tree without entries; made when they are needed.
    frame: OnceLock<Snapshot>,
    grafted: Arc<OnceLock<Grafted>>,
    counters: Arc<Counters>,
}

/// The stripes of a product in a segment, and the address of each.
#[derive(Debug)]
struct Known {
    stripes: Arc<Stripes>,
    addresses: Vec<u64>,
}

/// A stripe list that is wanted: the places of its product and its segment in the snapshot, and where it is.
type Wanted<'a> = (usize, usize, &'a ObjectRef);

impl View {
    /// The version that a dataset is at. What reading it costs is added to `counters`.
    pub fn new(dataset: &Dataset, counters: Arc<Counters>) -> Result<View> {
        let snapshot = Arc::clone(dataset.snapshot());
        let url = format!("{}@v{}", dataset.store().url(), dataset.version());
        let bases = 0..=u32::try_from(snapshot.bases.len()).unwrap_or(u32::MAX);
        let stores = bases.map(|base| dataset.base(base)).collect::<Result<_>>()?;
        let schemas = snapshot.schemas.iter().map(|schema| Parsed::new(schema, &snapshot.tree));
        let schemas = schemas.collect::<Result<Vec<_>>>()?.into();
        let stripes = snapshot.products.iter().map(|_| OnceLock::new()).collect();
        Ok(View {
            snapshot,
            url,
            stores,
            schemas,
            objects: Arc::default(),
            stripes,
            beside: OnceLock::new(),
            frame: OnceLock::new(),
            grafted: Arc::default(),
            counters,
        })
    }

    /// The same version with the entries of one segment only, by its place.
    pub fn part(&self, segment: usize) -> View {
        let frame = || Snapshot { segments: Vec::new(), ..(*self.snapshot).clone() };
        let segments = self.snapshot.segments.get(segment).cloned().into_iter().collect();
        View {
            snapshot: Arc::new(Snapshot { segments, ..self.frame.get_or_init(frame).clone() }),
            url: self.url.clone(),
            stores: self.stores.clone(),
            schemas: Arc::clone(&self.schemas),
            objects: Arc::default(),
            stripes: self.stripes.iter().map(|_| OnceLock::new()).collect(),
            beside: OnceLock::new(),
            frame: OnceLock::new(),
            grafted: Arc::clone(&self.grafted),
            counters: Arc::clone(&self.counters),
        }
    }

    /// Where the dataset is, with the version; without secrets.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// What readers see as the file.
    pub fn source(&self) -> StripeSource {
        StripeSource::new(
            self.url.clone(),
            self.snapshot.id.to_string(),
            self.stores.clone(),
            Arc::clone(&self.objects),
        )
    }

    /// The file that the tree seems to be in: that of the first schema.
    pub fn file(&self) -> Result<(&Bytes, &FileHeader)> {
        let schema = self.snapshot.schemas.first().zip(self.schemas.first());
        schema.map(|(schema, parsed)| (&schema.file, &parsed.header)).ok_or_else(|| {
            Error::new(ErrorKind::Missing, "this version of the dataset holds nothing")
                .hint("'sapwood stripe log' tells of the others")
                .url(self.url())
        })
    }

    /// The descriptions of the classes of all schemas.
    pub fn streamers(&self) -> StreamerInfos {
        self.schemas.iter().flat_map(|schema| schema.streamers.iter()).cloned().collect()
    }

    /// The same, as they are stored: each record with the version of ROOT that wrote it.
    pub fn descriptions(&self) -> Result<Vec<(Record, u32)>> {
        let records = self.schemas.iter().zip(&self.snapshot.schemas).map(|(parsed, schema)| {
            let record = Parsed::description(schema)?;
            Ok(record.map(|record| (record, parsed.header.version)))
        });
        records.filter_map(Result::transpose).collect()
    }

    /// What compiles the classes of each schema.
    pub fn compilers(&self) -> Vec<Compiler> {
        self.schemas.iter().map(|schema| Compiler::new(schema.streamers.clone())).collect()
    }

    /// The tree, and where each of its branches comes from.
    pub fn tree(&self) -> Result<(sapwood_ttree::TTree, Vec<Origin>)> {
        let union = Union::new(&self.snapshot, &self.schemas).map_err(|error| error.url(self.url()))?;
        Ok((union.tree, union.origins))
    }

    /// The tree as the record that a file would have of it, but for its baskets; and where its clusters begin.
    pub fn record(&self, call: &mut Call<'_>) -> Result<(TreeRecord, Vec<Origin>, Vec<u64>)> {
        let snapshot = &self.snapshot;
        let mut tree = match self.grafted.get() {
            Some(tree) => tree.clone(),
            None => {
                let template = Template::of_snapshot(snapshot, call)?;
                let tree = Grafted::new(&template, call)?;
                self.grafted.get_or_init(|| tree).clone()
            }
        };
        for file in self.beside(call)?.files() {
            tree.raise(&open_tree(file, &snapshot.tree, call)?);
        }
        for segment in &snapshot.segments {
            tree.end_segment(segment.entries, segment.batch);
        }
        let (record, origins) = tree.into_record(stored()?)?;
        Ok((record, origins, cluster_starts(snapshot, total(snapshot)?)?))
    }

    /// What came beside the entries; read once, when it is asked for first.
    pub fn beside(&self, call: &mut Call<'_>) -> Result<&Beside> {
        if let Some(beside) = self.beside.get() {
            return Ok(beside);
        }
        let store = |base| self.store(base).map(Arc::clone);
        let counters = Arc::clone(&self.counters);
        let beside = Beside::read(self.url(), &self.snapshot, store, counters, call)?;
        Ok(self.beside.get_or_init(|| beside))
    }

    fn store(&self, base: u32) -> Result<&Arc<dyn Store>> {
        let store = usize::try_from(base).ok().and_then(|base| self.stores.get(base));
        store.ok_or_else(|| Error::unsupported(format!("the base {base} is not known")))
    }

    /// Bytes of the stripes that are known so far.
    pub fn known_bytes(&self) -> u64 {
        let known = self.stripes.iter().filter_map(OnceLock::get).flatten();
        known.flat_map(|known| known.stripes.list.stripes()).map(|stripe| u64::from(stripe.len)).sum()
    }

    /// Finds the stripes that hold some branches, where they are not known.
    pub(super) async fn find_stripes_of(&self, origins: &[Origin], deadline: Deadline) -> Result<()> {
        let products = origins.iter().map(|origin| origin.product).collect();
        self.find_stripes(&products, deadline).await.map_err(|error| error.url(self.url()))
    }

    /// The name of the product that a branch belongs to.
    pub(super) fn product(&self, origin: Origin) -> Option<&str> {
        self.snapshot.products.get(origin.product).map(|product| product.name.as_str())
    }

    /// The baskets of some branches.
    pub fn baskets_of(&self, origins: &[Origin], call: &mut Call<'_>) -> Result<Vec<Vec<BasketRef>>> {
        wait(self.find_stripes_of(origins, call.deadline()), call)?;
        Ok(origins.iter().map(|origin| self.baskets(*origin)).collect())
    }

    /// The baskets of a branch; its stripes are known.
    pub(super) fn baskets(&self, origin: Origin) -> Vec<BasketRef> {
        let known = self.stripes.get(origin.product).and_then(OnceLock::get);
        let known = known.into_iter().flatten();
        known
            .flat_map(|Known { stripes, addresses }| {
                addresses.iter().enumerate().filter_map(move |(number, address)| {
                    let start = stripes.list.start(origin.branch, number)?;
                    let basket = stripes.list.basket(origin.branch, number)?;
                    (basket.len > 0).then_some(BasketRef {
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

    /// What is known of the values of a branch; its stripes are known.
    pub(super) fn statistics(&self, origin: Origin) -> Vec<EntryStatistics> {
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

    /// Finds the stripes of some products: the parts of all lists that tell of them are asked for together.
    async fn find_stripes(&self, products: &BTreeSet<usize>, deadline: Deadline) -> Result<()> {
        let unknown = |number: &&usize| self.stripes.get(**number).is_some_and(|known| known.get().is_none());
        let mut wanted: BTreeMap<(u32, Id), Vec<Wanted<'_>>> = BTreeMap::new();
        let mut found: BTreeMap<usize, BTreeMap<usize, StripeList>> = BTreeMap::new();
        for number in products.iter().filter(unknown) {
            found.entry(*number).or_default();
            let Some(product) = self.snapshot.products.get(*number) else { continue };
            for (place, segment) in self.snapshot.segments.iter().enumerate() {
                let list = segment.lists.get(&product.id).ok_or_else(|| {
                    let message = format!("the product '{}' is not in segment {}", product.name, segment.id);
                    Error::corrupt(message).hint("add it for these entries, or drop it")
                })?;
                wanted.entry((list.base, list.id)).or_default().push((*number, place, list));
            }
        }
        let parts = wanted.into_values().flat_map(together);
        let read = stream::iter(parts.map(|part| self.read_lists(part, deadline))).buffer_unordered(TOGETHER);
        for (product, segment, list) in read.try_collect::<Vec<_>>().await?.into_iter().flatten() {
            found.entry(product).or_default().insert(segment, list);
        }
        for (number, lists) in found {
            self.know(number, lists)?;
        }
        Ok(())
    }

    /// Reads stripe lists that lie near each other in one object.
    async fn read_lists(
        &self,
        part: Vec<Wanted<'_>>,
        deadline: Deadline,
    ) -> Result<Vec<(usize, usize, StripeList)>> {
        let Some((.., first)) = part.first() else { return Ok(Vec::new()) };
        let end = part.iter().map(|(.., list)| list.offset.saturating_add(list.len)).max().unwrap_or(0);
        let range = ByteRange::new(first.offset, end - first.offset)?;
        let store = self.store(first.base)?;
        let key = keys::list(first.id);
        let read = store.get(&key, Some(range), deadline).await;
        let lost = |error: Error| match error.kind() {
            ErrorKind::NotFound => {
                let lost = Error::corrupt("a stripe list is lost: its object is not in the store");
                lost.url(format!("{}/{key}", store.url())).caused_by(error)
            }
            _ => error,
        };
        let bytes = read.map_err(lost)?;
        let decode = |(product, segment, list): Wanted<'_>| {
            let described = self.snapshot.products.get(product).zip(self.snapshot.segments.get(segment));
            let (branches, entries) = described.map_or((0, 0), |(p, s)| (p.branches.len(), s.entries));
            let start = usize::try_from(list.offset - range.start).unwrap_or(usize::MAX);
            let end = start.saturating_add(usize::try_from(list.len).unwrap_or(usize::MAX));
            let section = bytes.get(start..end).unwrap_or_default();
            list.verify(section)
                .and_then(|()| StripeList::decode(section, branches, entries))
                .map(|list| (product, segment, list))
        };
        let lists = part.into_iter().map(decode).collect::<Result<_>>();
        lists.map_err(|error| error.url(format!("{}/{key}", store.url())))
    }

    /// The stripes of a product in all segments are found.
    fn know(&self, product: usize, lists: BTreeMap<usize, StripeList>) -> Result<()> {
        let (Some(place), Some(described)) = (self.stripes.get(product), self.snapshot.products.get(product))
        else {
            return Ok(());
        };
        let mut first_entry = 0;
        let mut known = Vec::with_capacity(lists.len());
        for (segment, list) in self.snapshot.segments.iter().zip(lists.into_values()) {
            let stripes = Arc::new(Stripes { product: described.name.clone(), first_entry, list });
            let addresses = self.objects.place(&stripes)?;
            known.push(Known { stripes, addresses });
            first_entry += segment.entries;
        }
        place.get_or_init(|| known);
        Ok(())
    }
}

/// Parts of one object in the order of their places, those together that lie near each other.
fn together(mut wanted: Vec<Wanted<'_>>) -> Vec<Vec<Wanted<'_>>> {
    wanted.sort_unstable_by_key(|(.., list)| list.offset);
    let end = |list: &ObjectRef| list.offset.saturating_add(list.len);
    let parts = wanted.chunk_by(|(.., one), (.., next)| next.offset <= end(one).saturating_add(GAP));
    parts.map(<[Wanted<'_>]>::to_vec).collect()
}
