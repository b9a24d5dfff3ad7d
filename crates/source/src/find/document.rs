//! Documents that list the replicas of files: metalinks, and lists as Rucio writes them.

use super::replica::ReplicaList;
use super::{metalink, rucio};
use crate::{SourceOptions, open};
use sapwood_core::{ByteRange, Error, ErrorKind, Result, redact, url_scheme};

/// Largest document that is read: it has a line for each replica of each file.
const LARGEST: u64 = 64 << 20;

/// How the names of documents end.
const ENDINGS: [&str; 3] = [".meta4", ".metalink", ".json"];

/// True if a path or URL names such a document.
pub fn is_document(url: &str) -> bool {
    let path = match url_scheme(url) {
        Some(_) => url.split(['?', '#']).next().unwrap_or_default(),
        None => url,
    };
    let path = path.to_ascii_lowercase();
    ENDINGS.iter().any(|ending| path.ends_with(ending))
}

/// Reads a document.
///
/// # Errors
/// Those of opening and reading it; `Usage` if it is not such a document.
pub async fn read_document(url: &str, options: &SourceOptions) -> Result<Vec<ReplicaList>> {
    let opened = open(url, &SourceOptions { tail_size: 0, ..options.clone() }).await?;
    let size = opened.source.identity().size;
    if size > LARGEST {
        let message = format!("the list of replicas has {size} bytes, more than the limit of {LARGEST}");
        return Err(Error::new(ErrorKind::Limit, message).url(redact(url)));
    }
    let all = ByteRange { start: 0, len: size };
    let bytes = match opened.known.get(all) {
        Some(bytes) => bytes,
        None => {
            let mut answers = opened.source.read_ranges(&[all], options.deadline).await?;
            answers.pop().unwrap_or_default()
        }
    };
    parse_document(&bytes).map_err(|error| error.url(redact(url)))
}

/// Parses a document in memory: a metalink of version 4 or 3, or the JSON of Rucio.
///
/// # Errors
/// `Usage` if it is neither.
pub fn parse_document(document: &[u8]) -> Result<Vec<ReplicaList>> {
    let document = document.strip_prefix(b"\xef\xbb\xbf").unwrap_or(document);
    match document.iter().find(|byte| !byte.is_ascii_whitespace()) {
        Some(b'<') => metalink::parse(document),
        Some(b'[' | b'{') => rucio::parse(document),
        _ => Err(Error::usage("this is not a list of replicas")
            .hint("a metalink (.meta4), or the replicas of a file as JSON from Rucio")),
    }
}

/// The replicas of the file `name`: of the only file in the list, or of the one with that name. Names agree if they
/// are equal or if one is the end of the other, after a slash (or the colon after a scope).
///
/// # Errors
/// `NotFound` if there is no such file, or the list is empty.
pub fn choose(mut described: Vec<ReplicaList>, name: Option<&str>) -> Result<ReplicaList> {
    if described.len() > 1
        && let Some(name) = name
    {
        described.retain(|one| agree(&one.name, name));
    }
    match (described.len(), described.pop()) {
        (1, Some(one)) if !one.replicas.is_empty() => Ok(one),
        (1, Some(one)) => {
            Err(Error::new(ErrorKind::NotFound, format!("the list has no replica of the file {}", one.name)))
        }
        (0, _) => Err(Error::new(ErrorKind::NotFound, "the list does not contain the file")),
        (count, _) => Err(Error::usage(format!("the list contains {count} files"))
            .hint("open one by its name, and give this as its replicas")),
    }
}

fn agree(one: &str, other: &str) -> bool {
    let (long, short) = if one.len() < other.len() { (other, one) } else { (one, other) };
    let short = short.trim_start_matches('/');
    long.strip_suffix(short)
        .is_some_and(|rest| !short.is_empty() && (rest.is_empty() || rest.ends_with(['/', ':'])))
}

#[cfg(test)]
mod tests {
    use super::super::Replica;
    use super::*;

    #[test]
    fn documents_are_known_by_their_names() {
        assert!(
            is_document("/a/b.META4") && is_document("https://h/f.metalink?x=1") && is_document("r.json")
        );
        assert!(!is_document("https://h/f.root?x=.meta4") && !is_document("f.root"));
    }

    #[test]
    fn names_agree_from_a_slash_on() {
        assert!(agree("/store/a/x.root", "x.root") && agree("x.root", "root://h//store/x.root"));
        assert!(agree("cms:/store/x.root", "/store/x.root") && agree("x.root", "x.root"));
        assert!(agree("mc23:x.root", "x.root"));
        assert!(!agree("/store/ax.root", "x.root") && !agree("", "x.root") && !agree("/", "x/"));
    }

    #[test]
    fn one_file_is_chosen() {
        let one = |name: &str| ReplicaList {
            name: name.to_owned(),
            replicas: vec![Replica::of("http://h/x")],
            ..ReplicaList::default()
        };
        assert_eq!(choose(vec![one("a")], Some("b")).unwrap().name, "a");
        assert_eq!(choose(vec![one("a"), one("b")], Some("/s/b")).unwrap().name, "b");
        assert_eq!(choose(vec![one("a"), one("b")], Some("c")).unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(choose(vec![one("a"), one("b")], None).unwrap_err().kind(), ErrorKind::Usage);
        assert_eq!(choose(vec![ReplicaList::default()], None).unwrap_err().kind(), ErrorKind::NotFound);
    }

    #[test]
    fn other_documents_are_refused() {
        for text in ["", "hello", "<html><p>404</p></html>", "{}", "[1]", "[", "{\"a\": 1}", "<metalink>"] {
            assert!(parse_document(text.as_bytes()).is_err(), "{text}");
        }
    }
}
