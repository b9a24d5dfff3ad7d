//! Keeps blocks in a temporary file without a name that ends with the process, under a budget of bytes.

use super::store::{BlockStore, BlockWriter, Reservation, StoredBlock, write_all_at};
use super::trouble::Trouble;
use sapwood_core::ByteRange;
use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A temporary file of slots, one for each block that is kept. It is created for the first block and grows up
/// to the budget; after that, the least recently used block gives up its slot.
#[derive(Debug)]
pub(super) struct Scratch {
    state: Arc<Mutex<SlotTable>>,
    block: u64,
    /// Most slots.
    most: u64,
    trouble: Arc<Trouble>,
}

#[derive(Debug)]
struct SlotTable {
    /// The process that created the file: after a fork, its slots belong to the parent.
    owner: u32,
    file: Option<Arc<File>>,
    /// By the start of the block.
    kept: HashMap<u64, SlotUse>,
    /// Number of slots in the file.
    slots: u64,
    free: Arc<Mutex<Vec<u64>>>,
    clock: u64,
}

#[derive(Debug)]
struct SlotUse {
    slot: Arc<ScratchSlot>,
    used: u64,
    len: u64,
}

/// A slot that holds a block; free again when the last reader of it is done.
#[derive(Debug)]
struct ScratchSlot {
    number: u64,
    free: Arc<Mutex<Vec<u64>>>,
}

impl Drop for ScratchSlot {
    fn drop(&mut self) {
        self.free.lock().unwrap_or_else(PoisonError::into_inner).push(self.number);
    }
}

impl SlotTable {
    fn new() -> Self {
        SlotTable {
            owner: std::process::id(),
            file: None,
            kept: HashMap::new(),
            slots: 0,
            free: Arc::default(),
            clock: 0,
        }
    }

    fn file(&mut self) -> io::Result<Arc<File>> {
        match &self.file {
            Some(file) => Ok(Arc::clone(file)),
            None => Ok(Arc::clone(self.file.insert(Arc::new(tempfile::tempfile()?)))),
        }
    }

    /// A free slot; `None` if all are being read.
    fn slot(&mut self, most: u64) -> Option<Arc<ScratchSlot>> {
        if let Some(number) = self.free_number() {
            return Some(self.numbered(number));
        }
        if self.slots < most {
            self.slots += 1;
            return Some(self.numbered(self.slots - 1));
        }
        let idle = self.kept.iter().filter(|(_, kept)| Arc::strong_count(&kept.slot) == 1);
        let oldest = idle.min_by_key(|(_, kept)| kept.used).map(|(&start, _)| start)?;
        self.kept.remove(&oldest);
        self.free_number().map(|number| self.numbered(number))
    }

    fn free_number(&self) -> Option<u64> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner).pop()
    }

    fn numbered(&self, number: u64) -> Arc<ScratchSlot> {
        Arc::new(ScratchSlot { number, free: Arc::clone(&self.free) })
    }
}

impl Scratch {
    /// Keeps blocks of `block` bytes, `budget` bytes in all, but at least one block.
    pub(super) fn new(block: u64, budget: u64, trouble: Trouble) -> Self {
        let block = block.max(1);
        let state = Arc::new(Mutex::new(SlotTable::new()));
        Scratch { state, block, most: (budget / block).max(1), trouble: Arc::new(trouble) }
    }

    fn lock(&self) -> MutexGuard<'_, SlotTable> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.owner != std::process::id() {
            *state = SlotTable::new();
        }
        state
    }

    fn room(&self, block: ByteRange) -> io::Result<Option<SlotWriter>> {
        let mut state = self.lock();
        let file = state.file()?;
        let Some(slot) = state.slot(self.most) else { return Ok(None) };
        let at = slot.number.saturating_mul(self.block);
        let (state, trouble) = (Arc::clone(&self.state), Arc::clone(&self.trouble));
        Ok(Some(SlotWriter { state, trouble, file, slot, at, start: block.start }))
    }
}

impl BlockStore for Scratch {
    fn find(&self, block: ByteRange) -> Option<StoredBlock> {
        let mut state = self.lock();
        state.clock += 1;
        let now = state.clock;
        let file = Arc::clone(state.file.as_ref()?);
        let kept = state.kept.get_mut(&block.start)?;
        kept.used = now;
        let at = kept.slot.number.saturating_mul(self.block);
        let slot = Arc::clone(&kept.slot);
        Some(StoredBlock::new(file, ByteRange { start: at, len: kept.len }).with_lease(slot))
    }

    fn reserve(&self, block: ByteRange) -> Reservation {
        if let Some(held) = self.find(block) {
            return Reservation::Here(held);
        }
        if self.trouble.is_known() {
            return Reservation::Nowhere;
        }
        match self.room(block) {
            Ok(Some(room)) => Reservation::Ours(Box::new(room)),
            Ok(None) => Reservation::Nowhere,
            Err(error) => {
                self.trouble.report("cannot create a temporary file", &error);
                Reservation::Nowhere
            }
        }
    }

    fn kept(&self) -> u64 {
        self.lock().kept.len() as u64
    }

    /// Its blocks end with the source of the old version.
    fn outdated(&self) {}
}

/// A slot that a block is to be written to.
#[derive(Debug)]
struct SlotWriter {
    state: Arc<Mutex<SlotTable>>,
    trouble: Arc<Trouble>,
    file: Arc<File>,
    slot: Arc<ScratchSlot>,
    at: u64,
    start: u64,
}

impl BlockWriter for SlotWriter {
    fn keep(self: Box<Self>, bytes: &[u8]) -> bool {
        if let Err(error) = write_all_at(&self.file, bytes, self.at) {
            self.trouble.report("cannot write the temporary file", &error);
            return false;
        }
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        // After a fork, the slot belongs to another file.
        if !Arc::ptr_eq(&state.free, &self.slot.free) {
            return false;
        }
        state.clock += 1;
        let kept = SlotUse { slot: self.slot, used: state.clock, len: bytes.len() as u64 };
        state.kept.insert(self.start, kept);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(index: u64) -> ByteRange {
        ByteRange { start: index * 4, len: 4 }
    }

    fn keep(scratch: &Scratch, index: u64) -> bool {
        match scratch.reserve(block(index)) {
            Reservation::Ours(place) => place.keep(&[index as u8; 4]),
            _ => false,
        }
    }

    fn read(scratch: &Scratch, index: u64) -> Option<Vec<u8>> {
        let held = scratch.find(block(index))?;
        Some(held.read(ByteRange { start: 1, len: 3 }).unwrap().to_vec())
    }

    fn scratch(budget: u64) -> Scratch {
        Scratch::new(4, budget, Trouble::new("f"))
    }

    #[test]
    fn the_block_used_least_recently_makes_room() {
        let scratch = scratch(8);
        assert!(keep(&scratch, 0) && keep(&scratch, 1));
        assert_eq!(read(&scratch, 0), Some(vec![0; 3]));
        assert!(keep(&scratch, 2));
        assert_eq!([0, 1, 2].map(|i| read(&scratch, i).is_some()), [true, false, true]);
        assert_eq!(scratch.lock().file.as_ref().unwrap().metadata().unwrap().len(), 8);
    }

    #[test]
    fn a_block_that_is_being_read_stays() {
        let scratch = scratch(4);
        assert!(keep(&scratch, 0));
        let held = scratch.find(block(0)).unwrap();
        assert!(matches!(scratch.reserve(block(1)), Reservation::Nowhere));
        assert_eq!(held.read(ByteRange { start: 0, len: 4 }).unwrap(), [0; 4].as_slice());
        drop(held);
        assert!(keep(&scratch, 1));
        assert_eq!(read(&scratch, 1), Some(vec![1; 3]));
    }

    #[test]
    fn a_released_slot_is_reused() {
        let scratch = scratch(4);
        drop(scratch.reserve(block(0)));
        assert!(keep(&scratch, 1));
        assert_eq!(scratch.lock().slots, 1);
    }

    #[test]
    fn after_a_fork_the_slots_are_the_parents() {
        let scratch = scratch(8);
        assert!(keep(&scratch, 0));
        let Reservation::Ours(place) = scratch.reserve(block(1)) else { panic!("there is room") };
        scratch.lock().owner += 1;
        assert!(scratch.find(block(0)).is_none());
        assert!(!place.keep(&[1; 4]), "it was reserved in the file of the parent");
        assert!(keep(&scratch, 0));
    }
}
