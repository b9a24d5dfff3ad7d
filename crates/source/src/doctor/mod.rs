//! Why a file can or cannot be opened, step by step: what was tried and how long it took, without secrets.
//!
//! - `endpoint`: which server a URL names.
//! - `connection`: name resolution, TCP and TLS.

mod connection;
mod endpoint;

use crate::{OpenedSource, SourceOptions, cloud, http, open};
use endpoint::Endpoint;
use sapwood_core::{ByteRange, Deadline, Error, ErrorKind, Protocol, Result, redact};
use sapwood_credentials::{CredentialFinding, Signer, TokenChain, x509};
use std::future::Future;
use std::net::IpAddr;
use std::time::{Duration, Instant};

/// One step of a diagnosis.
#[derive(Debug)]
pub struct DiagnosisStep {
    /// What it tries, such as `connection`.
    pub name: &'static str,
    /// How long it took.
    pub time: Duration,
    /// Its outcome.
    pub outcome: StepOutcome,
    /// Details: names and values.
    pub facts: Vec<(String, String)>,
}

/// The outcome of a step.
#[derive(Debug)]
pub enum StepOutcome {
    /// It succeeded; a sentence.
    Passed(String),
    /// It succeeded, but deserves attention.
    Noted(String),
    /// It failed.
    Failed(Error),
    /// It does not apply, or a step before it failed.
    Skipped(String),
}

/// The steps of a diagnosis, and the file if it could be opened.
#[derive(Debug, Default)]
pub struct Diagnosis {
    /// The steps, in order.
    pub steps: Vec<DiagnosisStep>,
    /// The file.
    pub opened: Option<OpenedSource>,
}

impl Diagnosis {
    fn add(
        &mut self,
        name: &'static str,
        begin: Instant,
        outcome: StepOutcome,
        facts: Vec<(String, String)>,
    ) {
        self.steps.push(DiagnosisStep { name, time: begin.elapsed(), outcome, facts });
    }

    fn skip(&mut self, name: &'static str, why: &str) {
        self.add(name, Instant::now(), StepOutcome::Skipped(why.to_owned()), Vec::new());
    }

    /// The first error.
    pub fn error(&self) -> Option<&Error> {
        self.steps.iter().find_map(|step| match &step.outcome {
            StepOutcome::Failed(error) => Some(error),
            _ => None,
        })
    }
}

/// Tries, step by step, everything that opening a file needs; no step takes longer than `longest`.
pub async fn diagnose(url: &str, options: &SourceOptions, longest: Duration) -> Diagnosis {
    let mut diagnosis = Diagnosis::default();
    let begin = Instant::now();
    let place = match Endpoint::of(url, options) {
        Ok(place) => place,
        Err(error) => {
            diagnosis.add("url", begin, StepOutcome::Failed(error.url(redact(url))), Vec::new());
            return diagnosis;
        }
    };
    let facts = vec![("url".to_owned(), redact(url))];
    diagnosis.add("url", begin, StepOutcome::Passed(place.to_string()), facts);
    let within = || options.deadline.within(longest);
    let reached = connect(&mut diagnosis, &place, options, &within).await;
    credentials(&mut diagnosis, url, options);
    if !reached {
        for name in ["open", "first bytes"] {
            diagnosis.skip(name, "the server cannot be reached");
        }
        return diagnosis;
    }
    open_and_read(&mut diagnosis, url, options, &within).await;
    diagnosis
}

/// Name resolution, connection, TLS. False if later steps cannot succeed.
async fn connect(
    diagnosis: &mut Diagnosis,
    place: &Endpoint,
    options: &SourceOptions,
    within: &impl Fn() -> Deadline,
) -> bool {
    let Endpoint::Server { host, port, tls, .. } = place else {
        for name in ["name", "connection", "TLS"] {
            diagnosis.skip(name, "the file is on this machine");
        }
        return true;
    };
    if let Some(variable) = place.proxy() {
        let why = format!("reads go through the proxy in {variable}");
        for name in ["name", "connection", "TLS"] {
            diagnosis.skip(name, &why);
        }
        return true;
    }
    let begin = Instant::now();
    let addresses = match timed(within(), connection::resolve(host, *port)).await {
        Ok(addresses) => addresses,
        Err(error) => {
            diagnosis.add("name", begin, StepOutcome::Failed(error), Vec::new());
            for name in ["connection", "TLS"] {
                diagnosis.skip(name, "the name of the server cannot be resolved");
            }
            return false;
        }
    };
    let text: Vec<_> = addresses.iter().map(|address| address.ip().to_string()).collect();
    let words = match host.parse::<IpAddr>() {
        Ok(_) => format!("{host} is already an address"),
        Err(_) => format!("{host} is {}", text.join(", ")),
    };
    diagnosis.add("name", begin, StepOutcome::Passed(words), Vec::new());
    let begin = Instant::now();
    let stream = match timed(within(), connection::connect(&addresses)).await {
        Ok((stream, address)) => {
            diagnosis.add("connection", begin, StepOutcome::Passed(format!("to {address}")), Vec::new());
            stream
        }
        Err(error) => {
            diagnosis.add("connection", begin, StepOutcome::Failed(error), Vec::new());
            diagnosis.skip("TLS", "there is no connection");
            return false;
        }
    };
    if !tls {
        diagnosis.skip("TLS", "the protocol does not begin with it");
        return true;
    }
    let begin = Instant::now();
    match timed(within(), connection::secure(stream, host, &options.environment)).await {
        Ok((detail, facts)) => {
            diagnosis.add("TLS", begin, StepOutcome::Passed(detail), facts);
            true
        }
        Err(error) => {
            diagnosis.add("TLS", begin, StepOutcome::Failed(error), Vec::new());
            false
        }
    }
}

/// Which credentials were found, and where.
fn credentials(diagnosis: &mut Diagnosis, url: &str, options: &SourceOptions) {
    let begin = Instant::now();
    let findings = match findings(url, options) {
        None => return diagnosis.skip("credentials", "a local file needs none"),
        Some(Ok(findings)) => findings,
        Some(Err(error)) => {
            return diagnosis.add("credentials", begin, StepOutcome::Failed(error), Vec::new());
        }
    };
    let facts = findings
        .iter()
        .map(|finding| (format!("{} in {}", finding.kind, finding.place), finding.state.word().to_owned()));
    let facts = facts.collect();
    let there: Vec<_> = findings.iter().filter(|finding| finding.is_there()).collect();
    let words: Vec<_> = there.iter().map(|finding| finding.to_string()).collect();
    let outcome = match there.iter().all(|finding| finding.state.is_usable()) {
        _ if there.is_empty() => {
            StepOutcome::Noted("none found: the file is requested without credentials".to_owned())
        }
        true => StepOutcome::Passed(words.join("; ")),
        false => StepOutcome::Noted(words.join("; ")),
    };
    diagnosis.add("credentials", begin, outcome, facts);
}

fn findings(url: &str, options: &SourceOptions) -> Option<Result<Vec<CredentialFinding>>> {
    Some(match Protocol::of(url) {
        Some(Protocol::Local) => return None,
        Some(Protocol::Http | Protocol::WebDav) => http::access(url, options).map(|access| access.findings()),
        Some(Protocol::S3 | Protocol::Google | Protocol::Azure) => {
            cloud::access_of(url, options).map(|access| access.findings())
        }
        _ => {
            // XRootD's client searches the same places.
            let web = reqwest::Url::parse("https://localhost").ok();
            let chain = TokenChain::new(options.environment.clone());
            let mut findings = web.map(|url| chain.findings(&url)).unwrap_or_default();
            findings.extend(x509::findings(&options.environment));
            Ok(findings)
        }
    })
}

/// Opens the file and reads its first bytes.
async fn open_and_read(
    diagnosis: &mut Diagnosis,
    url: &str,
    options: &SourceOptions,
    within: &impl Fn() -> Deadline,
) {
    let begin = Instant::now();
    let opened = open(url, &SourceOptions { deadline: within(), ..options.clone() }).await;
    let opened = match opened {
        Ok(opened) => opened,
        Err(error) => {
            diagnosis.add("open", begin, StepOutcome::Failed(error), Vec::new());
            return diagnosis.skip("first bytes", "the file could not be opened");
        }
    };
    let cost = options.counters.snapshot();
    let size = opened.source.identity().size;
    let cost_model = opened.source.cost_model();
    let facts = [
        ("bytes", size.to_string()),
        ("requests", cost.requests.to_string()),
        ("round_trips", cost.round_trips.to_string()),
        ("ranges in one request", cost_model.ranges_per_request.to_string()),
    ];
    let facts =
        facts.into_iter().filter(|(name, _)| *name != "ranges in one request" || !cost_model.immediate);
    let facts = facts.map(|(name, value)| (name.to_owned(), value)).collect();
    diagnosis.add("open", begin, StepOutcome::Passed(format!("{size} bytes")), facts);
    let begin = Instant::now();
    let range = ByteRange { start: 0, len: size.min(16) };
    let outcome = match opened.source.read_ranges(&[range], within()).await {
        Ok(answers) => StepOutcome::Passed(shown(answers.first().map_or(&[][..], |bytes| bytes))),
        Err(error) => StepOutcome::Failed(error),
    };
    diagnosis.add("first bytes", begin, outcome, Vec::new());
    diagnosis.opened = Some(opened);
}

/// Bytes as text, with escapes.
fn shown(bytes: &[u8]) -> String {
    bytes.escape_ascii().to_string()
}

async fn timed<T>(deadline: Deadline, step: impl Future<Output = Result<T>>) -> Result<T> {
    let late = |_| Err(Error::new(ErrorKind::Timeout, "there was no answer in time"));
    tokio::time::timeout_at(deadline.instant().into(), step).await.unwrap_or_else(late)
}
