//! Failures of XrdCl as errors, without secrets.

use crate::transient;
use crate::xrootd_codes::{client as code, server};
use sapwood_core::{Error, ErrorKind, Result, redact};
use sapwood_credentials::{CredentialFinding, Environment, x509};

const CREDENTIALS: &str = "the server may want a grid proxy (X509_USER_PROXY) or a token (BEARER_TOKEN_FILE)";

const AUTHORITIES: &str = "X509_CERT_DIR names the folder of the certificate authorities that XRootD's client trusts \
                           (without it: /etc/grid-security/certificates)";

/// How an operation of XrdCl failed.
#[derive(Debug, Clone)]
pub(super) struct Status {
    /// XrdCl's code.
    pub(super) code: u16,
    /// The server's code, or that of the operating system.
    pub(super) number: u32,
    /// In words; may hold secrets.
    pub(super) text: String,
    /// The server that failed, as `host:port`; empty if it is not known.
    pub(super) server: String,
}

impl Status {
    /// XrdCl ended an operation without an answer.
    pub(super) fn unanswered() -> Status {
        let text = "XRootD's client did not answer".to_owned();
        Status { code: code::INTERNAL, number: 0, text, server: String::new() }
    }

    /// A read brought another number of bytes than requested.
    pub(super) fn short(came: u64, wanted: u64) -> Status {
        let text = format!("{came} bytes came instead of {wanted}");
        Status { code: code::DATA, number: 0, text, server: String::new() }
    }

    /// Adds the server; it may differ from that of the URL.
    pub(super) fn of(mut self, server: &str) -> Status {
        self.text = format!("{} (server {server})", self.text.trim_end());
        server.clone_into(&mut self.server);
        self
    }

    /// True if another server that has the file may succeed.
    pub(super) fn may_pass_elsewhere(&self) -> bool {
        !matches!(self.error().kind(), ErrorKind::NotFound | ErrorKind::Usage)
    }

    /// True if it may succeed once the file is reopened.
    pub(super) fn is_transient(&self) -> bool {
        transient::xrootd_code(self.code, self.number)
    }

    /// The error, if reopening the file may help.
    pub(super) fn passing(&self) -> Result<Error> {
        if self.is_transient() { Ok(self.error()) } else { Err(self.error()) }
    }

    /// True if the server does not support the operation.
    pub(super) fn is_unsupported(&self) -> bool {
        self.code == code::ERROR_RESPONSE && self.number == server::UNSUPPORTED
    }

    /// The error for the user.
    pub(super) fn error(&self) -> Error {
        let text = self.words();
        let new = |kind, message: &str| Error::new(kind, message);
        match (self.code, self.number) {
            (code::ERROR_RESPONSE, server::NOT_FOUND | server::NO_REPLICAS) | (code::NOT_FOUND, _) => {
                new(ErrorKind::NotFound, "there is no such file")
            }
            (code::ERROR_RESPONSE, server::NOT_AUTHORIZED | server::AUTH_FAILED | server::TLS_REQUIRED)
            | (code::AUTH_FAILED | code::LOGIN_FAILED, _) => {
                new(ErrorKind::Permission, &format!("the server refuses: {text}"))
            }
            (code::ERROR_RESPONSE, server::IS_DIRECTORY | server::NOT_FILE) => {
                Error::usage("this is a directory, not a file")
            }
            (code::ERROR_RESPONSE, server::ARGUMENT_INVALID) => {
                Error::usage(format!("the server refuses: {text}"))
            }
            (code::ERROR_RESPONSE, _) => new(ErrorKind::Server, &format!("the server answered: {text}")),
            (code::INVALID_ARGUMENTS, _) => Error::usage("this is not the URL of a file")
                .hint("a host, two slashes and a path, as in root://host//path"),
            (code::CONNECTION, _) => new(ErrorKind::Network, "the server cannot be reached")
                .hint("is the port right (usually 1094), and does the server run?"),
            (code::INVALID_ADDRESS, _) => new(ErrorKind::Network, "the host of the URL is unknown")
                .hint("check the spelling of the name"),
            (code::EXPIRED, _) => new(ErrorKind::Timeout, "the server did not answer in time"),
            (code::TLS, _) => {
                new(ErrorKind::Network, &format!("no secure connection: {text}")).hint(AUTHORITIES)
            }
            (101..=199 | code::INTERRUPTED, _) => {
                new(ErrorKind::Network, &format!("the connection failed: {text}"))
            }
            _ => new(ErrorKind::Server, &text),
        }
    }

    /// The text on one line, without prefix and secrets.
    fn words(&self) -> String {
        let text = self.text.trim();
        let text = text.strip_prefix("[ERROR] ").or_else(|| text.strip_prefix("[FATAL] ")).unwrap_or(text);
        let text = text.strip_prefix("Server responded with an error: ").unwrap_or(text);
        let words: Vec<_> = text.split_whitespace().map(without_secrets).collect();
        words.join(" ")
    }
}

/// Adds the URL and a hint to an error.
pub(super) fn advise(error: Error, url: &str) -> Error {
    let after_host = url.splitn(4, '/').nth(3).unwrap_or_default();
    let refused = matches!(error.kind(), ErrorKind::NotFound | ErrorKind::Permission | ErrorKind::Usage);
    let error = match error.kind() {
        _ if refused && !after_host.starts_with('/') => error.hint(
            "the path begins with a slash of its own: two slashes after the host, as in root://host//path",
        ),
        ErrorKind::Permission => error.hint(format!("{CREDENTIALS}; found: {}", proxies())),
        _ => error,
    };
    error.url(redact(url))
}

/// The certificates that XRootD's client can show.
fn proxies() -> String {
    let findings: Vec<_> =
        x509::findings(&Environment::default()).iter().map(CredentialFinding::to_string).collect();
    findings.join("; ")
}

/// A word without the secrets of URLs: password, opaque part.
fn without_secrets(word: &str) -> String {
    let word = redact(word);
    let opaque = word.find('?').or_else(|| word.find("authz="));
    match opaque.and_then(|at| word.get(..at)) {
        Some(open) => format!("{open}…"),
        None => word,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(code: u16, number: u32, text: &str) -> Status {
        Status { code, number, text: text.to_owned(), server: String::new() }
    }

    #[test]
    fn secrets_are_struck_out() {
        let text = "[ERROR] Server responded with an error: [3010] no: /f?authz=Bearer%20sesame\n or \
                    root://me:sesame@h//f?x=sesame authz=sesame";
        let error = status(400, 3010, text).error();
        assert_eq!(error.kind(), ErrorKind::Permission);
        assert!(
            error.to_string().starts_with("the server refuses: [3010] no: /f… or root://h//f… …"),
            "{error}"
        );
    }

    #[test]
    fn kinds() {
        let kind = |code, number| status(code, number, "").error().kind();
        assert_eq!(kind(400, 3011), ErrorKind::NotFound);
        assert_eq!(kind(400, 3012), ErrorKind::Server);
        assert_eq!(kind(400, 3016), ErrorKind::Usage);
        assert_eq!(kind(204, 0), ErrorKind::Permission);
        assert_eq!(kind(108, 111), ErrorKind::Network);
        assert_eq!(kind(206, 0), ErrorKind::Timeout);
        let hint =
            |url| advise(status(400, 3010, "").error(), url).hint_text().unwrap_or_default().to_owned();
        assert!(hint("root://h/p/f").contains("two slashes") && hint("root://h").contains("two slashes"));
        assert!(hint("root://h//p?x=/").starts_with(CREDENTIALS));
        assert!(status(108, 111, "").is_transient() && !status(101, 0, "").is_transient());
    }
}
