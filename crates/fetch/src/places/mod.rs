//! Finds the sources of a file: at the places of a list, and at those that redirectors know.

mod spots;

use crate::replicas::{Finder, Known, Standing};
use sapwood_core::{BoxFuture, ByteRange, Deadline, Error, ErrorKind, Result, redact};
use sapwood_source::{Checksum, OpenOptions, OpenedSource, Redirector, Replica, ReplicaList, open, site_of};
use spots::{Outcome, Spot, is_known, next, sites};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long a redirector that knew of no more is left alone while there is a source to read from.
const ASK_AGAIN: Duration = Duration::from_secs(60);

/// The places where a file may be. As a [`Finder`], it opens the file at one after the other: those of sites that are
/// not read from first. A place of which a redirector is in charge gives more than one source.
#[derive(Debug)]
pub struct Places {
    options: OpenOptions,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// What was opened before the finder was made.
    first: Option<OpenedSource>,
    spots: Vec<Spot>,
    redirectors: Vec<Asked>,
}

/// A redirector, and when it was asked last.
#[derive(Debug)]
struct Asked {
    redirector: Redirector,
    /// The server that it handed out first.
    server: String,
    last: Option<Instant>,
    /// It hands out caches: a second one would only fetch the file again.
    is_of_caches: bool,
}

impl Places {
    /// No place yet.
    pub fn new(options: OpenOptions) -> Places {
        Places { options, state: Mutex::default() }
    }

    /// Adds a place.
    pub fn add(&self, place: Replica) {
        self.lock().spots.push(Spot::new(place));
    }

    /// Adds the places that a document states. What has another size or checksum than it says is not read; they do not
    /// get the headers of the options, which may be secret.
    pub fn add_described(&self, described: ReplicaList) {
        let ReplicaList { size, checksums, replicas, .. } = described;
        let spot = |place| {
            let checksums = checksums.clone();
            Spot { size, checksums, is_named: false, ..Spot::new(place) }
        };
        let spots = replicas.into_iter().map(spot);
        self.lock().spots.extend(spots);
    }

    /// Adds the place of a file that is open already.
    pub fn add_opened(&self, url: &str, opened: OpenedSource) {
        self.learn_redirector(url, &opened);
        let mut state = self.lock();
        state.spots.push(Spot { outcome: Outcome::Done, ..Spot::new(Replica::of(url)) });
        state.first = Some(opened);
    }

    /// Number of places.
    pub fn len(&self) -> usize {
        self.lock().spots.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn find(&self, known: &[Known], deadline: Deadline) -> Result<Option<OpenedSource>> {
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
                for spot in state.spots.iter_mut().filter(|spot| spot.outcome == Outcome::Failed) {
                    spot.outcome = Outcome::Untried;
                }
                return Ok(None);
            };
            if let Some(opened) = self.ask(index, known, deadline).await {
                return Ok(Some(opened));
            }
        }
    }

    /// The next place to open the file at.
    fn take(&self, known: &[Known]) -> Option<Trying<'_>> {
        let mut state = self.lock();
        let index = next(&state.spots, known)?;
        let spot = state.spots.get_mut(index)?;
        spot.outcome = Outcome::BeingTried;
        let Spot { place, size, checksums, is_named, is_guess, .. } = spot;
        let trying = Trying {
            places: self,
            index,
            url: place.url.clone(),
            size: *size,
            adler32: checksums.iter().find_map(Checksum::adler32),
            is_named: *is_named,
            is_guess: *is_guess,
            outcome: Outcome::Untried,
        };
        Some(trying)
    }

    /// A redirector that may know of more.
    fn due(&self, known: &[Known]) -> Option<usize> {
        let is_read = is_read(known);
        let pause = if is_read { ASK_AGAIN } else { Duration::from_secs(1) };
        let mut state = self.lock();
        let index = state.redirectors.iter().position(|asked| {
            !(asked.is_of_caches && is_read) && asked.last.is_none_or(|last| last.elapsed() >= pause)
        })?;
        state.redirectors.get_mut(index)?.last = Some(Instant::now());
        Some(index)
    }

    /// Asks a redirector for another source. Where it has none, the places that it names are added; that there is
    /// nothing is no failure.
    async fn ask(&self, index: usize, known: &[Known], deadline: Deadline) -> Option<OpenedSource> {
        let (redirector, server) = {
            let state = self.lock();
            let asked = state.redirectors.get(index)?;
            (asked.redirector.clone(), asked.server.clone())
        };
        if is_read(known) {
            let caches = redirector.hands_out_caches(&server, deadline).await?;
            self.lock().redirectors.get_mut(index)?.is_of_caches = caches;
            if caches {
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
        // One of another site is better, if there is one at hand.
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
        known: &[Known],
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
                state.spots.push(Spot::guess(url));
            }
        }
    }

    /// The next place to try, if it is at a site that is not read from.
    fn take_elsewhere(&self, known: &[Known]) -> Option<Trying<'_>> {
        let trying = self.take(known)?;
        let site = sapwood_source::normalized_server_of(&trying.url).map(|server| site_of(&server));
        let used = sites(&self.lock().spots, known);
        site.is_some_and(|site| !used.contains(&site)).then_some(trying)
    }

    fn is_elsewhere(&self, opened: &OpenedSource, known: &[Known]) -> bool {
        let used = sites(&self.lock().spots, known);
        opened.source.server().is_some_and(|server| !used.contains(&site_of(&server)))
    }

    /// Keeps the redirector that handed out a source, if it was one.
    fn learn_redirector(&self, url: &str, opened: &OpenedSource) -> bool {
        let server = opened.source.server();
        let Some(redirector) = Redirector::of(url, server.as_deref(), &self.options) else { return false };
        let server = server.unwrap_or_default();
        self.lock().redirectors.push(Asked { redirector, server, last: None, is_of_caches: false });
        true
    }
}

/// Whether there is a source that serves.
fn is_read(known: &[Known]) -> bool {
    known.iter().any(|known| known.standing == Standing::Active)
}

/// A place that is being tried; what became of it is written down when this is dropped.
struct Trying<'a> {
    places: &'a Places,
    index: usize,
    url: String,
    size: Option<u64>,
    adler32: Option<u32>,
    is_named: bool,
    is_guess: bool,
    outcome: Outcome,
}

impl Drop for Trying<'_> {
    fn drop(&mut self) {
        if let Some(spot) = self.places.lock().spots.get_mut(self.index) {
            spot.outcome = self.outcome;
        }
    }
}

impl Trying<'_> {
    /// Opens the file there. `None` if it is read from that server already, or it was only a guess.
    async fn open(mut self, known: &[Known], deadline: Deadline) -> Result<Option<OpenedSource>> {
        let mut options = OpenOptions { deadline, ..self.places.options.clone() };
        if !self.is_named {
            options.headers.clear();
        }
        let opened = match open(&self.url, &options).await {
            Ok(opened) => opened,
            Err(error) => {
                self.outcome = if self.is_guess { Outcome::Done } else { Outcome::Failed };
                return if self.is_guess { Ok(None) } else { Err(error.url(redact(&self.url))) };
            }
        };
        self.outcome = Outcome::Done;
        self.check(&opened)?;
        let is_redirected = self.places.learn_redirector(&self.url, &opened);
        let is_read = || opened.source.server().is_some_and(|server| is_known(&server, known));
        Ok(if is_redirected && is_read() { None } else { Some(opened) })
    }

    /// Whether it is the file that was described.
    fn check(&self, opened: &OpenedSource) -> Result<()> {
        let size = opened.source.identity().size;
        let different = |what: String| {
            Error::new(ErrorKind::Changed, format!("this is not the file that was described: {what}"))
                .url(redact(&self.url))
                .hint("its description is out of date, or the file there is not the right one")
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

impl Finder for Places {
    fn next<'a>(
        &'a self,
        known: &'a [Known],
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
    // So many sums of bytes fit in 32 bits.
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

    fn find(places: &Places) -> Result<Option<u64>> {
        let opened = places.next(&[], Deadline::default()).now_or_never().unwrap()?;
        Ok(opened.map(|opened| opened.source.identity().size))
    }

    #[test]
    fn places_are_tried_in_order_and_those_that_failed_again() {
        let folder = Folder::new("order");
        let places = Places::new(OpenOptions::default());
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
    fn what_is_not_as_described_is_refused_for_good() {
        let folder = Folder::new("described");
        let described = |name: &str, size, adler32: &str| ReplicaList {
            size: Some(size),
            checksums: Checksum::parse("adler32", adler32).into_iter().collect(),
            replicas: vec![Replica::of(folder.0.join(name).to_str().unwrap())],
            ..ReplicaList::default()
        };
        folder.file("a", "Wikipedia");
        let places = Places::new(OpenOptions::default());
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
