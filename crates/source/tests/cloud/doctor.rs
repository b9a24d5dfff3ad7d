//! The diagnosis: its steps, where it stops, and that it shows no secrets.

use super::SIZE;
use super::certificates::{Authority, server};
use sapwood_core::ErrorKind;
use sapwood_source::{Diagnosis, StepOutcome, diagnose};
use sapwood_testkit::{ScriptedServer, TestDirectory, answer, part, sample};
use std::time::{Duration, Instant};

const LONGEST: Duration = Duration::from_secs(5);

fn outcomes(diagnosis: &Diagnosis) -> Vec<(&'static str, &'static str)> {
    let word = |outcome: &StepOutcome| match outcome {
        StepOutcome::Passed(_) => "passed",
        StepOutcome::Noted(_) => "noted",
        StepOutcome::Failed(_) => "failed",
        StepOutcome::Skipped(_) => "skipped",
    };
    diagnosis.steps.iter().map(|step| (step.name, word(&step.outcome))).collect()
}

#[tokio::test]
async fn all_is_well() {
    let (directory, authority) = (TestDirectory::new(), Authority::new());
    let content = sample(SIZE);
    let server = server(&authority, move |request| part(&content, request)).await;
    let bundle = directory.file("ca.pem", authority.pem());
    let options = directory.options(&[("BEARER_TOKEN", "s3cr3t"), ("REQUESTS_CA_BUNDLE", &bundle)]);
    let url = format!("https://localhost:{}/f.root?authorized=s3cr3t", server.port());
    let diagnosis = diagnose(&url, &options, LONGEST).await;
    let names = ["url", "name", "connection", "TLS", "credentials", "open", "first bytes"];
    assert_eq!(outcomes(&diagnosis), names.map(|name| (name, "passed")), "{diagnosis:?}");
    let text = format!("{diagnosis:?}");
    assert!(text.contains("bearer token in BEARER_TOKEN") && !text.contains("s3cr3t"), "{text}");
    let tls = &diagnosis.steps[3].facts;
    assert!(tls.iter().any(|(name, value)| name == "names" && value == "localhost"), "{tls:?}");
    assert!(diagnosis.opened.is_some());
}

#[tokio::test]
async fn the_first_failure_is_reported() {
    let directory = TestDirectory::new();
    let diagnosis = diagnose("http://127.0.0.1:1/f.root", &directory.options(&[]), LONGEST).await;
    let expected = [
        ("url", "passed"),
        ("name", "passed"),
        ("connection", "failed"),
        ("TLS", "skipped"),
        ("credentials", "noted"),
        ("open", "skipped"),
        ("first bytes", "skipped"),
    ];
    assert_eq!(outcomes(&diagnosis), expected);
    assert_eq!(diagnosis.error().unwrap().kind(), ErrorKind::Network);

    let refusing = ScriptedServer::start(|_| answer("403 Forbidden", "", "")).await;
    let diagnosis = diagnose(&refusing.url(), &directory.options(&[]), LONGEST).await;
    assert_eq!(diagnosis.error().unwrap().kind(), ErrorKind::Permission);

    let authority = Authority::new();
    let unknown = server(&authority, |_| answer("200 OK", "", "")).await;
    let url = format!("https://localhost:{}/", unknown.port());
    let diagnosis = diagnose(&url, &directory.options(&[]), LONGEST).await;
    assert_eq!(outcomes(&diagnosis)[3], ("TLS", "failed"));

    let diagnosis = diagnose("ftp://host/f", &directory.options(&[]), LONGEST).await;
    assert_eq!(outcomes(&diagnosis), [("url", "failed")]);
}

#[tokio::test]
async fn no_step_takes_longer_than_its_deadline() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://127.0.0.1:{}/f.root", listener.local_addr().unwrap().port());
    let begin = Instant::now();
    let diagnosis = diagnose(&url, &TestDirectory::new().options(&[]), Duration::from_millis(300)).await;
    assert_eq!(diagnosis.error().unwrap().kind(), ErrorKind::Timeout);
    assert!(begin.elapsed() < Duration::from_secs(30));
}

#[tokio::test]
async fn local_files_need_no_server() {
    let directory = TestDirectory::new();
    let path = directory.file("f.root", "root of all");
    let diagnosis = diagnose(&path, &directory.options(&[]), LONGEST).await;
    assert_eq!(outcomes(&diagnosis)[1..5].iter().filter(|(_, word)| *word == "skipped").count(), 4);
    let StepOutcome::Passed(bytes) = &diagnosis.steps[6].outcome else { panic!("{diagnosis:?}") };
    assert_eq!(bytes, "root of all");
}
