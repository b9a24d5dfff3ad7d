//! X.509: proxies and user certificates for TLS, and the certificate authorities of the grid.

use super::{CredentialFinding, CredentialState, Environment};
use rustls::client::ResolvesClientCert;
use rustls::crypto::ring::sign::any_supported_type;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;
use rustls::{RootCertStore, SignatureScheme};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// Where the grid keeps its authorities, unless `X509_CERT_DIR` is set.
const AUTHORITIES: &str = "/etc/grid-security/certificates";

/// Variables that name a file of further authorities.
const BUNDLES: [&str; 4] = ["X509_CERT_FILE", "AWS_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"];

/// Largest file that is read for certificates: a bundle has some hundred kB.
const LARGEST: u64 = 16 << 20;

/// The inputs of TLS; a client that was made from other inputs is out of date.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trust {
    identity: Option<CertificateFiles>,
    authorities: PathBuf,
    bundles: Vec<PathBuf>,
}

/// The files of a certificate, and when they were changed.
#[derive(Debug, Clone, PartialEq, Eq)]
struct CertificateFiles {
    kind: &'static str,
    place: String,
    certificate: PathBuf,
    key: PathBuf,
    changed: Option<SystemTime>,
    /// Other users may put files there, too.
    shared: bool,
}

impl CertificateFiles {
    fn new(kind: &'static str, place: impl Into<String>, certificate: PathBuf, key: PathBuf) -> Self {
        let changed = std::fs::metadata(&certificate).and_then(|metadata| metadata.modified()).ok();
        let place = match place.into() {
            place if place.is_empty() => certificate.display().to_string(),
            variable => format!("{variable} ({})", certificate.display()),
        };
        CertificateFiles { kind, place, certificate, key, changed, shared: false }
    }
}

impl Trust {
    /// The certificate and the authorities that this environment names.
    pub fn of(environment: &Environment) -> Trust {
        let authorities = environment.get("X509_CERT_DIR").unwrap_or_else(|| AUTHORITIES.to_owned());
        let bundles = BUNDLES.iter().filter_map(|name| environment.get(name)).map(PathBuf::from).collect();
        Trust { identity: find(environment), authorities: PathBuf::from(authorities), bundles }
    }

    /// Adds the trusted authorities to those of the system.
    pub fn add_authorities(&self, roots: &mut RootCertStore) {
        let mut files: BTreeSet<PathBuf> = self.bundles.iter().cloned().collect();
        // Every authority is there twice: under its name, and under a hash of it.
        let entries = std::fs::read_dir(&self.authorities).into_iter().flatten().flatten();
        files.extend(
            entries
                .map(|entry| entry.path())
                .filter(|path| is_authority(path))
                .filter_map(|path| path.canonicalize().ok()),
        );
        for file in files {
            roots.add_parsable_certificates(certificates(&file).unwrap_or_default());
        }
    }

    /// Shows the certificate to servers that ask for one.
    pub fn resolver(&self) -> Arc<dyn ResolvesClientCert> {
        Arc::new(Resolver(self.identity.as_ref().and_then(|files| load(files).ok())))
    }
}

/// Where certificates were searched.
pub fn findings(environment: &Environment) -> Vec<CredentialFinding> {
    match find(environment) {
        None => {
            let place = format!("X509_USER_PROXY, {}", default_proxy(environment).display());
            vec![CredentialFinding::new("X.509 proxy", place, CredentialState::Absent)]
        }
        Some(files) => {
            let state = match load(&files) {
                Ok(_) => CredentialState::until(expiry(&files.certificate)),
                Err(why) => why,
            };
            vec![CredentialFinding::new(files.kind, files.place, state)]
        }
    }
}

fn default_proxy(environment: &Environment) -> PathBuf {
    environment.temporary(&format!("x509up_u{}", Environment::user()))
}

/// The files of the first certificate found.
fn find(environment: &Environment) -> Option<CertificateFiles> {
    if let Some(path) = environment.get("X509_USER_PROXY").map(PathBuf::from) {
        return Some(CertificateFiles::new("X.509 proxy", "X509_USER_PROXY", path.clone(), path));
    }
    let path = default_proxy(environment);
    if path.is_file() {
        return Some(CertificateFiles {
            shared: true,
            ..CertificateFiles::new("X.509 proxy", "", path.clone(), path)
        });
    }
    let certificate = PathBuf::from(environment.get("X509_USER_CERT")?);
    let key = PathBuf::from(environment.get("X509_USER_KEY")?);
    Some(CertificateFiles::new("X.509 certificate", "X509_USER_CERT", certificate, key))
}

/// The certificate and its key, or why they are unusable.
fn load(files: &CertificateFiles) -> Result<Arc<CertifiedKey>, CredentialState> {
    let unusable = |why: &str| CredentialState::Unusable(why.to_owned());
    if !files.certificate.exists() {
        return Err(unusable("there is no such file"));
    }
    if let Some(why) = Environment::distrust(&files.certificate).filter(|_| files.shared) {
        return Err(CredentialState::Unusable(why));
    }
    if let Some(end) = expiry(&files.certificate).filter(|end| *end <= SystemTime::now()) {
        return Err(CredentialState::Expired(end));
    }
    let chain = certificates(&files.certificate).filter(|chain| !chain.is_empty());
    let chain = chain.ok_or_else(|| unusable("there is no certificate in it"))?;
    let key = text(&files.key).and_then(|pem| PrivateKeyDer::from_pem_slice(&pem).ok());
    let key = key.ok_or_else(|| unusable("there is no key in it, or one with a password"))?;
    let key = any_supported_type(&key).map_err(|_| {
        unusable("its key is of a kind or length that is not supported (RSA has 2048 bits or more)")
    })?;
    Ok(Arc::new(CertifiedKey::new(chain, key)))
}

/// When the first certificate of a chain expires.
fn expiry(path: &Path) -> Option<SystemTime> {
    let ends = certificates(path)?.into_iter().filter_map(|certificate| not_after(&certificate));
    ends.min()
}

/// When a certificate expires.
pub fn not_after(certificate: &[u8]) -> Option<SystemTime> {
    let (_, certificate) = x509_parser::parse_x509_certificate(certificate).ok()?;
    let seconds = u64::try_from(certificate.validity().not_after.timestamp()).ok()?;
    SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(seconds))
}

fn certificates(path: &Path) -> Option<Vec<CertificateDer<'static>>> {
    Some(CertificateDer::pem_slice_iter(&text(path)?).filter_map(Result::ok).collect())
}

fn text(path: &Path) -> Option<Vec<u8>> {
    let metadata = std::fs::metadata(path).ok()?;
    if !metadata.is_file() || metadata.len() > LARGEST {
        return None;
    }
    std::fs::read(path).ok()
}

/// True for `name.pem` and for the hashed names that OpenSSL uses, such as `5ed36f99.0`.
fn is_authority(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    matches!(extension, "pem" | "crt") || extension.parse::<u8>().is_ok()
}

#[derive(Debug)]
struct Resolver(Option<Arc<CertifiedKey>>);

impl ResolvesClientCert for Resolver {
    fn resolve(&self, _authorities: &[&[u8]], schemes: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        self.0.clone().filter(|certified| certified.key.choose_scheme(schemes).is_some())
    }

    fn has_certs(&self) -> bool {
        self.0.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    fn environment(root: &Path, variables: &[(&str, &Path)]) -> Environment {
        let variables = variables.iter().map(|(name, path)| ((*name).to_owned(), path.display().to_string()));
        Environment::new(variables.collect::<HashMap<_, _>>(), root.to_path_buf())
    }

    /// A certificate with its key, valid until the given year.
    fn proxy(year: i32) -> String {
        let mut parameters = rcgen::CertificateParams::new(vec!["me".to_owned()]).unwrap();
        parameters.not_before = rcgen::date_time_ymd(2000, 1, 1);
        parameters.not_after = rcgen::date_time_ymd(year, 1, 1);
        let key = rcgen::KeyPair::generate().unwrap();
        format!("{}{}", parameters.self_signed(&key).unwrap().pem(), key.serialize_pem())
    }

    #[test]
    fn proxies_are_found_and_judged() {
        let root = std::env::temp_dir().join(format!("sapwood-x509-{}", std::process::id()));
        std::fs::create_dir_all(&root).unwrap();
        let state = |environment: &Environment| findings(environment)[0].state.clone();
        assert_eq!(state(&environment(&root, &[])), CredentialState::Absent);

        std::fs::write(root.join(format!("x509up_u{}", Environment::user())), proxy(2050)).unwrap();
        assert!(state(&environment(&root, &[])).is_usable());

        let named = root.join("named");
        std::fs::write(&named, proxy(2001)).unwrap();
        let of_variable = environment(&root, &[("X509_USER_PROXY", &named)]);
        assert!(matches!(state(&of_variable), CredentialState::Expired(_)));
        std::fs::write(&named, "no certificate").unwrap();
        assert!(matches!(state(&of_variable), CredentialState::Unusable(_)));
        assert!(!Trust::of(&of_variable).resolver().has_certs());
        std::fs::write(&named, proxy(2050)).unwrap();
        assert!(Trust::of(&of_variable).resolver().has_certs());
        std::fs::remove_dir_all(&root).unwrap();
    }

    #[test]
    fn names_of_authorities() {
        for (name, yes) in
            [("CERN.pem", true), ("5ed36f99.0", true), ("5ed36f99.r0", false), ("x.info", false)]
        {
            assert_eq!(is_authority(Path::new(name)), yes, "{name}");
        }
    }
}
