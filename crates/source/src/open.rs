//! Opening: from a path or URL to a source, with the head and the tail of the file in hand.

use crate::server::server_of;
#[cfg(unix)]
use crate::xrootd;
use crate::{
    BlockOptions, CountingSource, Environment, LocalSource, Opened, Source, StorageOptions, cloud, http,
};
use percent_encoding::percent_decode_str;
use sapwood_core::{ByteRange, Counters, Deadline, Error, Event, Result, Segments};
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Number of bytes read from the start of a file when it is opened: more than any file header.
pub const HEAD: u64 = 4 << 10;

/// Default of [`OpenOptions::tail`].
pub const TAIL: u64 = 256 << 10;

/// The same where the server is far: the record of a large tree comes along, which would cost a turnaround more.
pub const FAR_TAIL: u64 = 1 << 20;

/// Round trip from which on a server is far: longer than a slow link (100 Mbit/s) takes for the larger tail.
const FAR: Duration = Duration::from_millis(50);

/// How to open a file, and what counts its reads.
#[derive(Clone)]
pub struct OpenOptions {
    /// When opening gives up. Default: one hour after the options were made.
    pub deadline: Deadline,
    /// What the source adds its requests, ranges, turnarounds and bytes to, now and later.
    pub counters: Arc<Counters>,
    /// Number of bytes to read from the end of the file while opening; 0 for none. Default: [`TAIL`],
    /// which usually holds the directory and the record of the last tree. At least [`FAR_TAIL`] where the
    /// server is known to be far.
    pub tail: u64,
    /// HTTP headers to send, such as `Authorization`; only to the server named in the URL, not to
    /// those that it redirects to. Default: none.
    pub headers: Vec<(String, String)>,
    /// How object stores are reached. Default: as the environment says.
    pub storage: StorageOptions,
    /// Where credentials are looked for. Default: in the environment of the process.
    pub environment: Environment,
    /// How long a server may be silent before a request is given up and tried again. Default: 30 s.
    pub stall: Duration,
    /// How the file is read in blocks that are kept. [`open`] does not do so; who does looks here. Default: not at all.
    pub blocks: Option<BlockOptions>,
    /// Where else the file is. [`open`] reads one place only; who reads several at once looks here. Default: none.
    pub replicas: Replicas,
    /// Of a dataset whose objects lie in several object stores: how those are reached whose URLs begin so.
    /// [`OpenOptions::for_base`] looks here. Default: none.
    pub bases: Vec<(String, StorageOptions)>,
}

impl OpenOptions {
    /// How another place of the same dataset is reached: as the longest rule in `bases` says with which its URL begins,
    /// else as the dataset is. Headers are for the dataset's own server only.
    #[must_use]
    pub fn for_base(&self, url: &str) -> OpenOptions {
        let begins = |rule: &str| {
            let rest = url.strip_prefix(rule.trim_end_matches('/'));
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let rules = self.bases.iter().filter(|(rule, _)| begins(rule));
        let storage = rules.max_by_key(|(rule, _)| rule.len()).map_or(&self.storage, |(_, storage)| storage);
        OpenOptions { storage: storage.clone(), headers: Vec::new(), ..self.clone() }
    }
}

/// Where else a file is, and how many places are read at once.
#[derive(Clone, PartialEq, Eq)]
pub struct Replicas {
    /// Paths and URLs of the file, and of documents that say where it is; the best first.
    pub urls: Vec<String>,
    /// Such documents themselves: see [`parse_document`](crate::parse_document).
    pub documents: Vec<String>,
    /// Most places that are read at once; 1 also means that no redirector is asked for a second one. Default: 2.
    pub sources: usize,
}

impl Default for Replicas {
    fn default() -> Self {
        Replicas { urls: Vec::new(), documents: Vec::new(), sources: 2 }
    }
}

impl fmt::Debug for Replicas {
    /// URLs may hold secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let urls: Vec<_> = self.urls.iter().map(|url| redact(url)).collect();
        f.debug_struct("Replicas")
            .field("urls", &urls)
            .field("documents", &self.documents.len())
            .field("sources", &self.sources)
            .finish()
    }
}

impl Default for OpenOptions {
    fn default() -> Self {
        OpenOptions {
            deadline: Deadline::default(),
            counters: Arc::default(),
            tail: TAIL,
            headers: Vec::new(),
            storage: StorageOptions::default(),
            environment: Environment::default(),
            stall: Duration::from_secs(30),
            blocks: None,
            replicas: Replicas::default(),
            bases: Vec::new(),
        }
    }
}

impl fmt::Debug for OpenOptions {
    /// Header values may be secrets; they are not shown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let header_names: Vec<_> = self.headers.iter().map(|(name, _)| name).collect();
        f.debug_struct("OpenOptions")
            .field("deadline", &self.deadline)
            .field("tail", &self.tail)
            .field("header_names", &header_names)
            .field("storage", &self.storage)
            .field("stall", &self.stall)
            .field("blocks", &self.blocks)
            .field("replicas", &self.replicas)
            .field("bases", &self.bases.len())
            .finish_non_exhaustive()
    }
}

/// Opens a path, or a URL of one of the schemes `file`, `http`, `https`, `dav`, `davs`, `s3`, `gs`, `az`, `root` and `roots`.
///
/// The first [`HEAD`] and the last `options.tail` bytes come along in [`Opened::known`].
///
/// # Errors
/// `NotFound`, `Permission`, `Timeout`, `Network`, `Server`, `Io`; `Usage` for a directory or a URL that
/// makes no sense; `Unsupported` for any other scheme, for a server that cannot send parts of a
/// large file, and for `root://` where XRootD's client is not there.
pub async fn open(url: &str, options: &OpenOptions) -> Result<Opened> {
    let opened = open_by_scheme(url, options).await?;
    if let Some(server) = opened.source.server() {
        let story = &options.counters.story;
        if let Some(first) = server_of(url).filter(|first| *first != server) {
            story.tell(Some(&first), Event::Redirected, format!("to {server}"));
        }
        story.tell(Some(&server), Event::Opened, "");
    }
    Ok(opened)
}

async fn open_by_scheme(url: &str, options: &OpenOptions) -> Result<Opened> {
    match scheme(url) {
        None => open_local(PathBuf::from(url), options).await,
        Some(scheme) => match scheme.to_ascii_lowercase().as_str() {
            "file" => open_local(file_url_path(url)?, options).await,
            "http" | "https" | "dav" | "davs" => http::open(url, options).await,
            other if cloud::is_scheme(other) => cloud::open(url, options).await,
            #[cfg(unix)]
            other if xrootd::is_scheme(Some(other)) => xrootd::open(url, options).await,
            other => Err(Error::unsupported(format!("the protocol '{other}://' is not supported"))
                .url(redact(url))
                .hint("use a local path, file://, http(s)://, dav(s)://, s3://, gs://, az:// or root(s)://")),
        },
    }
}

async fn open_local(path: PathBuf, options: &OpenOptions) -> Result<Opened> {
    let source = CountingSource::new(LocalSource::open(path)?, Arc::clone(&options.counters));
    let ranges = head_and_tail(source.identity().size, options.tail);
    let answers = source.read_ranges(&ranges, options.deadline).await?;
    let mut known = Segments::default();
    for (range, bytes) in ranges.iter().zip(answers) {
        known.insert(range.start, bytes);
    }
    Ok(Opened { source: Arc::new(source), known })
}

/// The tail to ask a server for at that distance, where `tail` was wished.
pub(crate) fn tail_at(round_trip: Duration, tail: u64) -> u64 {
    if tail > 0 && round_trip >= FAR { tail.max(FAR_TAIL) } else { tail }
}

/// The ranges to read while opening a file of `size` bytes: one if they touch.
pub(crate) fn head_and_tail(size: u64, tail: u64) -> Vec<ByteRange> {
    let head = HEAD.min(size);
    let tail = tail.min(size);
    if head + tail >= size {
        vec![ByteRange { start: 0, len: size }]
    } else if tail == 0 {
        vec![ByteRange { start: 0, len: head }]
    } else {
        vec![ByteRange { start: 0, len: head }, ByteRange { start: size - tail, len: tail }]
    }
}

/// The scheme of a URL; `None` for a plain path.
pub(crate) fn scheme(url: &str) -> Option<&str> {
    let (scheme, _) = url.split_once("://")?;
    let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
    (scheme.starts_with(|c: char| c.is_ascii_alphabetic()) && scheme.chars().all(legal)).then_some(scheme)
}

/// The path of a `file://` URL.
pub(crate) fn file_url_path(url: &str) -> Result<PathBuf> {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let (host, path) = rest.find('/').map_or((rest, ""), |slash| rest.split_at(slash));
    if path.is_empty() || !(host.is_empty() || host.eq_ignore_ascii_case("localhost")) {
        return Err(
            Error::usage("a file URL must name a path of this machine, as in file:///path").url(redact(url))
        );
    }
    let bytes = percent_decode_str(path);
    #[cfg(unix)]
    {
        use std::os::unix::ffi::OsStringExt;
        Ok(PathBuf::from(std::ffi::OsString::from_vec(bytes.collect())))
    }
    #[cfg(not(unix))]
    {
        let text = bytes.decode_utf8().map_err(|_| Error::usage("the path of a file URL is not UTF-8"))?;
        Ok(PathBuf::from(text.trim_start_matches('/')))
    }
}

/// The URL without user name, password, query values and fragment: fit for logs and errors.
///
/// ```
/// use sapwood_source::redact;
/// assert_eq!(redact("https://me:pw@host/f.root?token=abc&x#y"), "https://host/f.root?token=…&…");
/// assert_eq!(redact("/data/what?.root"), "/data/what?.root");
/// ```
pub fn redact(url: &str) -> String {
    let Some(scheme) = scheme(url).filter(|scheme| !scheme.eq_ignore_ascii_case("file")) else {
        return url.to_owned();
    };
    let rest = url.get(scheme.len() + 3..).unwrap_or_default();
    let rest = rest.split_once('#').map_or(rest, |(before, _)| before);
    let (place, query) = rest.split_once('?').map_or((rest, None), |(place, query)| (place, Some(query)));
    let (host, path) = place.find('/').map_or((place, ""), |slash| place.split_at(slash));
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    let mut redacted = format!("{scheme}://{host}{path}");
    for (i, pair) in query.into_iter().flat_map(|query| query.split('&')).enumerate() {
        redacted.push(if i == 0 { '?' } else { '&' });
        if let Some((name, _)) = pair.split_once('=') {
            redacted.extend([name, "="]);
        }
        redacted.push('…');
    }
    redacted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bases_are_reached_by_the_longest_rule() {
        let at = |region: &str| StorageOptions { region: Some(region.into()), ..StorageOptions::default() };
        let rules = [("s3://", "any"), ("s3://b/", "b"), ("s3://b/deep", "deep")];
        let options = OpenOptions {
            storage: at("own"),
            headers: vec![("Authorization".into(), "secret".into())],
            bases: rules.map(|(rule, region)| (rule.to_owned(), at(region))).into(),
            ..OpenOptions::default()
        };
        let region = |url: &str| options.for_base(url).storage.region.unwrap_or_default();
        let urls = ["gs://b/x", "s3://other", "s3://b", "s3://b/x", "s3://b/deeper", "s3://b/deep/x"];
        assert_eq!(urls.map(region), ["own", "any", "b", "b", "b", "deep"]);
        assert!(options.for_base("gs://b").headers.is_empty());
    }

    #[test]
    fn file_urls_are_decoded() {
        assert_eq!(file_url_path("file:///a/b%20c.root").unwrap(), PathBuf::from("/a/b c.root"));
        assert_eq!(file_url_path("file://localhost/a").unwrap(), PathBuf::from("/a"));
        assert!(file_url_path("file://elsewhere/a").is_err());
        assert!(file_url_path("file://").is_err());
    }

    #[test]
    fn a_scheme_needs_its_slashes() {
        assert_eq!(scheme("C:\\data\\f.root"), None);
        assert_eq!(scheme("f.root:Events"), None);
        assert_eq!(scheme("root://eospublic.cern.ch//eos/f.root"), Some("root"));
        assert_eq!(scheme("/data/odd://name"), None);
    }

    #[test]
    fn secrets_are_struck_out() {
        assert_eq!(redact("http://u:p%40@h:80/p"), "http://h:80/p");
        assert_eq!(redact("http://h?a=1"), "http://h?a=…");
        assert_eq!(redact("http://u:p@x@h/"), "http://h/");
    }

    #[test]
    fn more_of_the_tail_is_read_from_afar() {
        let [near, far] = [1, 240].map(Duration::from_millis);
        assert_eq!([tail_at(near, TAIL), tail_at(far, TAIL), tail_at(far, 0)], [TAIL, FAR_TAIL, 0]);
        assert_eq!(tail_at(far, 2 * FAR_TAIL), 2 * FAR_TAIL);
    }

    #[test]
    fn head_and_tail_merge_in_small_files() {
        assert_eq!(head_and_tail(0, TAIL), [ByteRange { start: 0, len: 0 }]);
        assert_eq!(head_and_tail(10, TAIL), [ByteRange { start: 0, len: 10 }]);
        assert_eq!(head_and_tail(1 << 20, 0), [ByteRange { start: 0, len: HEAD }]);
        assert_eq!(head_and_tail(1 << 20, 16).len(), 2);
    }
}
