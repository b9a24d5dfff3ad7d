//! Unique names.

/// Random bytes, for unique names and numbers.
///
/// They come from the operating system: a generator of our own would repeat itself in every fork of a
/// process, and those of many machines would start from almost the same time.
///
/// ```
/// assert_ne!(sapwood_core::random_bytes::<16>(), sapwood_core::random_bytes::<16>());
/// ```
pub fn random_bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    // Without a source of the system, the bytes of `fastrand` must do.
    let _ = getrandom::fill(&mut bytes);
    bytes.map(|byte| byte ^ fastrand::u8(..))
}
