//! Options in text: words NAME=VALUE, with the names and meanings of `sapwood.open`.

use crate::outcome::refused;
use crate::replicas::{Rule, urls};
use sapwood_core::{Deadline, Error, Result, stated_time};
use sapwood_fetch::blocks::{BlockOptions, CacheOptions};
use sapwood_root::OpenOptions;
use std::str::FromStr;
use std::time::Duration;

/// The environment variable with options for all files.
const VARIABLE: &str = "SAPWOOD_OPTIONS";
const CACHE_VARIABLE: &str = "SAPWOOD_CACHE";
const CACHE_SIZE_VARIABLE: &str = "SAPWOOD_CACHE_SIZE";

/// Options of opening a file.
#[cfg_attr(test, derive(Debug))]
pub(crate) struct Options {
    /// The time for one call.
    pub(crate) deadline: Duration,
    open: OpenOptions,
    rules: Vec<Rule>,
    blocks: Blocks,
}

/// What texts say about lazy download.
#[derive(Default)]
#[cfg_attr(test, derive(Debug))]
struct Blocks {
    /// `Some(None)`: the usual size.
    block_size: Option<Option<u64>>,
    scratch_size: Option<u64>,
    cache: Option<String>,
    cache_size: Option<u64>,
    cache_max_age: Option<Duration>,
}

impl Options {
    /// The options of the environment, and of a text, which counts more.
    pub(crate) fn of(text: &str) -> Result<Options> {
        let mut options = Options::default();
        options.blocks.cache = variable(CACHE_VARIABLE);
        options.blocks.cache_size =
            variable(CACHE_SIZE_VARIABLE).map(|value| bytes(CACHE_SIZE_VARIABLE, &value)).transpose()?;
        for text in [variable(VARIABLE).unwrap_or_default().as_str(), text] {
            text.split_whitespace().try_for_each(|word| options.set(word))?;
        }
        Ok(options)
    }

    /// What a text of URLs names first, and how to open it.
    pub(crate) fn for_file(&self, text: &str, deadline: Deadline) -> (String, OpenOptions) {
        let mut replicas = urls(text).into_iter();
        let first = replicas.next().unwrap_or_default();
        let mut open = self.open.until(deadline);
        open.source.counters = Default::default();
        open.lazy_download = self.blocks.options();
        let further = self.rules.iter().filter_map(|rule| rule.apply(&first));
        for url in replicas.chain(further) {
            if !open.replicas.urls.contains(&url) {
                open.replicas.urls.push(url);
            }
        }
        (first, open)
    }

    fn set(&mut self, word: &str) -> Result<()> {
        let (name, value) = word.split_once('=').ok_or_else(|| {
            // The word itself may be a secret.
            refused("an option has no value").hint("write options as NAME=VALUE, separated by spaces")
        })?;
        let (source, blocks) = (&mut self.open.source, &mut self.blocks);
        match name {
            "deadline" => self.deadline = seconds(name, value)?,
            "read_timeout" => source.read_timeout = seconds(name, value)?,
            "tries" => source.retry.tries = at_least_one(name, value)?,
            "sources" => self.open.replicas.sources = at_least_one(name, value)?,
            "replica" => self.rules.push(Rule::of(value)?),
            "lazy_download" => blocks.set_size(name, value)?,
            "scratch_size" => blocks.scratch_size = Some(bytes(name, value)?),
            "cache" => blocks.cache = Some(value.to_owned()).filter(|value| value != "no"),
            "cache_size" => blocks.cache_size = Some(bytes(name, value)?),
            "cache_max_age" => blocks.cache_max_age = Some(seconds(name, value)?),
            _ => {
                let known = "deadline, read_timeout, tries, sources, replica, lazy_download, scratch_size, cache, \
                             cache_size, cache_max_age";
                // Not shown: what stands before "=" may be a part of a secret.
                return Err(refused("an option is unknown").hint(format!("the options are {known}")));
            }
        }
        Ok(())
    }
}

impl Default for Options {
    fn default() -> Self {
        let (open, rules, blocks) = Default::default();
        Options { deadline: Deadline::DEFAULT, open, rules, blocks }
    }
}

impl Blocks {
    fn set_size(&mut self, name: &str, value: &str) -> Result<()> {
        self.block_size = match value {
            "no" => None,
            "yes" => Some(None),
            _ => Some(Some(bytes(name, value)?)),
        };
        match self.block_size {
            Some(Some(size)) if size < BlockOptions::SMALLEST => {
                Err(invalid(name).hint(format!("at least {} bytes", BlockOptions::SMALLEST)))
            }
            _ => Ok(()),
        }
    }

    fn options(&self) -> Option<BlockOptions> {
        let default = BlockOptions::default();
        let cache = self.cache.clone().map(|directory| CacheOptions {
            size: self.cache_size.unwrap_or(CacheOptions::SIZE),
            max_age: self.cache_max_age.unwrap_or_default(),
            ..CacheOptions::new(directory)
        });
        (self.block_size.is_some() || cache.is_some()).then(|| BlockOptions {
            block_size: self.block_size.flatten().unwrap_or(default.block_size),
            scratch_size: self.scratch_size.unwrap_or(default.scratch_size),
            cache,
        })
    }
}

/// A variable of the environment, unless it is empty.
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

fn invalid(name: &str) -> Error {
    refused(format!("the value of the option {name} is invalid"))
}

fn seconds(name: &str, value: &str) -> Result<Duration> {
    value.parse().ok().and_then(stated_time).ok_or_else(|| invalid(name).hint("it is a number of seconds"))
}

fn at_least_one<T: FromStr + PartialOrd + From<u8>>(name: &str, value: &str) -> Result<T> {
    let found = value.parse().ok().filter(|number| *number >= T::from(1));
    found.ok_or_else(|| invalid(name).hint("it is a whole number, at least 1"))
}

/// A size such as `16MB`, `512kiB` or `100000`.
fn bytes(name: &str, value: &str) -> Result<u64> {
    let unit = value.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(value.len());
    let (number, unit) = value.split_at(unit);
    let unit = unit.to_ascii_lowercase();
    let (prefix, base) = match unit.strip_suffix("ib") {
        Some(prefix) => (prefix, 1024_u64),
        None => (unit.strip_suffix('b').unwrap_or(&unit), 1000),
    };
    let power = match prefix {
        "" => Some(0),
        "k" => Some(1),
        "m" => Some(2),
        "g" => Some(3),
        "t" => Some(4),
        _ => None,
    };
    let factor = power.map(|power| base.pow(power));
    let found =
        factor.zip(number.trim().parse::<u64>().ok()).and_then(|(factor, number)| number.checked_mul(factor));
    found.ok_or_else(|| invalid(name).hint("it is a size, such as 16MB or 512kiB"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<Options> {
        let mut options = Options::default();
        text.split_whitespace().try_for_each(|word| options.set(word))?;
        Ok(options)
    }

    #[test]
    fn words_set_options() {
        let text = "deadline=60 read_timeout=2.5 tries=2 sources=1 replica=https://b/ lazy_download=1MiB \
                    scratch_size=2GB cache=/c cache_size=3kB cache_max_age=inf";
        let options = parsed(text).unwrap();
        assert_eq!(options.deadline, Duration::from_secs(60));
        let all = "sapwood:https://a/f.root::s3://c/f.root";
        let (url, open) = options.for_file(all, Deadline::default());
        assert_eq!(url, "https://a/f.root");
        assert_eq!(open.replicas.urls, ["s3://c/f.root", "https://b/f.root"]);
        assert_eq!((open.replicas.sources, open.source.retry.tries), (1, 2));
        assert_eq!(open.source.read_timeout, Duration::from_millis(2500));
        let blocks = open.lazy_download.unwrap();
        assert_eq!((blocks.block_size, blocks.scratch_size), (1 << 20, 2_000_000_000));
        let cache = blocks.cache.unwrap();
        assert_eq!((cache.directory.to_str(), cache.size), (Some("/c"), 3000));
        assert_eq!(Some(cache.max_age), stated_time(f64::INFINITY));
    }

    #[test]
    fn later_words_replace_earlier_ones() {
        let off = parsed("lazy_download=yes cache=/c lazy_download=no cache=no").unwrap();
        assert!(off.for_file("f.root", Deadline::default()).1.lazy_download.is_none());
    }

    #[test]
    fn invalid_options_are_refused_without_their_values() {
        let words = [
            "secret",
            "secret=1",
            "deadline=secret",
            "deadline=-1",
            "deadline=nan",
            "tries=0",
            "sources=secret",
            "lazy_download=12",
            "lazy_download=secretMB",
            "cache_size=99999999TB",
            "replica=https://a/?secret",
        ];
        for word in words {
            let error = parsed(word).unwrap_err();
            assert_eq!(error.kind(), sapwood_core::ErrorKind::Usage, "{word}");
            assert!(!error.to_string().contains("secret"), "{error}");
        }
    }
}
