//! Memory of each thread for filling and compressing baskets, reused for the next basket.

use bytes::{Bytes, BytesMut};
use std::cell::RefCell;

/// The largest memory that is kept for the next basket.
const LARGEST: usize = 1 << 24;
/// Small compressed baskets that are written soon share memory blocks of this size, which are freed in order.
/// Separate allocations would fragment memory.
const SHARED: usize = 1 << 20;
/// Larger payloads get their own memory.
const LARGE: usize = SHARED / 8;

thread_local! {
    static BEFORE: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static AFTER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static HELD: RefCell<BytesMut> = RefCell::default();
}

/// Memory for the content of a basket. It may be larger than needed, so use it for a basket that is
/// compressed soon.
pub(super) fn before() -> Vec<u8> {
    BEFORE.take()
}

/// Takes back the memory of a compressed content.
pub(super) fn give_before(content: Vec<u8>) {
    BEFORE.with_borrow_mut(|kept| keep(kept, content));
}

/// Memory for the compressed basket, which [`hold`] copies.
pub(super) fn after() -> Vec<u8> {
    AFTER.take()
}

/// Takes back that memory.
pub(super) fn give_after(room: Vec<u8>) {
    AFTER.with_borrow_mut(|kept| keep(kept, room));
}

fn keep(kept: &mut Vec<u8>, mut room: Vec<u8>) {
    if kept.capacity() < room.capacity() && room.capacity() <= LARGEST {
        room.clear();
        *kept = room;
    }
}

/// An exact-size copy of a payload until the end of its cluster. If it is not written `soon`, it does not
/// share memory, which would keep that of written payloads.
pub(super) fn hold(payload: &[u8], soon: bool) -> Bytes {
    if payload.len() > LARGE || !soon {
        return Bytes::copy_from_slice(payload);
    }
    HELD.with_borrow_mut(|held| {
        if held.capacity() < payload.len() {
            *held = BytesMut::with_capacity(SHARED);
        }
        held.extend_from_slice(payload);
        held.split().freeze()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payloads_are_what_was_given_and_those_that_go_soon_lie_side_by_side() {
        let payloads: Vec<Vec<u8>> = (0..50).map(|n| vec![n; usize::from(n) * LARGE / 40]).collect();
        for soon in [true, false] {
            let held: Vec<Bytes> = payloads.iter().map(|payload| hold(payload, soon)).collect();
            assert!(held.iter().zip(&payloads).all(|(held, payload)| held == payload));
            assert_eq!(held[1].as_ptr_range().end == held[2].as_ptr(), soon);
        }
    }

    #[test]
    fn the_largest_memory_is_kept_that_is_not_too_large() {
        let mut kept = Vec::new();
        for (capacity, expected) in [(10, 10), (30, 30), (20, 30), (LARGEST + 1, 30)] {
            let mut room = Vec::with_capacity(capacity);
            room.push(1);
            keep(&mut kept, room);
            assert!(kept.is_empty() && kept.capacity() == expected);
        }
    }
}
