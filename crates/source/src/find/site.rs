//! The sites of servers: servers at one site are likely to fail together.

use sapwood_core::server_of;
use std::net::IpAddr;

/// The server of a URL as `host:port`, normalized for comparison; `None` if the URL names no server.
pub fn normalized_server_of(url: &str) -> Option<String> {
    server_of(url).map(|server| normalized_server(&server))
}

/// A server `host:port`, normalized for comparison.
pub fn normalized_server(server: &str) -> String {
    #[cfg(unix)]
    return crate::xrootd::normalized(server);
    #[cfg(not(unix))]
    server.to_ascii_lowercase()
}

/// The site of a server `host:port`: as the server names it, else its domain, else the server itself.
///
/// ```
/// use sapwood_source::site_of;
/// assert_eq!(site_of("xrootd-3.t2.ucsd.edu:1094"), "t2.ucsd.edu");
/// assert_eq!(site_of("10.0.0.1:1094"), "10.0.0.1:1094");
/// ```
pub fn site_of(server: &str) -> String {
    #[cfg(unix)]
    if let Some(site) = crate::xrootd::site(server) {
        return site;
    }
    let server = normalized_server(server);
    let host = server.rsplit_once(':').map_or(&*server, |(host, _)| host);
    match host.split_once('.') {
        Some((_, domain)) if domain.contains('.') && host.parse::<IpAddr>().is_err() => domain.to_owned(),
        _ => server,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn domains() {
        assert_eq!(site_of("A.B.Example.org:1094"), "b.example.org");
        for alone in ["localhost:1", "example.org:443", "[::1]:1094", "127.0.0.1:8080", "bucket"] {
            assert_eq!(site_of(alone), alone);
        }
        assert_eq!(normalized_server_of("root://[::127.0.0.1]:1094//f").as_deref(), Some("127.0.0.1:1094"));
    }
}
