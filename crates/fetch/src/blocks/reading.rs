//! Reads through blocks: from the disk if they are kept, otherwise by fetching and keeping them.

use super::claims::{BlockClaim, BlockClaims};
use super::grid::{BlockPart, Gather, Grid};
use super::origin::Origin;
use super::store::{BlockStore, BlockWriter, Reservation, StoredBlock};
use crate::wait::late;
use bytes::Bytes;
use futures::stream::{self, StreamExt};
use sapwood_core::{ByteRange, Counters, Deadline, Error, ErrorKind, Result};
use sapwood_source::Identity;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::spawn_blocking;
use tokio::time::Instant;

/// Most bytes of blocks that are fetched together: while some are written, others are in flight.
const BATCH: u64 = 32 << 20;

/// Batches that are in flight together.
const IN_FLIGHT: usize = 2;

/// How often to check whether another process has fetched a block.
const LOOK: Duration = Duration::from_millis(20);

/// How long another process may take to fetch one.
const PATIENCE: Duration = Duration::from_secs(30);

/// Reads an object in blocks that it keeps in a store.
#[derive(Debug)]
pub(super) struct BlockReader {
    origin: Origin,
    grid: Grid,
    store: Box<dyn BlockStore>,
    claims: BlockClaims,
    counters: Arc<Counters>,
}

/// A block that is missing, and which parts of it are wanted.
struct MissingBlock {
    block: u64,
    range: ByteRange,
    parts: Vec<BlockPart>,
}

/// A missing block that this call fetches.
struct OwnBlock {
    missing: MissingBlock,
    claim: BlockClaim,
    place: Box<dyn BlockWriter>,
}

/// Which blocks were found, and which are missing.
#[derive(Default)]
struct Lookup {
    found: Vec<(u64, Vec<Bytes>)>,
    missing: Vec<MissingBlock>,
}

/// Which blocks could be reserved.
#[derive(Default)]
struct Reservations {
    found: Vec<(u64, Vec<Bytes>)>,
    ours: Vec<OwnBlock>,
    nowhere: Vec<(MissingBlock, BlockClaim)>,
    /// True if another process is fetching some.
    elsewhere: bool,
}

impl BlockReader {
    pub(super) fn new(
        origin: Origin,
        block: u64,
        store: Box<dyn BlockStore>,
        counters: Arc<Counters>,
    ) -> Self {
        let grid = Grid::new(origin.identity().size, block);
        BlockReader { origin, grid, store, claims: BlockClaims::default(), counters }
    }

    pub(super) fn identity(&self) -> &Identity {
        self.origin.identity()
    }

    pub(super) async fn read(
        self: &Arc<Self>,
        ranges: &[ByteRange],
        deadline: Deadline,
    ) -> Result<Vec<Bytes>> {
        self.check(ranges)?;
        let read = self.gather(ranges, deadline);
        let late = |_| Err(late().url(&self.origin.identity().url));
        let read = tokio::time::timeout_at(deadline.instant().into(), read).await.unwrap_or_else(late);
        if read.as_ref().is_err_and(|error| error.kind() == ErrorKind::Changed) {
            self.store.outdated();
        }
        read
    }

    fn check(&self, ranges: &[ByteRange]) -> Result<()> {
        let identity = self.origin.identity();
        let beyond =
            |range: &&ByteRange| range.start.checked_add(range.len).is_none_or(|end| end > identity.size);
        match ranges.iter().find(beyond) {
            None => Ok(()),
            Some(range) => {
                let message = format!(
                    "{} bytes were requested, but the file ends at byte {}",
                    range.len, identity.size
                );
                Err(Error::new(ErrorKind::Truncated, message).at(range.start).url(&identity.url))
            }
        }
    }

    async fn gather(self: &Arc<Self>, ranges: &[ByteRange], deadline: Deadline) -> Result<Vec<Bytes>> {
        let mut gather = Gather::new(self.grid, ranges);
        let looked = self.look(gather.missing()).await?;
        self.add(&mut gather, looked.found);
        let mut waited: Option<Instant> = None;
        while !gather.is_done() {
            // Subscribed before checking, so that a release in between is not missed.
            let mut freed = std::pin::pin!(self.claims.freed().notified());
            freed.as_mut().enable();
            let turn = self.turn(gather.missing()).await?;
            let progress = !turn.found.is_empty() || !turn.ours.is_empty() || !turn.nowhere.is_empty();
            self.add(&mut gather, turn.found);
            if !turn.nowhere.is_empty() {
                self.fetch_parts(turn.nowhere, &mut gather, deadline).await?;
            }
            self.fetch_blocks(turn.ours, &mut gather, deadline).await?;
            if progress {
                waited = None;
            } else if !turn.elsewhere {
                freed.await;
            } else if waited.get_or_insert_with(Instant::now).elapsed() < PATIENCE {
                // Not notified of releases: checking claims and releases blocks, so that all waiters would
                // wake each other.
                tokio::time::sleep(LOOK).await;
            } else {
                self.fetch_around(&mut gather, deadline).await?;
            }
        }
        if self.store.kept() >= self.grid.count() {
            self.origin.let_go().await;
        }
        Ok(gather.finish())
    }

    /// Looks up blocks that are kept.
    async fn look(self: &Arc<Self>, wanted: Vec<(u64, Vec<BlockPart>)>) -> Result<Lookup> {
        let this = Arc::clone(self);
        self.blocking(move || {
            let mut looked = Lookup::default();
            for (block, parts) in wanted {
                let range = this.grid.range(block);
                match this.store.find(range).and_then(|held| this.read_held(block, &held, &parts)) {
                    Some(bytes) => looked.found.push((block, bytes)),
                    None => looked.missing.push(MissingBlock { block, range, parts }),
                }
            }
            looked
        })
        .await
    }

    /// Claims and reserves missing blocks: as many as are fetched at once.
    async fn turn(self: &Arc<Self>, wanted: Vec<(u64, Vec<BlockPart>)>) -> Result<Reservations> {
        let this = Arc::clone(self);
        self.blocking(move || {
            let (mut turn, mut bytes) = (Reservations::default(), 0_u64);
            for (block, parts) in wanted {
                if bytes >= BATCH.saturating_mul(IN_FLIGHT as u64) {
                    break;
                }
                let Some(claim) = this.claims.take(block) else { continue };
                let missing = MissingBlock { block, range: this.grid.range(block), parts };
                match this.store.reserve(missing.range) {
                    Reservation::Here(held) => match this.read_held(block, &held, &missing.parts) {
                        Some(found) => turn.found.push((block, found)),
                        None => turn.nowhere.push((missing, claim)),
                    },
                    Reservation::Ours(place) => {
                        bytes = bytes.saturating_add(missing.range.len);
                        turn.ours.push(OwnBlock { missing, claim, place });
                    }
                    Reservation::Elsewhere => turn.elsewhere = true,
                    Reservation::Nowhere => turn.nowhere.push((missing, claim)),
                }
            }
            turn
        })
        .await
    }

    /// The wanted parts of a block that is kept; `None` if the disk fails.
    fn read_held(&self, block: u64, held: &StoredBlock, parts: &[BlockPart]) -> Option<Vec<Bytes>> {
        let start = self.grid.range(block).start;
        let read = |part: &BlockPart| held.read(ByteRange { start: part.range.start - start, ..part.range });
        let read: Result<Vec<Bytes>, _> = parts.iter().map(read).collect();
        match read {
            Ok(bytes) => Some(bytes),
            Err(error) => {
                let url = &self.origin.identity().url;
                log::warn!(target: "sapwood.source", "{url}: a block that was kept cannot be read: {error}");
                None
            }
        }
    }

    fn add(&self, gather: &mut Gather, found: Vec<(u64, Vec<Bytes>)>) {
        for (block, parts) in found {
            self.counters.block_bytes.add(parts.iter().map(|part| part.len() as u64).sum());
            gather.add(block, parts);
        }
    }

    /// Fetches blocks, returns the wanted parts, and keeps the blocks.
    async fn fetch_blocks(
        self: &Arc<Self>,
        ours: Vec<OwnBlock>,
        gather: &mut Gather,
        deadline: Deadline,
    ) -> Result<()> {
        let batches = self.batches(ours);
        let fetch = |batch: Vec<OwnBlock>| async move {
            let ranges: Vec<_> = batch.iter().map(|one| one.missing.range).collect();
            let fetcher = self.origin.fetcher(deadline).await?;
            let blocks = fetcher.fetch_unwaited(&ranges, deadline).await?;
            Ok::<_, Error>((batch, blocks))
        };
        let mut fetched = stream::iter(batches).map(fetch).buffer_unordered(IN_FLIGHT);
        while let Some(one) = fetched.next().await {
            let (batch, blocks) = one?;
            for (one, block) in batch.iter().zip(&blocks) {
                gather.add(one.missing.block, cut(block, &one.missing));
            }
            self.keep(batch, blocks).await?;
        }
        Ok(())
    }

    fn batches(&self, ours: Vec<OwnBlock>) -> Vec<Vec<OwnBlock>> {
        let mut batches: Vec<Vec<OwnBlock>> = Vec::new();
        let mut bytes = u64::MAX;
        for one in ours {
            bytes = bytes.saturating_add(one.missing.range.len);
            match batches.last_mut() {
                Some(batch) if bytes <= BATCH => batch.push(one),
                _ => {
                    bytes = one.missing.range.len;
                    batches.push(vec![one]);
                }
            }
        }
        batches
    }

    async fn keep(&self, batch: Vec<OwnBlock>, blocks: Vec<Bytes>) -> Result<()> {
        self.blocking(move || {
            for (OwnBlock { claim, place, .. }, bytes) in batch.into_iter().zip(blocks) {
                place.keep(&bytes);
                drop(claim);
            }
        })
        .await
    }

    /// Fetches only the wanted parts of blocks that cannot be kept.
    async fn fetch_parts(
        &self,
        missing: Vec<(MissingBlock, BlockClaim)>,
        gather: &mut Gather,
        deadline: Deadline,
    ) -> Result<()> {
        let (missing, claims): (Vec<_>, Vec<_>) = missing.into_iter().unzip();
        // Other readers may want other parts.
        drop(claims);
        let ranges: Vec<_> = missing.iter().flat_map(|one| &one.parts).map(|part| part.range).collect();
        let fetcher = self.origin.fetcher(deadline).await?;
        let mut answers = fetcher.fetch_unwaited(&ranges, deadline).await?.into_iter();
        for one in missing {
            gather.add(one.block, answers.by_ref().take(one.parts.len()));
        }
        Ok(())
    }

    /// Fetches the remaining parts of blocks that another process does not complete in time.
    async fn fetch_around(&self, gather: &mut Gather, deadline: Deadline) -> Result<()> {
        let missing = gather.missing();
        let ranges: Vec<_> = missing.iter().flat_map(|(_, parts)| parts).map(|part| part.range).collect();
        let fetcher = self.origin.fetcher(deadline).await?;
        let mut answers = fetcher.fetch_unwaited(&ranges, deadline).await?.into_iter();
        for (block, parts) in missing {
            gather.add(block, answers.by_ref().take(parts.len()));
        }
        Ok(())
    }

    /// Runs disk operations on threads where they do not block the network.
    async fn blocking<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Result<T> {
        spawn_blocking(work).await.map_err(|error| {
            let message = "the task that reads and writes blocks failed";
            Error::new(ErrorKind::Io, message).url(&self.origin.identity().url).caused_by(error)
        })
    }
}

/// The wanted parts of a fetched block. They are copied: a slice would keep the whole block in memory.
fn cut(block: &Bytes, missing: &MissingBlock) -> Vec<Bytes> {
    let cut = |part: &BlockPart| {
        let start = part.range.start - missing.range.start;
        // Both fit: the block has its length, and lies in memory.
        Bytes::copy_from_slice(&block[start as usize..(start + part.range.len) as usize])
    };
    missing.parts.iter().map(cut).collect()
}
