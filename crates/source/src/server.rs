//! The name of the server in a URL.

use reqwest::Url;

/// `host:port` of a URL; the host alone where nothing says the port. `None` for what lies on no server.
pub fn server_of(url: &str) -> Option<String> {
    let url = Url::parse(url).ok()?;
    let host = url.host_str().filter(|host| !host.is_empty())?;
    let usual = match url.scheme() {
        "root" | "roots" | "xroot" | "xroots" => Some(1094),
        "dav" => Some(80),
        "davs" => Some(443),
        _ => url.port_or_known_default(),
    };
    Some(match url.port().or(usual) {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::server_of;

    #[test]
    fn host_and_port_and_nothing_else() {
        let servers = [
            ("https://user:word@example.org/a.root?token=x", Some("example.org:443")),
            ("http://[::1]:8080/a.root", Some("[::1]:8080")),
            ("root://eos.example.org//a.root", Some("eos.example.org:1094")),
            ("s3://bucket/a.root", Some("bucket")),
            ("file:///tmp/a.root", None),
            ("/tmp/a.root", None),
            ("a.root", None),
        ];
        for (url, server) in servers {
            assert_eq!(server_of(url).as_deref(), server, "{url}");
        }
    }
}
