//! HTTPS with trusted and untrusted certificates.

use super::{SIZE, Zoo, error_of, local::Directory};
use sapwood_core::{ByteRange, ErrorKind};
use sapwood_source::{SourceOptions, open};
use sapwood_testkit::Behaviour;
use std::net::SocketAddr;
use std::process::Command;
use std::sync::Arc;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring::default_provider;

/// The variable with the URL that the child process opens.
const URL: &str = "SAPWOOD_TEST_TLS_URL";

/// Starts a server that terminates TLS in front of `server`; returns its URL and its certificate as PEM.
async fn start(server: SocketAddr) -> (String, String) {
    let issued = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![issued.cert.der().clone()],
            issued.signing_key.serialize_der().try_into().unwrap(),
        )
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                let mut client = acceptor.accept(client).await?;
                let mut server = TcpStream::connect(server).await?;
                tokio::io::copy_bidirectional(&mut client, &mut server).await
            });
        }
    });
    (format!("https://localhost:{port}/f.root"), issued.cert.pem())
}

#[tokio::test]
async fn unknown_certificates_are_refused() {
    let zoo = Zoo::new(Behaviour::default()).await;
    let (url, _) = start(zoo.server.address()).await;
    let error = error_of(open(&url, &SourceOptions::default()).await);
    assert_eq!(error.kind(), ErrorKind::Network);
    assert!(error.to_string().contains("certificate"), "{error}");
    assert_eq!(zoo.server.requests().len(), 0);
}

#[tokio::test]
async fn certificates_of_the_environment_are_trusted() {
    let directory = Directory::new("tls");
    let zoo = Zoo::new(Behaviour::default()).await;
    let (url, certificate) = start(zoo.server.address()).await;
    let certificate = directory.file("certificate.pem", certificate.as_bytes());
    // The authorities are read once per process, so this needs its own process.
    let child = move || {
        Command::new(std::env::current_exe()?)
            .args(["--exact", "tls::child", "--ignored"])
            .env("SSL_CERT_FILE", certificate)
            .env(URL, url)
            .output()
    };
    let child = tokio::task::spawn_blocking(child).await.unwrap().unwrap();
    assert!(child.status.success(), "{}", String::from_utf8_lossy(&child.stdout));
    assert_eq!(zoo.server.requests().len(), 4);
}

#[tokio::test]
#[ignore = "run by certificates_of_the_environment_are_trusted"]
async fn child() {
    let opened = open(&std::env::var(URL).unwrap(), &SourceOptions::default()).await.unwrap();
    let ranges = [ByteRange { start: 0, len: 10 }, ByteRange { start: SIZE as u64 - 300_000, len: 10 }];
    let answers = opened.source.read_ranges(&ranges, SourceOptions::default().deadline).await.unwrap();
    let content = sapwood_testkit::sample(SIZE);
    assert_eq!(answers, [&content[..10], &content[SIZE - 300_000..SIZE - 299_990]]);
}
