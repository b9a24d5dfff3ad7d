//! Bearer tokens: which servers they are sent to, and when they are read again.

use super::certificates::{Authority, server};
use super::{SIZE, check, error_of};
use sapwood_core::ErrorKind;
use sapwood_source::open;
use sapwood_testkit::{ScriptedServer, TestDirectory, answer, part, sample};
use std::sync::Arc;

/// A server that wants to see one token.
async fn guarded(authority: &Authority, token: &'static str) -> ScriptedServer {
    let content = sample(SIZE);
    let wanted = format!("Bearer {token}");
    server(authority, move |request| match request.header("authorization") == Some(&wanted) {
        true => part(&content, request),
        false => answer("401 Unauthorized", "WWW-Authenticate: Bearer\r\n", ""),
    })
    .await
}

fn url(server: &ScriptedServer) -> String {
    format!("https://localhost:{}/f.root", server.port())
}

#[tokio::test]
async fn a_fresh_token_is_found_when_the_old_one_is_refused() {
    let (directory, authority) = (TestDirectory::new(), Authority::new());
    let bundle = directory.file("ca.pem", authority.pem());
    let strict = guarded(&authority, "fresh").await;
    let file = directory.file("token", "stale\n");
    let options = directory.options(&[("BEARER_TOKEN_FILE", &file), ("REQUESTS_CA_BUNDLE", &bundle)]);
    let error = error_of(open(&url(&strict), &options).await);
    assert_eq!(error.kind(), ErrorKind::Permission);
    let text = format!("{error} {error:?}");
    assert!(text.contains("401") && text.contains("BEARER_TOKEN_FILE") && !text.contains("stale"), "{text}");

    // The file is replaced after it was first read.
    let changes = Arc::new(directory);
    let content = sample(SIZE);
    let rescued = {
        let (changes, content) = (Arc::clone(&changes), content.clone());
        server(&authority, move |request| match request.header("authorization") {
            Some("Bearer fresh") => part(&content, request),
            _ => {
                changes.file("token", "fresh");
                answer("403 Forbidden", "", "")
            }
        })
        .await
    };
    changes.file("token", "stale");
    let opened = open(&url(&rescued), &options).await.unwrap();
    check(&opened, &content, &options).await.unwrap();
    let refused = rescued.headers("authorization").iter().filter(|value| *value == "Bearer stale").count();
    assert!((1..=3).contains(&refused), "{refused}");
}

#[tokio::test]
async fn tokens_are_not_shown_without_tls_nor_elsewhere() {
    let (directory, authority) = (TestDirectory::new(), Authority::new());
    let bundle = directory.file("ca.pem", authority.pem());
    let options = directory.options(&[("BEARER_TOKEN", "t"), ("REQUESTS_CA_BUNDLE", &bundle)]);
    let content = sample(SIZE);

    let served = content.clone();
    let plain = ScriptedServer::start(move |request| part(&served, request)).await;
    open(&format!("{}/f.root", plain.url()), &options).await.unwrap();
    assert!(plain.headers("authorization").iter().all(String::is_empty));

    let served = content.clone();
    let other = server(&authority, move |request| part(&served, request)).await;
    let target = url(&other);
    let first =
        server(&authority, move |_| answer("307 Temporary Redirect", &format!("Location: {target}\r\n"), ""))
            .await;
    let opened = open(&url(&first), &options).await.unwrap();
    check(&opened, &content, &options).await.unwrap();
    assert!(first.headers("authorization").iter().all(|value| value == "Bearer t"));
    assert!(other.headers("authorization").iter().all(String::is_empty));
}

#[tokio::test]
async fn what_the_user_gives_wins() {
    let (directory, authority) = (TestDirectory::new(), Authority::new());
    let bundle = directory.file("ca.pem", authority.pem());
    let server = guarded(&authority, "given").await;
    let mut options = directory.options(&[("BEARER_TOKEN", "found"), ("REQUESTS_CA_BUNDLE", &bundle)]);
    options.headers = vec![("Authorization".to_owned(), "Bearer given".to_owned())];
    open(&url(&server), &options).await.unwrap();
    assert!(server.headers("authorization").iter().all(|value| value == "Bearer given"));
}

#[tokio::test]
async fn an_expired_token_is_called_that() {
    let (directory, authority) = (TestDirectory::new(), Authority::new());
    let bundle = directory.file("ca.pem", authority.pem());
    let server = guarded(&authority, "other").await;
    // {"exp": 1000000000}
    let token = "e30.eyJleHAiOiAxMDAwMDAwMDAwfQ.c2ln";
    let options = directory.options(&[("BEARER_TOKEN", token), ("REQUESTS_CA_BUNDLE", &bundle)]);
    let error = error_of(open(&url(&server), &options).await);
    assert_eq!(error.kind(), ErrorKind::Permission);
    let text = format!("{error} {error:?}");
    assert!(text.contains("bearer token in BEARER_TOKEN (expired"), "{text}");
    assert!(!text.contains("e30"), "{text}");
    assert!(server.headers("authorization").iter().all(String::is_empty));
}

#[tokio::test]
async fn a_public_file_is_read_although_the_token_is_refused() {
    let (directory, authority) = (TestDirectory::new(), Authority::new());
    let bundle = directory.file("ca.pem", authority.pem());
    let content = sample(SIZE);
    let served = content.clone();
    // The answer of S3 to a foreign token.
    let public = server(&authority, move |request| match request.header("authorization") {
        Some(_) => answer("400 Bad Request", "", ""),
        None => part(&served, request),
    })
    .await;
    let options = directory.options(&[("BEARER_TOKEN", "t"), ("REQUESTS_CA_BUNDLE", &bundle)]);
    let opened = open(&url(&public), &options).await.unwrap();
    check(&opened, &content, &options).await.unwrap();
}
