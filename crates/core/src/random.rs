//! Names that nobody else chooses.

/// Random bytes, for what has to have a name or number of its own.
///
/// They come from the operating system: a generator of our own would go on alike in every fork of a process, and those
/// of many machines would begin with what differs in little but the time.
///
/// ```
/// assert_ne!(sapwood_core::random_bytes::<16>(), sapwood_core::random_bytes::<16>());
/// ```
pub fn random_bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    // Where the system has none, what is added has to do.
    let _ = getrandom::fill(&mut bytes);
    bytes.map(|byte| byte ^ fastrand::u8(..))
}
