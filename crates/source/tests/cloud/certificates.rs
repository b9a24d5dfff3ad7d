//! Certificates: additional authorities, and proxies that a server asks for.

use super::{SIZE, check, error_of};
use rcgen::{CertificateParams, KeyPair};
use sapwood_core::ErrorKind;
use sapwood_source::open;
use sapwood_testkit::{HttpRequest, ScriptedServer, TestDirectory, answer, part, sample};
use std::sync::Arc;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::{RootCertStore, ServerConfig};

/// A self-signed certificate.
pub(crate) struct Authority {
    certificate: rcgen::Certificate,
    key: KeyPair,
}

impl Authority {
    pub(crate) fn new() -> Self {
        Self::until(2050)
    }

    fn until(year: i32) -> Self {
        let key = KeyPair::generate().unwrap();
        let mut parameters = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        parameters.not_before = rcgen::date_time_ymd(2000, 1, 1);
        parameters.not_after = rcgen::date_time_ymd(year, 1, 1);
        Authority { certificate: parameters.self_signed(&key).unwrap(), key }
    }

    pub(crate) fn pem(&self) -> String {
        self.certificate.pem()
    }

    /// Certificate and key, as in the file of a proxy.
    fn proxy(&self) -> String {
        format!("{}{}", self.certificate.pem(), self.key.serialize_pem())
    }

    /// Terminates TLS; with `clients`, it requires a certificate signed by these.
    fn acceptor(&self, clients: Option<&Authority>) -> TlsAcceptor {
        let provider = Arc::new(default_provider());
        let config = ServerConfig::builder_with_provider(Arc::clone(&provider));
        let config = config.with_safe_default_protocol_versions().unwrap();
        let config = match clients {
            None => config.with_no_client_auth(),
            Some(clients) => {
                let mut roots = RootCertStore::empty();
                roots.add(clients.certificate.der().clone()).unwrap();
                let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
                config.with_client_cert_verifier(verifier.build().unwrap())
            }
        };
        let key = PrivateKeyDer::try_from(self.key.serialize_der()).unwrap();
        let config = config.with_single_cert(vec![self.certificate.der().clone()], key).unwrap();
        TlsAcceptor::from(Arc::new(config))
    }
}

/// A server over TLS.
pub(crate) async fn server(
    authority: &Authority,
    script: impl Fn(&HttpRequest) -> Vec<u8> + Send + Sync + 'static,
) -> ScriptedServer {
    ScriptedServer::start_over(Some(authority.acceptor(None)), script).await
}

#[tokio::test]
async fn authorities_of_the_grid_are_trusted() {
    let (directory, authority) = (TestDirectory::new(), Authority::new());
    let content = sample(SIZE);
    let served = content.clone();
    let server = server(&authority, move |request| part(&served, request)).await;
    let url = format!("davs://localhost:{}/f.root", server.port());
    let error = error_of(open(&url, &directory.options(&[])).await);
    assert_eq!(error.kind(), ErrorKind::Network);
    assert!(error.to_string().contains("certificate"), "{error}");

    directory.file("5ed36f99.0", authority.pem());
    let options = directory.options(&[("X509_CERT_DIR", directory.0.to_str().unwrap())]);
    let opened = open(&url, &options).await.unwrap();
    check(&opened, &content, &options).await.unwrap();
}

#[tokio::test]
async fn proxies_are_shown_to_servers_that_ask() {
    let (directory, authority, user) = (TestDirectory::new(), Authority::new(), Authority::new());
    let content = sample(SIZE);
    let served = content.clone();
    let acceptor = authority.acceptor(Some(&user));
    let server = ScriptedServer::start_over(Some(acceptor), move |request| part(&served, request)).await;
    let url = format!("https://localhost:{}/f.root", server.port());
    let bundle = directory.file("ca.pem", authority.pem());
    let error = error_of(open(&url, &directory.options(&[("REQUESTS_CA_BUNDLE", &bundle)])).await);
    assert_eq!(error.kind(), ErrorKind::Network, "{error}");
    assert!(error.to_string().contains("X509_USER_PROXY"), "{error}");

    let proxy = directory.file("proxy", user.proxy());
    let options = directory.options(&[("X509_USER_PROXY", &proxy), ("REQUESTS_CA_BUNDLE", &bundle)]);
    let opened = open(&url, &options).await.unwrap();
    check(&opened, &content, &options).await.unwrap();
}

#[tokio::test]
async fn an_expired_proxy_is_called_that() {
    let (directory, authority) = (TestDirectory::new(), Authority::new());
    let refusing = server(&authority, |_| answer("403 Forbidden", "", "")).await;
    let bundle = directory.file("ca.pem", authority.pem());
    let proxy = directory.file("proxy", Authority::until(2001).proxy());
    let options = directory.options(&[("X509_USER_PROXY", &proxy), ("REQUESTS_CA_BUNDLE", &bundle)]);
    let error = error_of(open(&format!("https://localhost:{}/f", refusing.port()), &options).await);
    assert_eq!(error.kind(), ErrorKind::Permission);
    assert!(error.to_string().contains("X.509 proxy in X509_USER_PROXY"), "{error}");
    assert!(error.to_string().contains("expired"), "{error}");
}
