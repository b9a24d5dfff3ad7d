//! Names of replicas: several URLs in one text, and rules that name the replicas of any file.

use sapwood_core::{Protocol, Result, redact, url_scheme};
use sapwood_source::is_document;

use crate::outcome::refused;

/// What a text may begin with. The second one is for RNTuple: ROOT lets it read only where a URL of the web begins.
const PREFIXES: [&str; 3] = ["sapwood:", "https://sapwood/", "http://sapwood/"];
/// Between the URLs of one file.
const BETWEEN: &str = "::";
/// Between the start of a name and its replacement.
const BECOMES: &str = "=>";

/// The URLs in a text such as `https://a/f.root::root://b//f.root`, which may begin with `sapwood:` or
/// `https://sapwood/`.
///
/// ROOT folds the slashes inside of a URL: those after a scheme are put back.
pub(crate) fn urls(text: &str) -> Vec<String> {
    let text = PREFIXES.iter().find_map(|prefix| text.strip_prefix(prefix)).unwrap_or(text);
    let (mut found, mut start) = (Vec::new(), 0);
    for (at, _) in text.match_indices(BETWEEN) {
        // A "::" that no scheme follows belongs to an address of IPv6 or to a name.
        if at > start && text.get(at + BETWEEN.len()..).is_some_and(|rest| folded_scheme(rest).is_some()) {
            found.extend(text.get(start..at));
            start = at + BETWEEN.len();
        }
    }
    found.extend(text.get(start..));
    found.into_iter().map(unfolded).collect()
}

/// The scheme of a URL with one or more slashes after it.
fn folded_scheme(url: &str) -> Option<&str> {
    let (scheme, rest) = url.split_once(":/")?;
    url_scheme(&format!("{scheme}://{rest}"))?;
    Protocol::of(&format!("{scheme}://")).map(|_| scheme)
}

/// The URL with the two slashes after its scheme and, for XRootD, those before its path.
fn unfolded(url: &str) -> String {
    let Some(scheme) = folded_scheme(url).filter(|_| url_scheme(url).is_none()) else {
        return url.to_owned();
    };
    let rest = url.get(scheme.len() + 2..).unwrap_or_default();
    match (Protocol::of(&format!("{scheme}://")), rest.split_once('/')) {
        (Some(Protocol::Local), _) => format!("{scheme}:///{rest}"),
        (Some(Protocol::Xrootd), Some((host, path))) => format!("{scheme}://{host}//{path}"),
        _ => format!("{scheme}://{rest}"),
    }
}

/// A rule that names replicas of any file.
#[derive(Clone)]
#[cfg_attr(test, derive(Debug))]
pub(crate) enum Rule {
    /// A document that lists replicas of many files.
    Document(String),
    /// A place that has all files, under the paths of their URLs.
    Prefix(String),
    /// A start of names, and what to replace it with.
    Replace(String, String),
}

impl Rule {
    /// The rule that a text means: `https://a/data/`, `root://a//=>https://b/`, or `replicas.json`.
    pub(crate) fn of(text: &str) -> Result<Rule> {
        match text.split_once(BECOMES) {
            Some((from, to)) if !from.is_empty() && !to.is_empty() => {
                Ok(Rule::Replace(from.into(), to.into()))
            }
            None if text.ends_with('/') => Ok(Rule::Prefix(text.to_owned())),
            None if is_document(text) => Ok(Rule::Document(text.to_owned())),
            _ => {
                let message = format!("the option replica={} is for all files that are opened", redact(text));
                let hint = "name a place that ends in '/', START=>REPLACEMENT, or a document; the replicas of one \
                            file are named in its URL, with '::' between them";
                Err(refused(message).hint(hint))
            }
        }
    }

    /// The replica of a file that the rule names, or a document that lists some.
    pub(crate) fn apply(&self, name: &str) -> Option<String> {
        match self {
            Rule::Document(place) => Some(place.clone()),
            Rule::Prefix(prefix) => Some(below(prefix, name)),
            Rule::Replace(from, to) => {
                let rest = name.strip_prefix(from.as_str())?;
                let whole = from.ends_with('/') || rest.is_empty() || rest.starts_with('/');
                whole.then(|| format!("{to}{rest}"))
            }
        }
        .filter(|url| url != name)
    }
}

/// The URL of a file below a prefix.
fn below(prefix: &str, name: &str) -> String {
    let path = match url_scheme(name) {
        Some(scheme) => {
            let rest = name.get(scheme.len() + 3..).unwrap_or_default();
            let rest = rest.split(['?', '#']).next().unwrap_or_default();
            rest.split_once('/').map_or("", |(_, path)| path)
        }
        None => name,
    };
    let path = path.trim_start_matches('/');
    // XRootD separates the server from an absolute path by two slashes.
    let is_server = prefix.matches('/').count() == 3 && Protocol::of(prefix) == Some(Protocol::Xrootd);
    format!("{prefix}{}{path}", if is_server { "/" } else { "" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_names_several_urls() {
        let all = ["https://a/f.root", "root://b//x/f.root", "file:///tmp/f.root"];
        assert_eq!(urls(&format!("sapwood:{}", all.join("::"))), all);
        // As ROOT passes them to plugins.
        assert_eq!(urls("https://a/f.root::root:/b/x/f.root::file:/tmp/f.root"), all);
        assert_eq!(urls("https://sapwood/s3:/b/f.root"), ["s3://b/f.root"]);
        for one in ["https://[::1]:80/f.root", "/data/a::b.root", "root://a//f.root?x=::1", "f.root::"] {
            assert_eq!(urls(one), [one]);
        }
    }

    #[test]
    fn rules_name_replicas() {
        let replica = |rule: &str, name: &str| Rule::of(rule).unwrap().apply(name);
        let name = "root://a//store/x.root?token=1";
        assert_eq!(replica("https://b/d/", name).as_deref(), Some("https://b/d/store/x.root"));
        assert_eq!(replica("root://c/", name).as_deref(), Some("root://c//store/x.root"));
        assert_eq!(replica("root://c//", name).as_deref(), Some("root://c//store/x.root"));
        assert_eq!(replica("root://a//=>s3://b/", "root://a//x.root").as_deref(), Some("s3://b/x.root"));
        assert_eq!(replica("root://a//=>s3://b/", "root://ab//x.root"), None);
        assert_eq!(replica("root://a//=>root://a//", "root://a//x.root"), None);
        assert_eq!(replica("/store=>https://b", "/storex"), None);
        assert_eq!(replica("l.meta4", name).as_deref(), Some("l.meta4"));
    }

    #[test]
    fn a_replica_of_one_file_is_no_rule() {
        let error = Rule::of("https://me:secret@a/f.root?token=secret").unwrap_err().to_string();
        assert!(error.contains("'::'") && !error.contains("secret"), "{error}");
    }
}
