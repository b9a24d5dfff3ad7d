//! Other replicas of a file: what redirectors and data servers state about it and about themselves.
#![expect(unsafe_code, reason = "functions of a shared library")]

use super::call::{Reply, begin, end, seconds};
use super::contact::library_for;
use super::library::Library;
use super::query::query;
use crate::Checksum;
use sapwood_core::{Deadline, Result, server_of};
use std::ffi::CString;
use std::future::Future;
use std::net::Ipv6Addr;
use std::time::Duration;

/// How long a server may take to describe itself: the answer waits behind the data that it is sending.
const PATIENCE: Duration = Duration::from_secs(10);

/// Role of a server that fetches from others: `kXR_attrProxy` of `XProtocol.hh`.
const PROXY: u64 = 0x200;

/// Why a redirector is asked for a server other than some.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AvoidReason {
    /// They are in use; another one is wanted.
    Further,
    /// They failed.
    Failed,
}

/// The URL that asks a redirector for a server other than `servers`, which are given as `host:port`.
///
/// Redirectors know hosts: `tried=` names them, `triedrc=resel` states that they did not fail.
pub(crate) fn avoiding(url: &str, servers: &[String], why: AvoidReason) -> String {
    if servers.is_empty() {
        return url.to_owned();
    }
    let mut hosts: Vec<&str> = Vec::new();
    for host in servers.iter().map(|server| host_of(server)) {
        if !hosts.contains(&host) {
            hosts.push(host);
        }
    }
    let mark = if url.contains('?') { '&' } else { '?' };
    let reason = match why {
        AvoidReason::Further => "&triedrc=resel",
        AvoidReason::Failed => "",
    };
    format!("{url}{mark}tried={}{reason}", hosts.join(","))
}

/// The URL without that question.
pub(super) fn without_tried(url: &str) -> &str {
    url.find("tried=").and_then(|at| url.get(..at)).map_or(url, |url| url.trim_end_matches(['?', '&']))
}

/// The URL of the same file on the data server `host:port`.
pub(crate) fn on_server(url: &str, server: &str) -> Option<String> {
    let (scheme, rest) = url.split_once("://")?;
    let (authority, path) = rest.split_once('/')?;
    let user = authority.rsplit_once('@').map(|(user, _)| format!("{user}@")).unwrap_or_default();
    Some(format!("{scheme}://{user}{server}/{path}"))
}

/// The data servers that have a file online, as `host:port`, as the server of its URL knows.
///
/// # Errors
/// Those of the request; `NotFound` if there are none.
pub(crate) async fn locate(url: &str, deadline: Deadline) -> Result<Vec<String>> {
    let late = "the deadline passed before the server said where the file is";
    let text = query(url, deadline, late, |library| library.locate).await?;
    Ok(text.lines().map(normalized).filter(|line| !line.is_empty()).collect())
}

/// Whether the server of a URL is a cache in front of others (XCache), which fetches the whole file for itself: a
/// second cache would only fetch it once more.
///
/// A proxy that does not state whether it keeps what it fetches counts as a cache. `None` if it does not answer.
pub(crate) async fn is_cache(url: &str, deadline: Deadline) -> Option<bool> {
    let deadline = deadline.within(PATIENCE);
    let (Ok(library), Ok(place)) = (library_for(url, deadline).await, CString::new(url)) else {
        return None;
    };
    let role = begin((), |done, context| {
        // SAFETY: the URL is a C string.
        unsafe { (library.role)(place.as_ptr(), seconds(deadline), done, context) };
    });
    match in_time(end(role), deadline).await? {
        Ok(answer) if answer.value & PROXY != 0 => {}
        _ => return Some(false),
    }
    let stats = begin((), |done, context| {
        // SAFETY: both are C strings. `p`: of its protocol, and what lies below that.
        unsafe { (library.query_stats)(place.as_ptr(), c"p".as_ptr(), seconds(deadline), done, context) };
    });
    match in_time(end(stats), deadline).await? {
        Ok(answer) => Some(answer.text.contains("<stats id=\"cache\"")),
        Err(_) => Some(true),
    }
}

/// The checksum of the file at a URL, as its server states it; `None` if it does not, or not in time.
pub(super) async fn checksum(library: &'static Library, url: String, deadline: Deadline) -> Option<Checksum> {
    let url = CString::new(url).ok()?;
    let asked = begin((), |done, context| {
        // SAFETY: the URL is a C string.
        unsafe { (library.query_checksum)(url.as_ptr(), seconds(deadline), done, context) };
    });
    let answer = in_time(end(asked), deadline).await?.ok()?;
    let (kind, value) = answer.text.trim().split_once(' ')?;
    Checksum::parse(kind, value)
}

async fn in_time(reply: impl Future<Output = Reply>, deadline: Deadline) -> Option<Reply> {
    tokio::time::timeout_at(deadline.instant().into(), reply).await.ok()
}

/// True if a file at a URL is read from a server other than the one in the URL.
pub(crate) fn is_redirected(url: &str, server: &str) -> bool {
    server_of(url).is_some_and(|named| normalized(&named) != normalized(server))
}

/// `host:port` in lower case, with IPv4 addresses as such: servers also write them as IPv6 addresses.
pub(crate) fn normalized(server: &str) -> String {
    let server = server.trim();
    let address = server.strip_prefix('[').and_then(|rest| rest.split_once(']'));
    let mapped =
        address.and_then(|(address, port)| Some((address.parse::<Ipv6Addr>().ok()?.to_ipv4()?, port)));
    match mapped {
        // ::1 and the like are not IPv4 addresses.
        Some((address, port)) if address.octets()[0] != 0 => format!("{address}{port}"),
        _ => server.to_ascii_lowercase(),
    }
}

/// The host of `host:port`.
fn host_of(server: &str) -> &str {
    match server.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => server,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redirectors_get_the_servers_to_avoid() {
        let servers = ["a.org:1094", "a.org:1095", "[fe80::1]:1094"].map(str::to_owned);
        assert_eq!(
            avoiding("root://r//f.root", &servers, AvoidReason::Further),
            "root://r//f.root?tried=a.org,[fe80::1]&triedrc=resel"
        );
        assert_eq!(
            avoiding("root://r//f?x=1", &servers[..1], AvoidReason::Failed),
            "root://r//f?x=1&tried=a.org"
        );
        assert_eq!(avoiding("root://r//f", &[], AvoidReason::Further), "root://r//f");
        for url in ["root://r//f.root", "root://r//f.root?x=1"] {
            assert_eq!(without_tried(&avoiding(url, &servers, AvoidReason::Further)), url);
        }
    }

    #[test]
    fn servers_are_the_same_however_they_are_written() {
        assert_eq!(normalized("[::127.0.0.1]:1094"), "127.0.0.1:1094");
        assert_eq!(normalized("[::ffff:10.0.0.1]:1094\n"), "10.0.0.1:1094");
        assert_eq!(normalized("[::7f00:1]:1094"), "127.0.0.1:1094");
        assert_eq!(normalized("[fe80::1]:1094"), "[fe80::1]:1094");
        assert_eq!(normalized("[::1]:1094"), "[::1]:1094");
        assert!(is_redirected("root://r//f", "a:1094") && !is_redirected("root://R//f", "r:1094"));
        assert!(!is_redirected("root://me@r:1094//f?x=1", "r:1094"));
    }

    #[test]
    fn the_same_file_on_another_server() {
        assert_eq!(on_server("root://me@r:1//a/f?x=1", "b:2").unwrap(), "root://me@b:2//a/f?x=1");
        assert_eq!(on_server("root://r", "b:2"), None);
    }
}
