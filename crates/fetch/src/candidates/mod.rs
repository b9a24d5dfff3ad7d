//! Finds replicas of a file: among listed candidates, and through redirectors.

mod candidate;

use crate::replicas::{Finder, KnownReplica, ReplicaStanding};
use candidate::{Candidate, CandidateState, is_known, next, sites};
use sapwood_core::BoxFuture;
use sapwood_core::redact;
use sapwood_core::{ByteRange, Deadline, Error, ErrorKind, Result};
use sapwood_source::{
    Checksum, FURTHER_TAIL, OpenedSource, Redirector, Replica, ReplicaList, SourceOptions, open, site_of,
};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long to wait before asking a redirector again that knew no other replica, while there is a source to
/// read from.
const ASK_AGAIN: Duration = Duration::from_secs(60);

/// The candidates for replicas of a file. As a [`Finder`], it opens the file at one after the other: first at
/// sites that are not in use. A candidate behind a redirector can lead to more than one source.
#[derive(Debug)]
pub struct ReplicaCandidates {
    options: SourceOptions,
    state: Mutex<CandidateList>,
}

#[derive(Debug, Default)]
struct CandidateList {
    /// The file that was opened before the finder was created.
    first: Option<OpenedSource>,
    spots: Vec<Candidate>,
    redirectors: Vec<AskedRedirector>,
}

/// A redirector, and when it was last asked.
#[derive(Debug)]
struct AskedRedirector {
    redirector: Redirector,
    /// The server that it returned first.
    server: String,
    last: Option<Instant>,
    /// True if it returns caches: a second one would only fetch the file again. `None` as long as the server has not said
    /// what it is.
    is_of_caches: Option<bool>,
}

impl ReplicaCandidates {
    /// No candidate yet.
    pub fn new(options: SourceOptions) -> ReplicaCandidates {
        ReplicaCandidates { options, state: Mutex::default() }
    }

    /// Adds a candidate.
    pub fn add(&self, place: Replica) {
        self.lock().spots.push(Candidate::new(place));
    }

    /// Adds the locations that a document lists. A replica with another size or checksum than stated is not
    /// read, and none of them gets the headers of the options, which may be secret.
    pub fn add_described(&self, described: ReplicaList) {
        let ReplicaList { size, checksums, replicas, .. } = described;
        let spot = |place| {
            let checksums = checksums.clone();
            Candidate { size, checksums, is_named: false, ..Candidate::new(place) }
        };
        let spots = replicas.into_iter().map(spot);
        self.lock().spots.extend(spots);
    }

    /// Adds a file that is open already.
    pub fn add_opened(&self, url: &str, opened: OpenedSource) {
        self.learn_redirector(url, &opened);
        let mut state = self.lock();
        state.spots.push(Candidate { outcome: CandidateState::Done, ..Candidate::new(Replica::of(url)) });
        state.first = Some(opened);
    }

    /// Number of candidates.
    pub fn len(&self) -> usize {
        self.lock().spots.len()
    }

    /// Whether there is no candidate.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn lock(&self) -> MutexGuard<'_, CandidateList> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn find(&self, known: &[KnownReplica], deadline: Deadline) -> Result<Option<OpenedSource>> {
        loop {
            if let Some(opened) = self.lock().first.take() {
                return Ok(Some(opened));
            }
            if let Some(trying) = self.take(known) {
                match trying.open(known, deadline).await {
                    Ok(None) => {}
                    found => return found,
                }
                continue;
            }
            let Some(index) = self.due(known) else {
                let mut state = self.lock();
                for spot in state.spots.iter_mut().filter(|spot| spot.outcome == CandidateState::Failed) {
                    spot.outcome = CandidateState::Untried;
                }
                return Ok(None);
            };
            if let Some(opened) = self.ask(index, known, deadline).await {
                return Ok(Some(opened));
            }
        }
    }

    /// The next candidate to open.
    fn take(&self, known: &[KnownReplica]) -> Option<OpenAttempt<'_>> {
        let mut state = self.lock();
        let index = next(&state.spots, known)?;
        let spot = state.spots.get_mut(index)?;
        spot.outcome = CandidateState::BeingTried;
        let Candidate { place, size, checksums, is_named, is_guess, .. } = spot;
        let trying = OpenAttempt {
            places: self,
            index,
            url: place.url.clone(),
            size: *size,
            adler32: checksums.iter().find_map(Checksum::adler32),
            is_named: *is_named,
            is_guess: *is_guess,
            outcome: CandidateState::Untried,
        };
        Some(trying)
    }

    /// A redirector that may know more replicas.
    fn due(&self, known: &[KnownReplica]) -> Option<usize> {
        let is_read = is_read(known);
        let pause = if is_read { ASK_AGAIN } else { Duration::from_secs(1) };
        let mut state = self.lock();
        let index = state.redirectors.iter().position(|asked| {
            !(asked.is_of_caches == Some(true) && is_read)
                && asked.last.is_none_or(|last| last.elapsed() >= pause)
        })?;
        state.redirectors.get_mut(index)?.last = Some(Instant::now());
        Some(index)
    }

    /// Asks a redirector for another source. If it has none, the locations that it names are added; finding
    /// nothing is not a failure.
    async fn ask(&self, index: usize, known: &[KnownReplica], deadline: Deadline) -> Option<OpenedSource> {
        let (redirector, server, is_of_caches) = {
            let state = self.lock();
            let asked = state.redirectors.get(index)?;
            (asked.redirector.clone(), asked.server.clone(), asked.is_of_caches)
        };
        if is_read(known) && is_of_caches.is_none() {
            // A server that does not answer has to be replaced.
            let caches = redirector.hands_out_caches(&server, deadline).await;
            self.lock().redirectors.get_mut(index)?.is_of_caches = caches;
            if caches == Some(true) {
                return None;
            }
        }
        let servers: Vec<String> = known.iter().filter_map(|known| known.server.clone()).collect();
        let opened = redirector.another(&servers, deadline).await.ok();
        let opened =
            opened.filter(|opened| opened.source.server().is_some_and(|server| !is_known(&server, known)));
        let is_elsewhere = opened.as_ref().is_some_and(|opened| self.is_elsewhere(opened, known));
        if !is_elsewhere {
            self.add_located(&redirector, opened.as_ref(), known, deadline).await;
        }
        // A replica at another site is better, if one is available.
        if opened.is_some()
            && !is_elsewhere
            && let Some(trying) = self.take_elsewhere(known)
            && let Ok(Some(better)) = trying.open(known, deadline).await
        {
            return Some(better);
        }
        if opened.is_some() {
            // There may be more.
            self.lock().redirectors.get_mut(index)?.last = None;
        }
        opened
    }

    async fn add_located(
        &self,
        redirector: &Redirector,
        opened: Option<&OpenedSource>,
        known: &[KnownReplica],
        deadline: Deadline,
    ) {
        let Ok(urls) = redirector.locate(deadline).await else { return };
        let opened = opened.and_then(|opened| opened.source.server());
        let is_there = |url: &str| {
            let place = sapwood_source::normalized_server_of(url);
            let is_opened = |place: &str| {
                opened.as_deref().is_some_and(|opened| sapwood_source::normalized_server(opened) == place)
            };
            place.is_none_or(|place| is_known(&place, known) || is_opened(&place))
        };
        let mut state = self.lock();
        for url in urls.into_iter().filter(|url| !is_there(url)) {
            if !state.spots.iter().any(|spot| spot.place.url == url) {
                state.spots.push(Candidate::guess(url));
            }
        }
    }

    /// The next candidate, if it is at a site that is not read from.
    fn take_elsewhere(&self, known: &[KnownReplica]) -> Option<OpenAttempt<'_>> {
        let trying = self.take(known)?;
        let site = sapwood_source::normalized_server_of(&trying.url).map(|server| site_of(&server));
        let used = sites(&self.lock().spots, known);
        site.is_some_and(|site| !used.contains(&site)).then_some(trying)
    }

    fn is_elsewhere(&self, opened: &OpenedSource, known: &[KnownReplica]) -> bool {
        let used = sites(&self.lock().spots, known);
        opened.source.server().is_some_and(|server| !used.contains(&site_of(&server)))
    }

    /// Remembers the redirector that returned a source, if there was one.
    fn learn_redirector(&self, url: &str, opened: &OpenedSource) -> bool {
        let server = opened.source.server();
        let Some(redirector) = Redirector::of(url, server.as_deref(), &self.options) else { return false };
        let server = server.unwrap_or_default();
        self.lock().redirectors.push(AskedRedirector { redirector, server, last: None, is_of_caches: None });
        true
    }
}

/// Whether a source is being read.
fn is_read(known: &[KnownReplica]) -> bool {
    known.iter().any(|known| known.standing == ReplicaStanding::Active)
}

/// An attempt to open a candidate; its result is recorded when this is dropped.
struct OpenAttempt<'a> {
    places: &'a ReplicaCandidates,
    index: usize,
    url: String,
    size: Option<u64>,
    adler32: Option<u32>,
    is_named: bool,
    is_guess: bool,
    outcome: CandidateState,
}

impl Drop for OpenAttempt<'_> {
    fn drop(&mut self) {
        if let Some(spot) = self.places.lock().spots.get_mut(self.index) {
            spot.outcome = self.outcome;
        }
    }
}

impl OpenAttempt<'_> {
    /// Opens the file there. `None` if that server is read already, or if it was only a guess.
    async fn open(mut self, known: &[KnownReplica], deadline: Deadline) -> Result<Option<OpenedSource>> {
        let mut options = SourceOptions { deadline, ..self.places.options.clone() };
        if !self.is_named {
            options.headers.clear();
        }
        if is_read(known) {
            options.tail_size = options.tail_size.min(FURTHER_TAIL);
        }
        let opened = match open(&self.url, &options).await {
            Ok(opened) => opened,
            Err(error) => {
                self.outcome = if self.is_guess { CandidateState::Done } else { CandidateState::Failed };
                return if self.is_guess { Ok(None) } else { Err(error.url(redact(&self.url))) };
            }
        };
        self.outcome = CandidateState::Done;
        self.check(&opened)?;
        let is_redirected = self.places.learn_redirector(&self.url, &opened);
        let is_read = || opened.source.server().is_some_and(|server| is_known(&server, known));
        Ok(if is_redirected && is_read() { None } else { Some(opened) })
    }

    /// Whether it is the described file.
    fn check(&self, opened: &OpenedSource) -> Result<()> {
        let size = opened.source.identity().size;
        let different = |what: String| {
            Error::new(ErrorKind::Changed, format!("this is not the described file: {what}"))
                .url(redact(&self.url))
                .hint("its description is out of date, or the file there is a different one")
        };
        if let Some(described) = self.size.filter(|&described| described != size) {
            return Err(different(format!("it has {size} bytes, not {described}")));
        }
        let whole = opened.known.get(ByteRange { start: 0, len: size });
        match (self.adler32, whole) {
            (Some(described), Some(whole)) if adler32(&whole) != described => {
                let found = adler32(&whole);
                Err(different(format!("its ADLER-32 is {found:08x}, not {described:08x}")))
            }
            _ => Ok(()),
        }
    }
}

impl Finder for ReplicaCandidates {
    fn next<'a>(
        &'a self,
        known: &'a [KnownReplica],
        deadline: Deadline,
    ) -> BoxFuture<'a, Result<Option<OpenedSource>>> {
        Box::pin(self.find(known, deadline))
    }

    /// What documents state.
    fn checksums(&self) -> Vec<Checksum> {
        self.lock().spots.iter().flat_map(|spot| spot.checksums.clone()).collect()
    }
}

/// The checksum of RFC 1950 §8.2.
fn adler32(bytes: &[u8]) -> u32 {
    const MODULUS: u32 = 65521;
    let (mut a, mut b) = (1_u32, 0_u32);
    // This many sums of bytes fit in 32 bits.
    for part in bytes.chunks(5552) {
        for &byte in part {
            a += u32::from(byte);
            b += a;
        }
        (a, b) = (a % MODULUS, b % MODULUS);
    }
    (b << 16) | a
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt;
    use std::path::PathBuf;

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Folder {
            let path = std::env::temp_dir().join(format!("sapwood-places-{name}-{}", std::process::id()));
            std::fs::create_dir_all(&path).unwrap();
            Folder(path)
        }

        fn file(&self, name: &str, content: &str) -> String {
            let path = self.0.join(name);
            std::fs::write(&path, content).unwrap();
            path.to_str().unwrap().to_owned()
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    fn find(places: &ReplicaCandidates) -> Result<Option<u64>> {
        let opened = places.next(&[], Deadline::default()).now_or_never().unwrap()?;
        Ok(opened.map(|opened| opened.source.identity().size))
    }

    #[test]
    fn replicas_are_tried_in_order_and_failed_ones_again() {
        let folder = Folder::new("order");
        let places = ReplicaCandidates::new(SourceOptions::default());
        places.add(Replica::of(folder.file("a", "a")));
        places.add(Replica::of(folder.0.join("missing").to_str().unwrap()));
        places.add(Replica::of(folder.file("b", "bc")));
        assert_eq!(find(&places).unwrap(), Some(1));
        assert_eq!(find(&places).unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(find(&places).unwrap(), Some(2));
        assert_eq!(find(&places).unwrap(), None);
        folder.file("missing", "def");
        assert_eq!(find(&places).unwrap(), Some(3));
        assert_eq!(find(&places).unwrap(), None);
    }

    #[test]
    fn replicas_that_differ_from_the_description_are_refused() {
        let folder = Folder::new("described");
        let described = |name: &str, size, adler32: &str| ReplicaList {
            size: Some(size),
            checksums: Checksum::parse("adler32", adler32).into_iter().collect(),
            replicas: vec![Replica::of(folder.0.join(name).to_str().unwrap())],
            ..ReplicaList::default()
        };
        folder.file("a", "Wikipedia");
        let places = ReplicaCandidates::new(SourceOptions::default());
        places.add_described(described("a", 8, "11e60398"));
        places.add_described(described("a", 9, "11e60399"));
        places.add_described(described("a", 9, "11E60398"));
        for what in ["9 bytes, not 8", "11e60398, not 11e60399"] {
            let error = find(&places).unwrap_err();
            assert!(error.kind() == ErrorKind::Changed && error.to_string().contains(what), "{error}");
        }
        assert_eq!(find(&places).unwrap(), Some(9));
        assert_eq!(find(&places).unwrap(), None);
        assert_eq!(find(&places).unwrap(), None);
    }
}
