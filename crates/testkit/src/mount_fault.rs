//! The faults of a mounted directory.

/// What reads of a mounted file do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MountFault {
    /// They succeed.
    #[default]
    None,
    /// They never return.
    Hang,
    /// They fail with `EIO`.
    Broken,
    /// They fail with `ESTALE`: the server has forgotten the file.
    Stale,
}

impl MountFault {
    /// The fault of this name: `none`, `hang`, `eio` or `estale`.
    #[must_use]
    pub fn named(name: &str) -> Option<MountFault> {
        Some(match name {
            "none" => MountFault::None,
            "hang" => MountFault::Hang,
            "eio" => MountFault::Broken,
            "estale" => MountFault::Stale,
            _ => return None,
        })
    }
}
