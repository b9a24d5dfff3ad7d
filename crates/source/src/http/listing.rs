//! Directories on WebDAV servers (RFC 4918), such as dCache, EOS, StoRM and XRootD over HTTP.

use super::access::access;
use super::answer::Failure;
use super::exchange::{Exchange, MOST_REDIRECTS, Message, endless, redirect};
use crate::{ListingEntry, SourceOptions};
use bytes::Bytes;
use percent_encoding::percent_decode_str;
use quick_xml::Reader;
use quick_xml::events::Event;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, Response, StatusCode, Url};
use sapwood_core::{Error, ErrorKind, Result, redact};
use std::collections::BTreeMap;

/// Largest answer: some 100,000 entries.
const LONGEST: u64 = 64 << 20;

const QUESTION: &str = "<?xml version=\"1.0\" encoding=\"utf-8\"?>\
    <D:propfind xmlns:D=\"DAV:\"><D:prop><D:resourcetype/></D:prop></D:propfind>";

/// The entries of the directory at a URL, sorted by name.
pub(crate) async fn list(url: &str, options: &SourceOptions) -> Result<Vec<ListingEntry>> {
    let access = access(url, options)?;
    let place = access.original().clone();
    let exchange = Exchange::new(access, None, options);
    let name = redact(url);
    let asked = exchange.repeat(&name, options.deadline, || ask(&exchange, place.clone()));
    let late = || Error::new(ErrorKind::Timeout, "the deadline passed before the directory was listed");
    let answer = tokio::time::timeout_at(options.deadline.instant().into(), asked).await;
    let (body, place) = answer.map_err(|_| late())??;
    let mut entries = entries(&body, &place)
        .ok_or_else(|| Error::new(ErrorKind::Server, "the server's listing of the directory is malformed"))?;
    entries.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    Ok(entries)
}

/// Requests the listing, and returns the URL that answered, after redirects.
async fn ask(exchange: &Exchange, mut url: Url) -> Result<(Bytes, Url), Failure> {
    let mut headers = HeaderMap::new();
    headers.insert(HeaderName::from_static("depth"), HeaderValue::from_static("1"));
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/xml; charset=\"utf-8\""));
    let method = Method::from_bytes(b"PROPFIND").unwrap_or_default();
    let message = Message { method, headers, body: Bytes::from_static(QUESTION.as_bytes()), ranges: 0 };
    for _ in 0..=MOST_REDIRECTS {
        let response = exchange.send(&url, &message).await?;
        if response.status().is_redirection() {
            url = redirect(&url, &response)?;
            continue;
        }
        return match exchange.body(check(exchange, response).await?, LONGEST).await? {
            (body, None) => Ok((body, url)),
            (_, Some(error)) => Err(Failure::Network(error)),
        };
    }
    Err(endless())
}

async fn check(exchange: &Exchange, response: Response) -> Result<Response, Failure> {
    match response.status() {
        StatusCode::MULTI_STATUS => Ok(response),
        status if status.is_success() || matches!(status.as_u16(), 400 | 405 | 501) => {
            let message = "the server does not list directories: it does not speak WebDAV";
            Err(Failure::Fatal(Error::unsupported(message).hint("list the URLs")))
        }
        _ => Err(exchange.failure(response).await),
    }
}

/// The entries in an answer, without the directory itself.
fn entries(body: &[u8], place: &Url) -> Option<Vec<ListingEntry>> {
    let own = path(place.path());
    let mut reader = Reader::from_reader(body);
    let mut buffer = Vec::new();
    let (mut href, mut is_directory, mut inside) = (String::new(), false, false);
    let mut found = BTreeMap::new();
    let mut any = false;
    loop {
        match reader.read_event_into(&mut buffer).ok()? {
            Event::Start(tag) | Event::Empty(tag) => match tag.local_name().as_ref() {
                b"multistatus" => any = true,
                b"response" => (href, is_directory) = (String::new(), false),
                b"href" => inside = true,
                b"collection" => is_directory = true,
                _ => {}
            },
            Event::Text(text) if inside => href.push_str(&text.decode().ok()?),
            Event::GeneralRef(reference) if inside => href.push(match &*reference.decode().ok()? {
                "amp" => '&',
                "lt" => '<',
                "gt" => '>',
                "quot" => '"',
                "apos" => '\'',
                _ => return None,
            }),
            Event::End(tag) => match tag.local_name().as_ref() {
                b"href" => inside = false,
                b"response" => {
                    let path = path(place.join(href.trim()).ok()?.path());
                    let name = path.rsplit('/').next().unwrap_or_default();
                    if path != own && !name.is_empty() {
                        found.insert(name.to_owned(), is_directory);
                    }
                }
                _ => {}
            },
            Event::Eof => break,
            _ => {}
        }
        buffer.clear();
    }
    let entry = |(name, is_directory)| ListingEntry { name, is_directory };
    any.then(|| found.into_iter().map(entry).collect())
}

/// A decoded path without a slash at the end.
fn path(path: &str) -> String {
    percent_decode_str(path.trim_end_matches('/')).decode_utf8_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_in_the_words_of_several_servers() {
        let place: Url = "https://h:1/dir/sub%20x/".parse().unwrap();
        let body = "<?xml version='1.0'?><D:multistatus xmlns:D='DAV:' xmlns:x='DAV:'>\
            <D:response><D:href>/dir/sub%20x</D:href><D:propstat><D:prop><D:resourcetype><D:collection/>\
            </D:resourcetype></D:prop></D:propstat></D:response>\
            <D:response><x:href>https://h:1/dir/sub%20x/b%2Bc.root\n</x:href><D:propstat><D:prop><D:resourcetype/>\
            </D:prop></D:propstat></D:response>\
            <D:response><D:href>/dir/sub%20x/d&amp;e/</D:href><D:propstat><D:prop><D:resourcetype>\
            <x:collection/></D:resourcetype></D:prop></D:propstat></D:response></D:multistatus>";
        let entry = |name: &str, is_directory| ListingEntry { name: name.to_owned(), is_directory };
        assert_eq!(entries(body.as_bytes(), &place).unwrap(), [entry("b+c.root", false), entry("d&e", true)]);
        for wrong in ["", "<html></html>", "<D:multistatus><D:href>", "<a></b>"] {
            assert!(entries(wrong.as_bytes(), &place).is_none_or(|entries| entries.is_empty()), "{wrong}");
        }
    }
}
