//! The kernel's table of mounted file systems, which answers even if a file system hangs. It is read again only after it
//! changed.
//!
//! Files are opened by the thousand, and reading the table takes longer than opening a small file. The kernel says when
//! it changed: a poll of the open table then reports an exceptional condition, once for each time that it was opened
//! (proc_pid_mountinfo(5)).

use super::table::{Mount, Mounts};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::fs::File;
use std::io::{Read, Seek};
use std::path::Path;
use std::sync::{Arc, Mutex};

const TABLE: &str = "/proc/self/mountinfo";

/// Whether a path lies on a file system of another machine, which may be slow, or hang: the answer does not touch it.
/// Always false where the kernel has no such table.
#[must_use]
pub fn is_on_network(path: &Path) -> bool {
    network_mount(path).is_some()
}

/// The file system of another machine that a path lies on, if it does; symbolic links are followed up to there.
pub(crate) fn network_mount(path: &Path) -> Option<Mount> {
    let mounts = mounts(&LAST)?;
    if mounts.are_local() {
        return None;
    }
    mounts.network(path, &|path| std::fs::read_link(path).ok())
}

/// The open table, and what it held when it was read last.
struct OpenTable {
    file: File,
    /// A child process shares the open table with its parent, so that only one of them would hear of a change.
    process: u32,
    mounts: Arc<Mounts>,
}

static LAST: Mutex<Option<OpenTable>> = Mutex::new(None);

/// The file systems that are mounted now, read again if the `last` table is not up to date; `None` where the kernel has no
/// such table.
fn mounts(last: &Mutex<Option<OpenTable>>) -> Option<Arc<Mounts>> {
    // Never waits: in a child process, the lock can be held by a thread that only the parent has.
    let Ok(mut last) = last.try_lock() else { return Some(OpenTable::new()?.mounts) };
    let known = last.take().filter(|table| table.process == std::process::id());
    let table = match known {
        Some(table) => table.refreshed()?,
        None => OpenTable::new()?,
    };
    Some(Arc::clone(&last.insert(table).mounts))
}

impl OpenTable {
    fn new() -> Option<OpenTable> {
        let mut file = File::open(TABLE).ok()?;
        let mounts = read(&mut file)?;
        Some(OpenTable { file, process: std::process::id(), mounts })
    }

    fn refreshed(mut self) -> Option<OpenTable> {
        if self.has_changed() {
            self.file.rewind().ok()?;
            self.mounts = read(&mut self.file)?;
        }
        Some(self)
    }

    /// Whether something was mounted or unmounted since the table was asked last; true if the kernel does not say.
    fn has_changed(&self) -> bool {
        let mut table = [PollFd::new(&self.file, PollFlags::PRI)];
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        !matches!(poll(&mut table, Some(&at_once)), Ok(0))
    }
}

fn read(file: &mut File) -> Option<Arc<Mounts>> {
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).ok()?;
    Some(Arc::new(Mounts::parse(&String::from_utf8_lossy(&bytes))))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn an_unchanged_table_is_not_read_again() {
        let last = Mutex::new(None);
        let read = || mounts(&last).expect("the kernel has a table");
        // Something may be mounted at any moment, but not each time.
        assert!((0..20).any(|_| Arc::ptr_eq(&read(), &read())));
    }

    #[test]
    fn a_table_of_the_parent_process_is_not_used() {
        let table = OpenTable { process: 0, ..OpenTable::new().expect("the kernel has a table") };
        let old = Arc::downgrade(&table.mounts);
        assert!(mounts(&Mutex::new(Some(table))).is_some());
        assert!(old.upgrade().is_none());
    }
}
