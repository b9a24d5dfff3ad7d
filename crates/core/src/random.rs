//! Unique names.

/// Random bytes, for unique names and numbers.
///
/// They come from the operating system: a generator of sapwood's own would repeat itself in every fork of a
/// process, and many machines could seed it with the same time.
///
/// ```
/// assert_ne!(sapwood_core::random_bytes::<16>(), sapwood_core::random_bytes::<16>());
/// ```
pub fn random_bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    // If the system has no source, the bytes of `fastrand` must suffice.
    let _ = getrandom::fill(&mut bytes);
    bytes.map(|byte| byte ^ fastrand::u8(..))
}
