//! The connection pool of the process, and its TLS.

use reqwest::Client;
use rustls::{ClientConfig, RootCertStore, crypto::ring};
use sapwood_core::{Error, ErrorKind, Result};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How long a connection may take to come up.
const CONNECT: Duration = Duration::from_secs(15);

/// The client of this process, with the process it was made in: after a fork the connections belong to
/// the parent.
static CLIENT: Mutex<Option<(u32, Client)>> = Mutex::new(None);

/// The client that all files share, so that they share connections.
pub(super) fn shared() -> Result<Client> {
    let process = std::process::id();
    let mut client = CLIENT.lock().unwrap_or_else(PoisonError::into_inner);
    match &*client {
        Some((owner, client)) if *owner == process => Ok(client.clone()),
        _ => {
            let fresh = build()?;
            if let Some(of_parent) = client.replace((process, fresh.clone())) {
                // Dropping it would talk to a runtime that has no threads here.
                std::mem::forget(of_parent);
            }
            Ok(fresh)
        }
    }
}

fn build() -> Result<Client> {
    let failed = |message: String| Error::new(ErrorKind::Io, message);
    let tls = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| failed(format!("TLS cannot be set up: {error}")))?
        .with_root_certificates(roots())
        .with_no_client_auth();
    Client::builder()
        .tls_backend_preconfigured(tls)
        .http1_only() // many connections beat one when packets get lost
        .redirect(reqwest::redirect::Policy::none()) // `Remote` follows them, to keep secrets back
        .connect_timeout(CONNECT)
        .user_agent(concat!("sapwood/", env!("CARGO_PKG_VERSION")))
        .build()
        .map_err(|error| failed(format!("the HTTP client cannot be set up: {}", error.without_url())))
}

/// The certificate authorities that the machine trusts (`SSL_CERT_FILE` and `SSL_CERT_DIR` are
/// honoured); those that Mozilla trusts where the machine has none.
fn roots() -> RootCertStore {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if roots.is_empty() {
        roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    }
    roots
}
