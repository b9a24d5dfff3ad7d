//! A file at its URL: opened here, or on the server that it redirects to.

use super::file::File;
use super::library::Library;
use super::replicas::{AvoidReason, avoiding, checksum, is_redirected};
use super::server::Limits;
use super::status::Status;
use crate::Checksum;
use crate::accounting::RequestAccounting;
use crate::admission::admit_to;
use sapwood_core::{Deadline, Error, ErrorKind, Result, server_of};
use std::ffi::CString;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// A file at its URL.
pub(super) struct Remote {
    pub(super) library: &'static Library,
    /// Without secrets.
    pub(super) name: String,
    pub(super) accounting: RequestAccounting,
    url: String,
    /// The same, or a URL that asks the redirector for a server other than those that failed.
    asked: CString,
    /// Servers that it redirected to and that failed.
    failed: Vec<String>,
}

impl fmt::Debug for Remote {
    /// The URL may hold secrets; it is not shown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Remote").field("name", &self.name).finish_non_exhaustive()
    }
}

/// A file that is open on a server.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) file: Arc<File>,
    /// The server that has it, as `host:port`.
    pub(super) server: String,
    pub(super) size: u64,
    /// Seconds since 1970.
    pub(super) modified: u64,
    /// A lower bound on the round trip.
    pub(super) round_trip: Duration,
    /// A read failed in a way that requires reopening the file.
    pub(super) lost: AtomicBool,
}

/// Most servers that a redirector is asked for, one after the other, before opening fails.
const TRIES: usize = 5;

/// Round trips of opening a file on a server without a connection: connection, protocol, login, open.
const FIRST_CONTACT: u32 = 4;

impl Connection {
    /// Fails if a later state of the file cannot be the one that was opened. Replicas on other servers have their own
    /// modification times.
    pub(super) fn check(&self, server: &str, size: u64, modified: u64) -> Result<()> {
        if size == self.size && (modified == self.modified || server != self.server) {
            return Ok(());
        }
        Err(Error::new(ErrorKind::Changed, "the file on the server changed").hint("open it again"))
    }
}

impl Remote {
    /// # Errors
    /// `Usage` if the URL is illegal.
    pub(super) fn new(
        library: &'static Library,
        url: &str,
        name: String,
        accounting: RequestAccounting,
    ) -> Result<Remote> {
        let asked = CString::new(url).map_err(|_| Error::usage("the URL holds a zero byte"))?;
        Ok(Remote { library, name, accounting, url: url.to_owned(), asked, failed: Vec::new() })
    }

    /// After a failure of a server that the URL's server redirected to, asks for another one from now on. False if
    /// there is no redirector, or enough servers were tried.
    pub(super) fn avoid(&mut self, status: &Status) -> bool {
        let server = &status.server;
        if server.is_empty() || !status.may_pass_elsewhere() || !is_redirected(&self.url, server) {
            return false;
        }
        // Redirectors know hosts, not ports; if a server comes again, it is the only one.
        if self.failed.contains(server) || self.failed.len() + 1 >= TRIES {
            return false;
        }
        self.failed.push(server.clone());
        let Ok(asked) = CString::new(avoiding(&self.url, &self.failed, AvoidReason::Failed)) else {
            return false;
        };
        self.asked = asked;
        true
    }

    /// A file of any library.
    #[cfg(test)]
    pub(super) fn of(library: &'static Library, name: &str, accounting: RequestAccounting) -> Remote {
        let (url, asked, failed) = (String::new(), CString::default(), Vec::new());
        Remote { library, name: name.to_owned(), accounting, url, asked, failed }
    }

    /// Opens the file.
    pub(super) async fn connect(&self, deadline: Deadline) -> Result<Result<Connection, Status>> {
        self.connect_to(self.asked.clone(), deadline).await
    }

    /// Opens the same file once more on the same server, over a separate connection; `None` if that fails.
    pub(super) async fn connect_beside(
        &self,
        first: &Connection,
        number: usize,
        deadline: Deadline,
    ) -> Option<Connection> {
        let url = first.file.property(c"LastURL");
        let mark = if url.contains('?') { '&' } else { '?' };
        // XrdCl keeps connections with different intents apart, and does not send them to the server.
        let url = CString::new(format!("{url}{mark}xrdcl.intent={number}")).ok()?;
        let found = self.connect_to(url, deadline).await.ok()?.ok()?;
        first.check(&found.server, found.size, found.modified).ok()?;
        Some(found)
    }

    async fn connect_to(&self, url: CString, deadline: Deadline) -> Result<Result<Connection, Status>> {
        let file = File::new(self.library)?;
        let name = url.to_string_lossy();
        let _place = admit_to(&name).await;
        let wait = self.accounting.request_to(server_of(&name).as_deref(), 0);
        drop(name);
        let begin = Instant::now();
        let opened = file.open(url, deadline).await;
        let time = begin.elapsed();
        self.accounting.answered(wait);
        let stat = match opened {
            // Most servers send it with the answer to open.
            Ok(_) => file.stat(deadline).await,
            refused => refused,
        };
        let server = file.property(c"DataServer");
        let stat = stat.map_err(|status| match status.server.is_empty() {
            true => Status { server: server.clone(), ..status },
            false => status,
        });
        Ok(stat.map(|stat| {
            let round_trip = if Limits::known(&server).is_some() { time } else { time / FIRST_CONTACT };
            let (size, modified, lost) = (stat.value, stat.modified, AtomicBool::new(false));
            Connection { file, server, size, modified, round_trip, lost }
        }))
    }

    /// The checksum that the server states of the file.
    pub(super) async fn checksum(&self, connected: &Connection, deadline: Deadline) -> Option<Checksum> {
        let url = connected.file.property(c"LastURL");
        let wait = self.accounting.request_to(Some(&connected.server), 0);
        let checksum = checksum(self.library, url, deadline).await;
        self.accounting.answered(wait);
        checksum
    }

    /// The limits of the server that has the file.
    pub(super) async fn limits(&self, connected: &Connection, deadline: Deadline) -> Limits {
        match Limits::known(&connected.server) {
            Some(limits) => limits,
            None => {
                let url = connected.file.property(c"LastURL");
                let wait = self.accounting.request_to(Some(&connected.server), 0);
                let limits = Limits::ask(self.library, &connected.server, url, deadline).await;
                self.accounting.answered(wait);
                limits
            }
        }
    }
}
