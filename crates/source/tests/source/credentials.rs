//! Credentials reach only the server that they are meant for, and appear in no message.

use super::{SIZE, Zoo, error_of};
use sapwood_core::{ByteRange, ErrorKind};
use sapwood_source::{SourceOptions, open};
use sapwood_testkit::{Behaviour, Redirect};

const ALL: ByteRange = ByteRange { start: 0, len: SIZE as u64 };

fn redirect(to: String) -> Option<Redirect> {
    Some(Redirect { prefix: "/from".to_owned(), to, status: 307 })
}

#[tokio::test]
async fn of_the_url() {
    // "me:p@ss" in base 64.
    let authorization = Some("Basic bWU6cEBzcw==".to_owned());
    let zoo = Zoo::new(Behaviour { authorization, ..Behaviour::default() }).await;
    assert_eq!(error_of(zoo.open().await).kind(), ErrorKind::Permission);
    let url = zoo.url().replace("http://", "http://me:p%40ss@");
    let opened = open(&url, &zoo.options).await.unwrap();
    zoo.read(&opened, &[ALL]).await.unwrap();
    assert_eq!(opened.source.identity().url, zoo.url());
    assert!(!format!("{opened:?}").contains("p%40ss"));
    assert!(!format!("{opened:?}").contains("p@ss"));
}

#[tokio::test]
async fn of_a_header() {
    let authorization = Some("Bearer secret-token".to_owned());
    let mut zoo = Zoo::new(Behaviour { authorization: authorization.clone(), ..Behaviour::default() }).await;
    zoo.options.headers = vec![("Authorization".to_owned(), "Bearer wrong-secret".to_owned())];
    let error = error_of(zoo.open().await);
    assert_eq!(error.kind(), ErrorKind::Permission);
    assert!(!format!("{error:?} {:?}", zoo.options).contains("secret"));
    zoo.options.headers = vec![("Authorization".to_owned(), "Bearer secret-token".to_owned())];
    let opened = zoo.open().await.unwrap();
    assert!(!format!("{opened:?}").contains("secret"));
}

#[tokio::test]
async fn are_not_given_to_other_servers() {
    let other = Zoo::new(Behaviour::default()).await;
    let mut zoo =
        Zoo::new(Behaviour { redirect: redirect(other.server.url("")), ..Behaviour::default() }).await;
    zoo.options.headers = vec![("X-Token".to_owned(), "secret".to_owned())];
    let url = zoo.server.url("/from/f.root").replace("http://", "http://me:pw@");
    let opened = open(&url, &zoo.options).await.unwrap();
    zoo.read(&opened, &[ALL]).await.unwrap();
    let seen = |zoo: &Zoo, name| zoo.server.requests().iter().any(|request| request.header(name).is_some());
    for name in ["x-token", "authorization"] {
        assert!(seen(&zoo, name) && !seen(&other, name), "{name}");
    }
}

#[tokio::test]
async fn stay_within_the_server() {
    let mut zoo = Zoo::new(Behaviour { redirect: redirect(String::new()), ..Behaviour::default() }).await;
    zoo.options.headers = vec![("X-Token".to_owned(), "secret".to_owned())];
    open(&zoo.server.url("/from/f.root"), &zoo.options).await.unwrap();
    assert!(zoo.server.requests().iter().all(|request| request.header("x-token").is_some()));
}

#[tokio::test]
async fn a_redirect_is_paid_once_and_followed_again_when_it_fails() {
    let other = Zoo::new(Behaviour::default()).await;
    let zoo = Zoo::new(Behaviour { redirect: redirect(other.server.url("")), ..Behaviour::default() }).await;
    let opened = open(&zoo.server.url("/from/f.root?signature=secret"), &zoo.options).await.unwrap();
    for _ in 0..3 {
        zoo.read(&opened, &zoo.scattered(10)).await.unwrap();
    }
    let of_opening = zoo.server.requests().len();
    assert_eq!(of_opening, 3);
    assert!(!format!("{opened:?}").contains("secret"));

    other.server.change(|behaviour| behaviour.failures = Some((403, 1)));
    zoo.read(&opened, &zoo.scattered(10)).await.unwrap();
    assert_eq!(zoo.server.requests().len(), of_opening + 1);
    assert!(!opened.source.identity().url.contains("secret"));
}

#[tokio::test]
async fn redirects_end() {
    let zoo = Zoo::new(Behaviour { redirect: redirect("/from/x".to_owned()), ..Behaviour::default() }).await;
    let error = error_of(open(&zoo.server.url("/from/f.root"), &SourceOptions::default()).await);
    assert_eq!(error.kind(), ErrorKind::Server);
    // Head, tail and probe are requested at once, and each is redirected ten times; the first that gives up
    // ends the others, which may be a step behind.
    let requests = zoo.server.requests().len();
    assert!((11..=3 * 11).contains(&requests), "{requests} requests");
}

#[tokio::test]
async fn what_a_redirector_leads_to_is_remembered() {
    let other = Zoo::new(Behaviour::named("single").unwrap()).await;
    let zoo = Zoo::new(Behaviour { redirect: redirect(other.server.url("")), ..Behaviour::default() }).await;
    let url = zoo.server.url("/from/f.root");
    open(&url, &zoo.options).await.unwrap();
    let before = zoo.counts().round_trips;
    open(&url, &zoo.options).await.unwrap();
    assert_eq!(zoo.counts().round_trips - before, 2);
}
