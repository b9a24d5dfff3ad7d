//! A file system whose files are those of a directory, behind a delay, with faults: mounted through FUSE.

use crate::mount_fault::MountFault;
use fuser::{
    BackgroundSession, Config, Errno, FileAttr, FileHandle, FileType, Filesystem, Generation, INodeNo,
    LockOwner, MountOption, OpenFlags, ReplyAttr, ReplyData, ReplyDirectory, ReplyEntry, Request,
};
use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

/// How long the kernel may remember names and attributes: not at all, so that faults show at once.
const FORGET: Duration = Duration::ZERO;

/// A mounted directory; it is unmounted when this is dropped.
#[derive(Debug)]
pub struct MountedDirectory {
    reads: MountedReads,
    _session: BackgroundSession,
}

/// What the reads of a mounted directory do.
#[derive(Debug, Clone, Default)]
pub struct MountedReads(Arc<Mutex<State>>);

impl MountedDirectory {
    /// Mounts the files of the directory `root` at `place`; each lookup and read takes this long.
    ///
    /// # Errors
    /// Those of reading the directory and of mounting: the kernel must support FUSE, and this process may use it.
    pub fn mount(root: &Path, place: &Path, delay: Duration) -> io::Result<MountedDirectory> {
        let entries = std::fs::read_dir(root)?.collect::<io::Result<Vec<_>>>()?;
        let names = entries.iter().map(std::fs::DirEntry::file_name).collect();
        let reads = MountedReads::default();
        let files = MountedFiles { root: root.to_owned(), names, delay, reads: reads.clone() };
        let mut config = Config::default();
        config.mount_options = vec![MountOption::RO, MountOption::FSName("sapwood-testkit".to_owned())];
        Ok(MountedDirectory { reads, _session: fuser::spawn_mount(files, place, &config)? })
    }

    /// The handle that sets the fault of its reads.
    #[must_use]
    pub fn reads(&self) -> MountedReads {
        self.reads.clone()
    }
}

impl MountedReads {
    /// Sets the fault from now on. Reads that hang stay so until the directory is unmounted.
    pub fn set_fault(&self, fault: MountFault) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).fault = fault;
    }
}

#[derive(Debug, Default)]
struct State {
    fault: MountFault,
    hanging: Vec<ReplyData>,
}

/// The files, numbered from 2 on; 1 is the directory.
struct MountedFiles {
    root: PathBuf,
    names: Vec<OsString>,
    delay: Duration,
    reads: MountedReads,
}

impl MountedFiles {
    fn path(&self, inode: INodeNo) -> Option<PathBuf> {
        let index = usize::try_from(inode.0).ok()?.checked_sub(2)?;
        self.names.get(index).map(|name| self.root.join(name))
    }

    fn attributes(&self, inode: INodeNo) -> Result<FileAttr, Errno> {
        let path = if inode == INodeNo::ROOT { Some(self.root.clone()) } else { self.path(inode) };
        let metadata = path.ok_or(Errno::ENOENT)?.metadata().map_err(|_| Errno::ENOENT)?;
        Ok(attributes(inode, &metadata))
    }
}

impl Filesystem for MountedFiles {
    fn lookup(&self, _: &Request, _: INodeNo, name: &OsStr, reply: ReplyEntry) {
        std::thread::sleep(self.delay);
        let number = self.names.iter().position(|known| known == name).map(|index| INodeNo(index as u64 + 2));
        match number.ok_or(Errno::ENOENT).and_then(|number| self.attributes(number)) {
            Ok(found) => reply.entry(&FORGET, &found, Generation(0)),
            Err(error) => reply.error(error),
        }
    }

    fn getattr(&self, _: &Request, inode: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        match self.attributes(inode) {
            Ok(found) => reply.attr(&FORGET, &found),
            Err(error) => reply.error(error),
        }
    }

    fn read(
        &self,
        _: &Request,
        inode: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let state = &mut *self.reads.0.lock().unwrap_or_else(PoisonError::into_inner);
        match state.fault {
            MountFault::Hang => return state.hanging.push(reply),
            MountFault::Broken => return reply.error(Errno::EIO),
            MountFault::Stale => return reply.error(Errno::ESTALE),
            MountFault::None => {}
        }
        let (path, delay) = (self.path(inode), self.delay);
        std::thread::spawn(move || {
            std::thread::sleep(delay);
            match path.ok_or(io::ErrorKind::NotFound.into()).and_then(|path| read(&path, offset, size)) {
                Ok(bytes) => reply.data(&bytes),
                Err(_) => reply.error(Errno::EIO),
            }
        });
    }

    fn readdir(&self, _: &Request, _: INodeNo, _: FileHandle, offset: u64, mut reply: ReplyDirectory) {
        for (index, name) in self.names.iter().enumerate().skip(offset as usize) {
            let (number, next) = (INodeNo(index as u64 + 2), index as u64 + 1);
            if reply.add(number, next, FileType::RegularFile, name) {
                break;
            }
        }
        reply.ok();
    }
}

fn read(path: &Path, offset: u64, size: u32) -> io::Result<Vec<u8>> {
    let file = File::open(path)?;
    let len = file.metadata()?.len().saturating_sub(offset).min(size.into());
    let mut bytes = vec![0; len as usize];
    file.read_exact_at(&mut bytes, offset)?;
    Ok(bytes)
}

fn attributes(inode: INodeNo, metadata: &Metadata) -> FileAttr {
    let modified = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
    FileAttr {
        ino: inode,
        size: metadata.len(),
        blocks: metadata.blocks(),
        atime: modified,
        mtime: modified,
        ctime: modified,
        crtime: modified,
        kind: if metadata.is_dir() { FileType::Directory } else { FileType::RegularFile },
        perm: 0o555,
        nlink: 1,
        uid: metadata.uid(),
        gid: metadata.gid(),
        rdev: 0,
        flags: 0,
        blksize: 4096,
    }
}
