//! A file at its URL: opened here, or on the server that it redirects to.

use super::file::File;
use super::library::{Library, library};
use super::server::Limits;
use super::status::Status;
use crate::accounting::Accounting;
use sapwood_core::{Deadline, Error, ErrorKind, Result};
use std::ffi::CString;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Where a file is.
pub(super) struct Remote {
    pub(super) library: &'static Library,
    /// Without secrets.
    pub(super) name: String,
    pub(super) accounting: Accounting,
    url: CString,
}

impl fmt::Debug for Remote {
    /// The URL may hold secrets; it is not shown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Remote").field("name", &self.name).finish_non_exhaustive()
    }
}

/// A file that is open on a server.
#[derive(Debug)]
pub(super) struct Connected {
    pub(super) file: Arc<File>,
    /// The server that has it, as `host:port`.
    pub(super) server: String,
    pub(super) size: u64,
    /// Seconds since 1970.
    pub(super) modified: u64,
    /// How far the server is, at least.
    pub(super) round_trip: Duration,
}

/// Turnarounds of opening a file on a server that is not connected yet: connection, protocol, login, open.
const FIRST_CONTACT: u32 = 4;

impl Connected {
    /// Fails if a later state of the file cannot be that which was opened. Copies on several servers have times of
    /// their own.
    pub(super) fn check(&self, server: &str, size: u64, modified: u64) -> Result<()> {
        if size == self.size && (modified == self.modified || server != self.server) {
            return Ok(());
        }
        Err(Error::new(ErrorKind::Changed, "the file on the server changed").hint("open it again"))
    }
}

impl Remote {
    /// # Errors
    /// `Unsupported` without XRootD's client; `Usage` if the URL makes no sense.
    pub(super) fn new(url: &str, name: String, accounting: Accounting) -> Result<Remote> {
        let library = library()?;
        let url = CString::new(url).map_err(|_| Error::usage("the URL holds a zero byte"))?;
        Ok(Remote { library, name, accounting, url })
    }

    /// A file of any library.
    #[cfg(test)]
    pub(super) fn of(library: &'static Library, name: &str, accounting: Accounting) -> Remote {
        Remote { library, name: name.to_owned(), accounting, url: CString::default() }
    }

    /// Opens the file.
    pub(super) async fn connect(&self, deadline: Deadline) -> Result<Result<Connected, Status>> {
        let file = File::new(self.library)?;
        let wait = self.accounting.request(0);
        let begin = Instant::now();
        let opened = file.open(self.url.clone(), deadline).await;
        let time = begin.elapsed();
        self.accounting.answered(wait);
        let stat = match opened {
            // Came with the answer to open, from most servers.
            Ok(_) => file.stat(deadline).await,
            refused => refused,
        };
        Ok(stat.map(|stat| {
            let server = file.property(c"DataServer");
            let round_trip = if Limits::known(&server).is_some() { time } else { time / FIRST_CONTACT };
            Connected { file, server, size: stat.value, modified: stat.modified, round_trip }
        }))
    }

    /// The limits of the server that has the file.
    pub(super) async fn limits(&self, connected: &Connected, deadline: Deadline) -> Limits {
        match Limits::known(&connected.server) {
            Some(limits) => limits,
            None => {
                let url = connected.file.property(c"LastURL");
                let wait = self.accounting.request(0);
                let limits = Limits::ask(self.library, &connected.server, url, deadline).await;
                self.accounting.answered(wait);
                limits
            }
        }
    }
}
