//! Local paths on file systems of other machines: EOS, CephFS, NFS, Lustre and whatever is mounted by FUSE.
//!
//! A read there costs a round trip and may hang, unlike one from a local disk. So it is planned, measured and given up
//! like that of a URL, in threads that can be left.

mod kernel;
mod source;
mod table;

pub use kernel::is_on_network;
pub(crate) use kernel::network_mount;
pub(crate) use source::open;
pub(crate) use table::Mount;
