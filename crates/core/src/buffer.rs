//! Memory for array data: zeroed, aligned to 8 bytes, viewed as any plain number type.

use bytemuck::Pod;

/// A block of array data that is aligned for every number type.
///
/// ```
/// use sapwood_core::Buffer;
/// let mut buffer = Buffer::zeroed(3 * 4);
/// buffer.view_mut::<f32>()[1] = 2.5;
/// assert_eq!(buffer.view::<f32>(), [0.0, 2.5, 0.0]);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Buffer {
    words: Vec<u64>,
    len: usize,
}

impl Buffer {
    /// A buffer of `len` bytes, all zero.
    pub fn zeroed(len: usize) -> Self {
        Buffer { words: vec![0; len.div_ceil(8)], len }
    }

    /// A copy of `values`.
    pub fn from_slice<T: Pod>(values: &[T]) -> Self {
        let mut buffer = Buffer::zeroed(size_of_val(values));
        buffer.as_bytes_mut().copy_from_slice(bytemuck::cast_slice(values));
        buffer
    }

    /// Number of bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// True if it is empty.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &bytemuck::cast_slice(&self.words)[..self.len]
    }

    /// The bytes, mutable.
    pub fn as_bytes_mut(&mut self) -> &mut [u8] {
        &mut bytemuck::cast_slice_mut(&mut self.words)[..self.len]
    }

    /// The whole values of type `T` (at most 8 bytes aligned) in the buffer.
    pub fn view<T: Pod>(&self) -> &[T] {
        let whole = self.len / size_of::<T>() * size_of::<T>();
        bytemuck::cast_slice(&self.as_bytes()[..whole])
    }

    /// The whole values of type `T` in the buffer, mutable.
    pub fn view_mut<T: Pod>(&mut self) -> &mut [T] {
        let whole = self.len / size_of::<T>() * size_of::<T>();
        bytemuck::cast_slice_mut(&mut self.as_bytes_mut()[..whole])
    }

    /// Shortens the buffer to `len` bytes; does nothing if it is not longer.
    pub fn truncate(&mut self, len: usize) {
        if len < self.len {
            self.len = len;
            self.words.truncate(len.div_ceil(8));
        }
    }

    /// The memory as 64-bit words (the last one padded with zeros) and the number of valid bytes.
    pub fn into_words(self) -> (Vec<u64>, usize) {
        (self.words, self.len)
    }
}
