//! Memory for answers that is reused: the kernel zeroes fresh memory first, which takes as long as receiving the
//! bytes that go there.

use bytes::Bytes;
use std::collections::BTreeMap;
use std::sync::{LazyLock, Mutex};

/// Smaller buffers are not kept: they come from memory that is already in use.
const LEAST: usize = 64 << 10;

/// Most bytes that are kept: about a window, which is freed at once while the next ones are in flight.
const MOST: usize = 64 << 20;

/// Free buffers. This never waits for the lock: a process that forked may have left it locked in its child.
static FREE: LazyLock<Mutex<Free>> = LazyLock::new(Mutex::default);

#[derive(Debug, Default)]
struct Free {
    /// By capacity.
    buffers: BTreeMap<usize, Vec<Vec<u8>>>,
    bytes: usize,
}

impl Free {
    /// The smallest buffer with room for `len` bytes, unless it is more than twice as large.
    fn take(&mut self, len: usize) -> Option<Vec<u8>> {
        let (&capacity, buffers) = self.buffers.range_mut(len..=len.saturating_mul(2)).next()?;
        let buffer = buffers.pop();
        if buffers.is_empty() {
            self.buffers.remove(&capacity);
        }
        self.bytes -= buffer.as_ref().map_or(0, Vec::capacity);
        buffer
    }

    fn give(&mut self, mut buffer: Vec<u8>) {
        let capacity = buffer.capacity();
        if self.bytes + capacity > MOST {
            // These sizes are no longer in use.
            *self = Free::default();
        }
        if capacity <= MOST {
            buffer.clear();
            self.bytes += capacity;
            self.buffers.entry(capacity).or_default().push(buffer);
        }
    }
}

/// The bytes of an answer, while they arrive.
#[derive(Debug)]
pub(super) struct Buffer(Vec<u8>);

impl Buffer {
    /// A buffer with room for at least this many bytes.
    pub(super) fn with_capacity(len: usize) -> Buffer {
        let free = || if len < LEAST { None } else { FREE.try_lock().ok()?.take(len) };
        Buffer(free().unwrap_or_else(|| Vec::with_capacity(len)))
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    /// The bytes. Their memory is kept once the last reference to it is dropped.
    pub(super) fn freeze(mut self) -> Bytes {
        if self.0.capacity() < LEAST {
            return std::mem::take(&mut self.0).into();
        }
        Bytes::from_owner(self)
    }
}

impl AsRef<[u8]> for Buffer {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if self.0.capacity() >= LEAST
            && let Ok(mut free) = FREE.try_lock()
        {
            free.give(std::mem::take(&mut self.0));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_that_fits_is_used_again() {
        let mut free = Free::default();
        for capacity in [LEAST, 3 * LEAST, 9 * LEAST] {
            free.give(Vec::with_capacity(capacity));
        }
        assert_eq!(free.take(2 * LEAST).map(|buffer| buffer.capacity()), Some(3 * LEAST));
        assert!(free.take(2 * LEAST).is_none(), "the next is far too large");
        assert_eq!(free.bytes, 10 * LEAST);
    }

    #[test]
    fn what_is_kept_has_bounds() {
        let mut free = Free::default();
        (0..100).for_each(|_| free.give(Vec::with_capacity(MOST / 10)));
        assert!(free.bytes > 0 && free.bytes <= MOST);
        free.give(Vec::with_capacity(MOST + 1));
        assert!(free.bytes == 0 && free.buffers.is_empty());
    }

    #[test]
    fn bytes_are_those_that_were_pushed() {
        for len in [0, 10, LEAST, 3 * LEAST] {
            for byte in [1, 2] {
                let mut buffer = Buffer::with_capacity(len);
                (0..len).for_each(|_| buffer.push(&[byte]));
                assert_eq!(buffer.freeze(), vec![byte; len]);
            }
        }
    }
}
