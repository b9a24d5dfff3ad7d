//! Google's and Azure's stores: the form of requests.

use super::{SIZE, check, error_of};
use sapwood_core::ErrorKind;
use sapwood_source::open;
use sapwood_testkit::{ScriptedServer, TestDirectory, part, sample};

#[tokio::test]
async fn google_in_public() {
    let content = sample(SIZE);
    let served = content.clone();
    let server = ScriptedServer::start(move |request| part(&served, request)).await;
    let mut options = TestDirectory::new().options(&[]);
    options.storage.endpoint = Some(server.url());
    let opened = open("gs://bucket/dir/f.root", &options).await.unwrap();
    assert_eq!(options.counters.snapshot().round_trips, 1);
    check(&opened, &content, &options).await.unwrap();
    for request in server.requests() {
        assert_eq!(request.path, "/bucket/dir/f.root");
        assert_eq!(request.header("authorization"), None);
    }
}

#[tokio::test]
async fn google_with_credentials_that_are_none() {
    let directory = TestDirectory::new();
    let file = directory.file("account.json", "{\"secret\": 1}");
    let options = directory.options(&[("GOOGLE_APPLICATION_CREDENTIALS", &file)]);
    let error = error_of(open("gs://bucket/f.root", &options).await);
    assert_eq!(error.kind(), ErrorKind::Permission, "{error}");
}

#[tokio::test]
async fn azure_with_a_key() {
    let content = sample(SIZE);
    let served = content.clone();
    let server = ScriptedServer::start(move |request| part(&served, request)).await;
    let variables = [("AZURE_STORAGE_ACCOUNT_NAME", "account"), ("AZURE_STORAGE_ACCOUNT_KEY", "c2VjcmV0")];
    let mut options = TestDirectory::new().options(&variables);
    options.storage.endpoint = Some(format!("{}/account", server.url()));
    let opened = open("az://container/dir/f.root", &options).await.unwrap();
    check(&opened, &content, &options).await.unwrap();
    for request in server.requests() {
        assert_eq!(request.path, "/account/container/dir/f.root");
        assert!(request.header("authorization").unwrap().starts_with("SharedKey account:"));
        // Azure has no "last n bytes".
        assert!(!request.header("range").unwrap().starts_with("bytes=-"));
    }
}

#[tokio::test]
async fn azure_with_a_signature_in_the_url() {
    let content = sample(SIZE);
    let served = content.clone();
    let server = ScriptedServer::start(move |request| part(&served, request)).await;
    let variables = [("AZURE_STORAGE_SAS_TOKEN", "?sv=2025&sig=s%2Fecret")];
    let mut options = TestDirectory::new().options(&variables);
    options.storage.endpoint = Some(server.url());
    options.storage.account = Some("account".to_owned());
    let opened = open("az://container/f.root", &options).await.unwrap();
    assert!(server.requests().iter().all(|request| request.path.contains("sig=s%2Fecret")));
    assert!(!format!("{opened:?} {options:?}").contains("ecret"));
}

#[tokio::test]
async fn azure_needs_an_account() {
    let error = error_of(open("az://container/f.root", &TestDirectory::new().options(&[])).await);
    assert_eq!(error.kind(), ErrorKind::Usage);
}
