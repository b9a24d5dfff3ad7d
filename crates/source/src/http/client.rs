//! The connection pool of the process, and its TLS.

use reqwest::Client;
use rustls::client::WantsClientCert;
use rustls::{ClientConfig, ConfigBuilder, RootCertStore, crypto::ring};
use sapwood_core::{Error, ErrorKind, Result};
use sapwood_credentials::Environment;
use sapwood_credentials::x509::Trust;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How long a connection may take to come up.
const CONNECT: Duration = Duration::from_secs(15);

/// Most connections that one file may have to an object store, which is many machines.
const MOST_CONNECTIONS: usize = 768;

/// The number of connections that is worthwhile on the same machine.
const NEAR_CONNECTIONS: usize = 64;

/// The round trip at which the most connections are worthwhile. Each takes a millisecond of work to set up and saves
/// a wait for another one, so the best number grows with the square root of the round trip.
const FAR: Duration = Duration::from_millis(80);

/// The clients of this process.
static CLIENTS: Mutex<Option<Clients>> = Mutex::new(None);

struct Clients {
    /// The process that made them: after a fork, the connections belong to the parent.
    process: u32,
    /// Without authorities, which take as long to read as opening a file nearby.
    plain: Option<Client>,
    /// With the inputs of its TLS: a new proxy certificate needs new connections.
    secure: Option<(Trust, Client)>,
}

/// The client for URLs of a scheme, which all files share, and with it their connections.
pub(crate) fn shared(environment: &Environment, scheme: &str) -> Result<Client> {
    let process = std::process::id();
    let mut clients = CLIENTS.lock().unwrap_or_else(PoisonError::into_inner);
    if clients.as_ref().is_some_and(|clients| clients.process != process) {
        // Dropping them would call a runtime that has no threads in this process.
        std::mem::forget(clients.take());
    }
    let Clients { plain, secure, .. } =
        clients.get_or_insert_with(|| Clients { process, plain: None, secure: None });
    if scheme == "http" && !is_proxy_secure() {
        let client = match plain.take() {
            Some(client) => client,
            None => build(&with_authorities(RootCertStore::empty())?.with_no_client_auth())?,
        };
        return Ok(plain.insert(client).clone());
    }
    let trust = Trust::of(environment);
    let client = match secure.take().filter(|(of, _)| *of == trust) {
        Some((_, client)) => client,
        None => build(&tls(&trust)?)?,
    };
    Ok(secure.insert((trust, client)).1.clone())
}

/// Whether `http://` URLs are requested through a server that is spoken to with TLS.
fn is_proxy_secure() -> bool {
    let proxies = ["http_proxy", "all_proxy", "ALL_PROXY"];
    proxies.iter().filter_map(std::env::var_os).any(|url| url.as_encoded_bytes().starts_with(b"https:"))
}

/// Most connections of one file to an object store: at most half of the files that the process may open.
pub(super) fn most_connections() -> usize {
    open_files().map_or(MOST_CONNECTIONS, |most| (most / 2).clamp(1, MOST_CONNECTIONS))
}

/// How many connections are worthwhile, where `most` are allowed.
pub(super) fn connections_at(round_trip: Duration, most: usize) -> usize {
    let micros = |time: Duration| usize::try_from(time.as_micros()).unwrap_or(usize::MAX);
    let square = micros(round_trip).saturating_mul(MOST_CONNECTIONS * MOST_CONNECTIONS) / micros(FAR).max(1);
    square.isqrt().clamp(NEAR_CONNECTIONS, MOST_CONNECTIONS).min(most)
}

/// Files and connections that the process may have open; `None` if there is no limit.
#[cfg(unix)]
fn open_files() -> Option<usize> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    #[expect(unsafe_code, reason = "a function of C")]
    // SAFETY: it writes only to the structure that it is given.
    let failed = unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) } != 0;
    if failed { None } else { usize::try_from(limit.rlim_cur).ok() }
}

#[cfg(not(unix))]
fn open_files() -> Option<usize> {
    None
}

fn build(tls: &ClientConfig) -> Result<Client> {
    Client::builder()
        .tls_backend_preconfigured(tls.clone())
        .http1_only() // many connections beat one when packets get lost
        .redirect(reqwest::redirect::Policy::none()) // `Remote` follows them, to keep secrets back
        .connect_timeout(CONNECT)
        .user_agent(concat!("sapwood/", env!("CARGO_PKG_VERSION")))
        .build()
        .map_err(|error| {
            let message = format!("the HTTP client cannot be set up: {}", error.without_url());
            Error::new(ErrorKind::Io, message)
        })
}

/// The TLS configuration: trusted authorities, and the certificate to show.
pub(crate) fn tls(trust: &Trust) -> Result<ClientConfig> {
    Ok(with_authorities(roots(trust))?.with_client_cert_resolver(trust.resolver()))
}

fn with_authorities(roots: RootCertStore) -> Result<ConfigBuilder<ClientConfig, WantsClientCert>> {
    Ok(ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| Error::new(ErrorKind::Io, format!("TLS cannot be set up: {error}")))?
        .with_root_certificates(roots))
}

/// The certificate authorities that the machine trusts (`SSL_CERT_FILE` and `SSL_CERT_DIR` are honored), or
/// Mozilla's if the machine has none; and those of the grid.
fn roots(trust: &Trust) -> RootCertStore {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if roots.is_empty() {
        roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    }
    trust.add_authorities(&mut roots);
    roots
}

/// What to do about a certificate that rustls refuses, whose reason it gives only as text.
pub(crate) fn certificate_hint(why: &str) -> &'static str {
    if why.contains("not valid for name") || why.contains("NotValidForName") {
        "the server's certificate is for another host: use a name for which it is valid"
    } else if why.contains("CaUsedAsEndEntity") {
        "the server's certificate is that of an authority, which no server may use: it needs one that an authority signed"
    } else if why.contains("certificate expired") || why.contains("not valid yet") || why.contains("Expired")
    {
        "the server's certificate is not valid today: check the clock of this machine, or ask those who run the server"
    } else {
        "no authority that is trusted here vouches for the server: name further ones with SSL_CERT_FILE, \
         X509_CERT_DIR or REQUESTS_CA_BUNDLE"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_connections_pay_off_at_high_latency() {
        let at = |millis| connections_at(Duration::from_millis(millis), 1000);
        assert_eq!([at(0), at(20), at(80), at(240)], [64, 384, 768, 768]);
        assert_eq!(connections_at(FAR, 100), 100);
    }
}
