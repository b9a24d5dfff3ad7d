//! Name resolution, TCP and TLS, one after the other.

use crate::http::client::{certificate_hint, tls};
use rustls::pki_types::ServerName;
use sapwood_core::{Error, ErrorKind, Result};
use sapwood_credentials::x509::{Trust, not_after};
use sapwood_credentials::{CredentialFinding, CredentialState, Environment};
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::net::{TcpStream, lookup_host};
use tokio_rustls::TlsConnector;
use x509_parser::certificate::X509Certificate;
use x509_parser::extensions::GeneralName;

/// How many names of a certificate are shown.
const MOST_NAMES: usize = 5;

/// The addresses of a server.
pub(super) async fn resolve(host: &str, port: u16) -> Result<Vec<SocketAddr>> {
    let failed =
        |why: String| Error::new(ErrorKind::Network, format!("the name {host} cannot be resolved: {why}"));
    let addresses: Vec<_> =
        lookup_host((host, port)).await.map_err(|error| failed(error.to_string()))?.collect();
    match addresses.is_empty() {
        true => Err(failed("it has no address".to_owned())),
        false => Ok(addresses),
    }
}

/// A connection to the first address that takes it.
pub(super) async fn connect(addresses: &[SocketAddr]) -> Result<(TcpStream, SocketAddr)> {
    let mut failures = Vec::new();
    for &address in addresses {
        match TcpStream::connect(address).await {
            Ok(stream) => return Ok((stream, address)),
            Err(error) => failures.push(format!("{address}: {error}")),
        }
    }
    Err(Error::new(ErrorKind::Network, format!("no connection to {}", failures.join("; "))))
}

/// TLS with a server: a sentence, and details.
pub(super) async fn secure(
    stream: TcpStream,
    host: &str,
    environment: &Environment,
) -> Result<(String, Vec<(String, String)>)> {
    let name = ServerName::try_from(host.to_owned())
        .map_err(|_| Error::usage("no certificate can be for such a name"))?;
    let config = tls(&Trust::of(environment))?;
    let stream = TlsConnector::from(Arc::new(config)).connect(name, stream).await.map_err(|error| {
        let why = error.to_string();
        Error::new(ErrorKind::Network, format!("TLS cannot be set up: {why}")).hint(certificate_hint(&why))
    })?;
    let (_, session) = stream.get_ref();
    let mut facts = Vec::new();
    let mut fact = |name: &str, value: String| facts.push((name.to_owned(), value));
    if let Some(version) = session.protocol_version().and_then(|version| version.as_str()) {
        fact("version", version.to_owned());
    }
    let certificate = session.peer_certificates().and_then(|chain| chain.first());
    let parsed =
        certificate.and_then(|certificate| Some(x509_parser::parse_x509_certificate(certificate).ok()?.1));
    let Some(parsed) = parsed else { return Ok(("set up".to_owned(), facts)) };
    fact("subject", parsed.subject().to_string());
    fact("issuer", parsed.issuer().to_string());
    fact("names", names(&parsed));
    fact("valid until", parsed.validity().not_after.to_string());
    let valid = CredentialState::until(certificate.and_then(|certificate| not_after(certificate)));
    Ok((CredentialFinding::new("certificate", format!("the name of {host}"), valid).to_string(), facts))
}

/// The hosts of a certificate.
fn names(certificate: &X509Certificate<'_>) -> String {
    let extension = certificate.subject_alternative_name().ok().flatten();
    let all: Vec<_> = extension
        .iter()
        .flat_map(|extension| &extension.value.general_names)
        .filter_map(|name| match name {
            GeneralName::DNSName(name) => Some((*name).to_owned()),
            _ => None,
        })
        .collect();
    let more = all.len().saturating_sub(MOST_NAMES);
    let shown = all.iter().take(MOST_NAMES).cloned().collect::<Vec<_>>().join(", ");
    if more > 0 { format!("{shown} and {more} more") } else { shown }
}
