//! Memory for array data: aligned to 8 bytes, viewed as any plain number type; own memory, or shared and read-only.

use bytemuck::Pod;
use bytes::Bytes;
use std::sync::Arc;

/// A block of array data that is aligned for every number type.
///
/// ```
/// use sapwood_core::Buffer;
/// let mut buffer = Buffer::zeroed(3 * 4);
/// buffer.view_mut::<f32>()[1] = 2.5;
/// assert_eq!(buffer.view::<f32>(), [0.0, 2.5, 0.0]);
/// ```
#[derive(Debug, Clone)]
pub struct Buffer(Memory);

#[derive(Debug, Clone)]
enum Memory {
    Own {
        words: Vec<u64>,
        len: usize,
    },
    /// Aligned memory that others read, too, such as a file that is mapped into memory.
    Shared(Bytes),
}

impl Default for Buffer {
    fn default() -> Self {
        Buffer::zeroed(0)
    }
}

impl PartialEq for Buffer {
    fn eq(&self, other: &Self) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl Eq for Buffer {}

/// Shares the bytes if they are aligned to 8 bytes, and copies them otherwise.
impl From<Bytes> for Buffer {
    fn from(bytes: Bytes) -> Self {
        if bytes.as_ptr().cast::<u64>().is_aligned() {
            return Buffer(Memory::Shared(bytes));
        }
        Buffer::from_slice(&bytes)
    }
}

/// Keeps a buffer for those that share its memory.
struct SharedOwner(Arc<Buffer>);

impl AsRef<[u8]> for SharedOwner {
    fn as_ref(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

impl Buffer {
    /// The same memory as [shared](Buffer::is_shared) memory.
    pub fn share(self: &Arc<Self>) -> Arc<Buffer> {
        if self.is_shared() {
            return Arc::clone(self);
        }
        Arc::new(Buffer::from(Bytes::from_owner(SharedOwner(Arc::clone(self)))))
    }

    /// A buffer of `len` bytes, all zero.
    pub fn zeroed(len: usize) -> Self {
        Buffer(Memory::Own { words: vec![0; len.div_ceil(8)], len })
    }

    /// A copy of `values`.
    pub fn from_slice<T: Pod>(values: &[T]) -> Self {
        let mut buffer = Buffer::zeroed(size_of_val(values));
        buffer.as_bytes_mut().copy_from_slice(bytemuck::cast_slice(values));
        buffer
    }

    /// Number of bytes.
    pub fn len(&self) -> usize {
        match &self.0 {
            Memory::Own { len, .. } => *len,
            Memory::Shared(bytes) => bytes.len(),
        }
    }

    /// True if it is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// True if its memory is [shared](Buffer::from): changing it copies it.
    pub fn is_shared(&self) -> bool {
        matches!(self.0, Memory::Shared(_))
    }

    /// The bytes.
    pub fn as_bytes(&self) -> &[u8] {
        match &self.0 {
            Memory::Own { words, len } => &bytemuck::cast_slice(words)[..*len],
            Memory::Shared(bytes) => bytes,
        }
    }

    /// The bytes, mutable.
    pub fn as_bytes_mut(&mut self) -> &mut [u8] {
        if let Memory::Shared(bytes) = &self.0 {
            *self = Buffer::from_slice(bytes);
        }
        match &mut self.0 {
            Memory::Own { words, len } => &mut bytemuck::cast_slice_mut(words)[..*len],
            Memory::Shared(_) => &mut [],
        }
    }

    /// The bytes from `start` to `end`; `None` beyond the end. Shared memory stays shared, unless the part is not aligned.
    ///
    /// ```
    /// use sapwood_core::Buffer;
    /// let buffer = Buffer::from_slice(&[1u8, 2, 3]);
    /// assert_eq!(buffer.slice(1, 3).unwrap().as_bytes(), [2, 3]);
    /// assert_eq!(buffer.slice(1, 4), None);
    /// ```
    pub fn slice(&self, start: usize, end: usize) -> Option<Buffer> {
        let part = self.as_bytes().get(start..end)?;
        Some(match &self.0 {
            Memory::Own { .. } => Buffer::from_slice(part),
            Memory::Shared(bytes) => Buffer::from(bytes.slice(start..end)),
        })
    }

    /// The whole values of type `T` (at most 8 bytes aligned) in the buffer.
    pub fn view<T: Pod>(&self) -> &[T] {
        let whole = self.len() / size_of::<T>() * size_of::<T>();
        bytemuck::cast_slice(&self.as_bytes()[..whole])
    }

    /// The whole values of type `T` in the buffer, mutable.
    pub fn view_mut<T: Pod>(&mut self) -> &mut [T] {
        let whole = self.len() / size_of::<T>() * size_of::<T>();
        bytemuck::cast_slice_mut(&mut self.as_bytes_mut()[..whole])
    }

    /// Shortens the buffer to `most` bytes; does nothing if it is not longer.
    pub fn truncate(&mut self, most: usize) {
        match &mut self.0 {
            Memory::Own { words, len } if most < *len => {
                *len = most;
                words.truncate(most.div_ceil(8));
            }
            Memory::Own { .. } => {}
            Memory::Shared(bytes) => bytes.truncate(most),
        }
    }

    /// The memory as 64-bit words (the last one padded with zeros) and the number of valid bytes; a copy of shared memory.
    pub fn into_words(self) -> (Vec<u64>, usize) {
        match self.0 {
            Memory::Own { words, len } => (words, len),
            Memory::Shared(bytes) => Buffer::from_slice(&bytes).into_words(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_memory_is_copied_before_it_is_changed() {
        let own = Arc::new(Buffer::from_slice(&[1u64, 2, 3]));
        let shared = own.share();
        assert!(!own.is_shared() && shared.is_shared() && own == shared);
        assert_eq!(own.as_bytes().as_ptr(), shared.as_bytes().as_ptr());
        assert!(Arc::ptr_eq(&shared, &shared.share()));
        let mut buffer = (*shared).clone();
        let tail = buffer.slice(8, 24).unwrap();
        assert!(tail.is_shared() && tail.view::<u64>() == [2, 3]);
        let unaligned = buffer.slice(4, 12).unwrap();
        assert!(!unaligned.is_shared() && unaligned.view::<u32>() == [0, 2]);
        buffer.view_mut::<u64>()[0] = 7;
        assert!(!buffer.is_shared() && buffer.view::<u64>() == [7, 2, 3]);
        assert_eq!(own.view::<u64>(), [1, 2, 3]);
        let mut short = (*shared).clone();
        short.truncate(9);
        assert_eq!(short.into_words(), (vec![1, 2], 9));
    }
}
