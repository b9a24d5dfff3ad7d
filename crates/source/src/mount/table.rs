//! Which mounted file system a path lies on, by the kernel's table.
//!
//! The format of the table is described in proc_pid_mountinfo(5).

use std::path::{Component, Path, PathBuf};

/// Most symbolic links on the way to a file: as many as Linux follows.
const LINKS: usize = 40;

/// The types of file systems whose data come over a network, without the numbers of their versions. What a FUSE program
/// does cannot be known; most reach other machines.
const NETWORK: &[&str] = &[
    "9p",
    "afs",
    "autofs",
    "beegfs",
    "ceph",
    "cifs",
    "fuse",
    "gfs",
    "glusterfs",
    "gpfs",
    "lustre",
    "nfs",
    "orangefs",
    "panfs",
    "pvfs",
    "smb",
    "smbfs",
    "virtiofs",
];

/// A mounted file system of another machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mount {
    /// Its type, as `mount` shows it, such as `nfs4` or `fuse.sshfs`.
    pub(crate) kind: String,
    /// Where it is mounted.
    pub(crate) place: PathBuf,
}

/// All mounted file systems, in the order in which they were mounted.
#[derive(Debug)]
pub(super) struct Mounts(Vec<Mount>);

impl Mounts {
    /// Whether no file system is one of another machine.
    pub(super) fn are_local(&self) -> bool {
        self.0.iter().all(|mount| !is_network(&mount.kind))
    }

    pub(super) fn parse(table: &str) -> Mounts {
        Mounts(table.lines().filter_map(parse_line).collect())
    }

    /// The file system of another machine that the path lies on. `target` is what a symbolic link points to; it is only
    /// called for paths on the local machine.
    pub(super) fn network(&self, path: &Path, target: &dyn Fn(&Path) -> Option<PathBuf>) -> Option<Mount> {
        let mut path = std::path::absolute(path).ok()?;
        for _ in 0..LINKS {
            match self.follow(&path, target) {
                Step::Network(mount) => return Some(mount.clone()),
                Step::Link(next) => path = next,
                Step::Local => return None,
            }
        }
        None
    }

    fn follow(&self, path: &Path, target: &dyn Fn(&Path) -> Option<PathBuf>) -> Step<'_> {
        let mut before = PathBuf::new();
        let mut components = path.components();
        while let Some(component) = components.next() {
            match component {
                Component::ParentDir => drop(before.pop()),
                _ => before.push(component),
            }
            if let Some(mount) = self.of(&before).filter(|mount| is_network(&mount.kind))
                && self.of(&before.join(components.as_path())).is_none_or(|last| is_network(&last.kind))
            {
                return Step::Network(mount);
            }
            if matches!(component, Component::Normal(_))
                && let Some(target) = target(&before)
            {
                before.pop();
                return Step::Link(before.join(target).join(components.as_path()));
            }
        }
        Step::Local
    }

    /// The file system of a path without symbolic links: the last one that was mounted at the longest prefix.
    fn of(&self, path: &Path) -> Option<&Mount> {
        let above = self.0.iter().filter(|mount| path.starts_with(&mount.place));
        above.max_by_key(|mount| mount.place.components().count())
    }
}

/// What the beginning of a path leads to.
enum Step<'a> {
    Network(&'a Mount),
    Link(PathBuf),
    Local,
}

fn is_network(kind: &str) -> bool {
    let name = kind.split('.').next().unwrap_or(kind).trim_end_matches(|last: char| last.is_ascii_digit());
    NETWORK.contains(&name)
}

/// The fifth field is the place, and the type follows a single hyphen.
fn parse_line(line: &str) -> Option<Mount> {
    let (front, back) = line.split_once(" - ")?;
    let place = front.split(' ').nth(4)?;
    Some(Mount { kind: back.split(' ').next()?.to_owned(), place: unescaped(place) })
}

/// Spaces, tabs, line ends and backslashes are written as three octal digits.
fn unescaped(text: &str) -> PathBuf {
    let mut bytes = Vec::with_capacity(text.len());
    let mut left = text.as_bytes();
    while let Some((&first, rest)) = left.split_first() {
        let octal = (first == b'\\').then(|| rest.get(..3)).flatten();
        let code = octal.and_then(|digits| u8::from_str_radix(str::from_utf8(digits).ok()?, 8).ok());
        bytes.push(code.unwrap_or(first));
        left = if code.is_some() { rest.get(3..).unwrap_or_default() } else { rest };
    }
    PathBuf::from(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINES: &str = "\
22 1 254:1 / / rw,relatime shared:1 - ext4 /dev/vda1 rw
30 22 0:25 / /proc rw - proc proc rw
40 22 0:40 / /eos rw,nosuid shared:7 master:2 - fuse.eosxd eosxd rw,user_id=0
41 22 0:41 / /mnt/my\\040disk rw - nfs4 server:/export rw
42 22 254:2 / /mnt/usb rw - fuseblk /dev/sdb1 rw
43 40 254:3 / /eos/scratch rw - xfs /dev/sdc1 rw
44 22 0:44 / /home rw - autofs map rw
45 44 0:45 / /home/me rw - ext4 /dev/vdb rw
";

    fn place(path: &str) -> Option<String> {
        let links = |path: &Path| match path.to_str()? {
            "/data" => Some(PathBuf::from("mnt/my disk/data")),
            "/loop" => Some(PathBuf::from("/loop")),
            "/tmp/up" => Some(PathBuf::from("../eos/a")),
            _ => None,
        };
        let mount = Mounts::parse(LINES).network(Path::new(path), &links)?;
        Some(format!("{} {}", mount.kind, mount.place.display()))
    }

    #[test]
    fn a_path_lies_on_the_file_system_with_the_longest_prefix() {
        assert_eq!(place("/eos/cms/f.root").as_deref(), Some("fuse.eosxd /eos"));
        assert_eq!(place("/eosless/f.root"), None);
        assert_eq!(place("/eos"), Some("fuse.eosxd /eos".into()));
        assert_eq!(place("/var/f.root"), None);
        assert_eq!(place("/mnt/usb/f.root"), None, "a disk whose driver is a program");
        assert_eq!(place("/eos/scratch/f.root"), None);
        assert_eq!(
            [place("/home/me/f.root"), place("/home/you/f.root")],
            [None, Some("autofs /home".into())]
        );
        assert_eq!(place("/var/../eos/x").as_deref(), Some("fuse.eosxd /eos"));
    }

    #[test]
    fn symbolic_links_are_followed_up_to_the_file_system() {
        assert_eq!(place("/data/f.root").as_deref(), Some("nfs4 /mnt/my disk"));
        assert_eq!(place("/tmp/up/f.root").as_deref(), Some("fuse.eosxd /eos"));
        assert_eq!(place("/loop/f.root"), None);
    }
}
