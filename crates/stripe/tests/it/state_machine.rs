//! Random sequences of operations on a dataset, with processes that die: every kept version reads back exactly, as a model
//! in memory predicts.

use crate::world::{append, create, made, memory, open, put, read, run, soon, stored, sum};
use sapwood_core::ErrorKind;
use sapwood_store::Store;
use sapwood_stripe::{Change, Dataset, GcOptions, Retention, Version};
use sapwood_testkit::{InstrumentedStore, MemoryStore, StoreFault};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// The expected contents of a version: segments by number, with entries and the seeds of their products.
type State = BTreeMap<u32, (u64, BTreeMap<String, u64>)>;

struct Machine {
    lottery: fastrand::Rng,
    store: Arc<MemoryStore>,
    /// The expected contents of each version, from 1.
    versions: Vec<State>,
    oldest: u64,
    tags: BTreeMap<String, u64>,
    seed: u64,
    segments: u32,
    /// The operations so far, for failure messages.
    history: Vec<String>,
}

/// A change, and the state after it.
struct Prepared {
    change: Change,
    next: State,
}

impl Machine {
    async fn new(seed: u64) -> Machine {
        let store = memory();
        store.set_clock(SystemTime::now());
        create(&store).await;
        Machine {
            lottery: fastrand::Rng::with_seed(seed),
            store,
            versions: vec![State::new()],
            oldest: 1,
            tags: BTreeMap::new(),
            seed: 0,
            segments: 0,
            history: Vec::new(),
        }
    }

    fn tip(&self) -> State {
        self.versions.last().unwrap().clone()
    }

    fn products(state: &State) -> BTreeSet<String> {
        state.values().flat_map(|(_, products)| products.keys().cloned()).collect()
    }

    /// A random change that the newest version allows, with its objects stored in `store`.
    async fn prepare(&mut self, dataset: &Dataset) -> Prepared {
        self.seed += 1;
        let (seed, mut next) = (self.seed, self.tip());
        let there: Vec<String> = Machine::products(&next).into_iter().collect();
        let name = (!there.is_empty()).then(|| there[self.lottery.usize(..there.len())].clone());
        let some: Vec<u32> = next.keys().copied().filter(|_| self.lottery.bool()).collect();
        match (self.lottery.u32(..10), name) {
            (0..3, Some(name)) => {
                let some: Vec<u32> = some.into_iter().filter(|id| next[id].1.contains_key(&name)).collect();
                let change = put(dataset, &name, seed, &some, true).await.unwrap();
                for id in some {
                    next.get_mut(&id).unwrap().1.insert(name.clone(), seed);
                }
                Prepared { change, next }
            }
            (3..5, Some(_)) => {
                let name = format!("new{seed}");
                let all: Vec<u32> = next.keys().copied().collect();
                let change = put(dataset, &name, seed, &all, false).await.unwrap();
                for (_, products) in next.values_mut() {
                    products.insert(name.clone(), seed);
                }
                Prepared { change, next }
            }
            (5, Some(name)) if there.len() > 1 => {
                let change = Change::Drop { products: vec![name.clone()] };
                for (_, products) in next.values_mut() {
                    products.remove(&name);
                }
                Prepared { change, next }
            }
            (6, _) if self.oldest < self.versions.len() as u64 => {
                let version = self.lottery.u64(self.oldest..=self.versions.len() as u64);
                next = self.versions[usize::try_from(version - 1).unwrap()].clone();
                Prepared { change: Change::Restore { version }, next }
            }
            _ => {
                let names = if there.is_empty() { vec!["A".to_owned(), "B".to_owned()] } else { there };
                let names: Vec<&str> = names.iter().map(String::as_str).collect();
                let entries = self.lottery.u64(1..40);
                let change = append(&**dataset.store(), &names, seed, entries).await.unwrap();
                let products = names.iter().map(|name| ((*name).to_owned(), seed)).collect();
                // The number that the commit will assign.
                next.insert(u32::MAX, (entries, products));
                Prepared { change, next }
            }
        }
    }

    /// The state after a change, with the number of the new segment.
    fn settle(&mut self, mut next: State, dataset: &Dataset) {
        if let Some(new) = next.remove(&u32::MAX) {
            let id = dataset.snapshot().segments.last().unwrap().id;
            assert!(id > self.segments, "numbers are not given again");
            self.segments = id;
            next.insert(id, new);
        }
        self.versions.push(next);
    }

    async fn step(&mut self) {
        let dataset = open(&self.store).await;
        match self.lottery.u32(..20) {
            0..8 => {
                let Prepared { change, next } = self.prepare(&dataset).await;
                self.history.push(format!("{} {change:?}", change.operation()));
                let done = dataset.commit(&change, made(None), soon()).await.unwrap();
                self.settle(next, &done.dataset);
            }
            8..12 => self.crash(&dataset).await,
            12..14 => {
                let version = self.lottery.u64(self.oldest..=self.versions.len() as u64);
                let name = format!("tag{}", self.lottery.u32(..8));
                let tagged = dataset.at(&Version::Number(version), soon()).await.unwrap();
                if tagged.tag(&name, soon()).await.is_ok() {
                    self.tags.insert(name, version);
                }
            }
            14 => {
                if let Some((name, _)) = self.tags.pop_first() {
                    dataset.untag(&name, soon()).await.unwrap();
                }
            }
            15..17 => {
                let keep = Retention { newest: Some(self.lottery.u64(1..8)), within: None };
                let oldest = dataset.expire(keep, false, soon()).await.unwrap();
                self.history.push(format!("{keep:?}: {oldest}"));
                if oldest > self.oldest {
                    self.oldest = oldest;
                    self.versions.push(self.tip());
                }
            }
            17 => self.store.advance(Duration::from_secs(self.lottery.u64(..20 * 24 * 3600))),
            18 => {
                let options = GcOptions { dry_run: self.lottery.bool(), ..GcOptions::default() };
                dataset.collect(options, soon()).await.unwrap();
            }
            _ => {
                let options = GcOptions { grace: Duration::ZERO, dry_run: false, alone: true };
                // Objects of the last second are not collected, since clocks have a lower resolution.
                self.store.set_clock(SystemTime::now().max(self.store.now(soon()).await.unwrap()));
                self.store.advance(Duration::from_secs(1));
                dataset.collect(options, soon()).await.unwrap();
                let used = self.check().await;
                assert_eq!(stored(&*self.store).await, used);
            }
        }
    }

    /// Commits a job whose process dies in between; the job may run again.
    async fn crash(&mut self, dataset: &Dataset) {
        let Prepared { change, next } = self.prepare(dataset).await;
        let (dies, job) = (self.lottery.u64(..8), format!("job {}", self.seed));
        let fault = if self.lottery.bool() { StoreFault::Before } else { StoreFault::After };
        self.history.push(format!("{} {change:?}, dies at {dies} {fault:?}", change.operation()));
        let faulty = Arc::new(InstrumentedStore::new(self.store.clone()));
        let store = Arc::clone(&faulty) as Arc<dyn Store>;
        let dying = Dataset::open(store, None, &Version::Latest, soon()).await.unwrap();
        faulty.die(faulty.begun() + dies, fault);
        let end = dying.commit(&change, made(Some(&job)), soon()).await;
        let newest = open(&self.store).await;
        let was_made = newest.version() > dataset.version();
        match &end {
            Ok(done) => assert!(was_made && !done.already),
            Err(error) => assert!(!was_made || error.kind() == ErrorKind::CommitUnknown, "{error:?}"),
        }
        if was_made {
            self.settle(next.clone(), &newest);
        }
        if self.lottery.bool() {
            let again = newest.commit(&change, made(Some(&job)), soon()).await.unwrap();
            assert_eq!(again.already, was_made);
            if !was_made {
                self.settle(next, &again.dataset);
            }
        }
    }

    /// Checks all kept versions; returns the objects that they refer to.
    async fn check(&self) -> BTreeSet<String> {
        let dataset = open(&self.store).await;
        assert_eq!(dataset.version(), self.versions.len() as u64);
        assert_eq!(dataset.entry().oldest, self.oldest);
        let tags = dataset.tags(soon()).await.unwrap();
        let tags: BTreeMap<String, u64> = tags.into_iter().map(|tag| (tag.name, tag.version)).collect();
        assert_eq!(tags, self.tags);
        let kept: BTreeSet<u64> =
            (self.oldest..=dataset.version()).chain(self.tags.values().copied()).collect();
        let mut used = BTreeSet::new();
        for version in kept {
            let at = dataset.at(&Version::Number(version), soon()).await.unwrap();
            let (contents, refers) = read(&at).await.unwrap();
            used.extend(refers);
            let wanted = &self.versions[usize::try_from(version - 1).unwrap()];
            let wanted: Vec<_> = wanted
                .values()
                .map(|(entries, products)| {
                    let sums = products.iter().map(|(name, seed)| (name.clone(), sum(name, *seed, *entries)));
                    (*entries, sums.collect::<BTreeMap<_, _>>())
                })
                .collect();
            assert_eq!(contents, wanted, "version {version}");
        }
        used
    }
}

fn go(seeds: std::ops::Range<u64>, steps: u32) {
    for seed in seeds {
        let outcome = std::panic::catch_unwind(|| {
            run(async {
                let mut machine = Machine::new(seed).await;
                for _ in 0..steps {
                    machine.step().await;
                    machine.check().await;
                }
            });
        });
        assert!(outcome.is_ok(), "with seed {seed}");
    }
}

#[test]
fn every_version_that_is_kept_reads_back_exactly() {
    go(0..12, 40);
}

#[test]
#[ignore = "takes minutes"]
fn every_version_that_is_kept_reads_back_exactly_for_long() {
    go(1000..1200, 100);
}
