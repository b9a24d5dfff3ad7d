//! S3: the form of requests, their signatures, and the meaning of refusals.

use super::certificates::{Authority, server};
use super::{SIZE, check, error_of};
use sapwood_core::ErrorKind;
use sapwood_source::{SourceOptions, open};
use sapwood_testkit::{ScriptedServer, TestDirectory, answer, part, refusal, sample};
use std::sync::atomic::{AtomicUsize, Ordering};

const KEYS: [(&str, &str); 2] = [("AWS_ACCESS_KEY_ID", "AKID"), ("AWS_SECRET_ACCESS_KEY", "top-secret")];

fn at(server: &ScriptedServer, options: SourceOptions) -> SourceOptions {
    let mut options = options;
    options.storage.endpoint = Some(server.url());
    options
}

#[tokio::test]
async fn opening_is_two_signed_requests_in_one_round_trip() {
    let content = sample(SIZE);
    let served = content.clone();
    let server = ScriptedServer::start(move |request| part(&served, request)).await;
    let directory = TestDirectory::new();
    let options = at(&server, directory.options(&KEYS));
    let opened = open("s3://bucket/a dir/f+1.root", &options).await.unwrap();
    let counts = options.counters.snapshot();
    assert_eq!((counts.requests, counts.round_trips), (2, 1));
    check(&opened, &content, &options).await.unwrap();
    assert_eq!(options.counters.snapshot().round_trips, 2);
    for request in server.requests() {
        assert_eq!(request.path, "/bucket/a%20dir/f%2B1.root");
        let authorization = request.header("authorization").unwrap();
        assert!(authorization.starts_with("AWS4-HMAC-SHA256 Credential=AKID/"), "{authorization}");
        assert!(request.header("x-amz-date").is_some());
    }
    let later = server.headers("if-match");
    assert!(later[2..].iter().all(|etag| etag == "\"1\""), "{later:?}");
    assert_eq!(opened.source.identity().url, "s3://bucket/a dir/f+1.root");
    assert!(!format!("{opened:?} {options:?}").contains("top-secret"));
}

#[tokio::test]
async fn nothing_is_signed_where_nothing_is_found_or_wanted() {
    let content = sample(SIZE);
    let served = content.clone();
    let server = ScriptedServer::start(move |request| part(&served, request)).await;
    let directory = TestDirectory::new();
    for (variables, anonymous) in [(&KEYS[..0], false), (&KEYS[..], true)] {
        let mut options = at(&server, directory.options(variables));
        options.storage.anonymous = anonymous;
        let opened = open("s3://bucket/f.root", &options).await.unwrap();
        check(&opened, &content, &options).await.unwrap();
    }
    assert!(server.headers("authorization").iter().all(String::is_empty));
}

#[tokio::test]
async fn keys_of_a_profile_are_read_again_when_they_are_refused() {
    let content = sample(SIZE);
    let served = content.clone();
    let server = ScriptedServer::start(move |request| {
        match request.header("authorization").is_some_and(|value| value.contains("Credential=NEW/")) {
            true => part(&served, request),
            false => refusal("400 Bad Request", "ExpiredToken"),
        }
    })
    .await;
    let directory = TestDirectory::new();
    let profile = |id: &str| {
        format!(
            "[default]\naws_access_key_id = {id}\naws_secret_access_key = s3cr3t\naws_session_token = t0k3n\n"
        )
    };
    let file = directory.file("credentials", profile("OLD"));
    let options = at(&server, directory.options(&[("AWS_SHARED_CREDENTIALS_FILE", &file)]));
    let error = error_of(open("s3://bucket/f.root", &options).await);
    assert_eq!(error.kind(), ErrorKind::Permission);
    let text = format!("{error} {error:?}");
    assert!(text.contains("ExpiredToken") && text.contains("profile 'default'"), "{text}");
    assert!(!text.contains("s3cr3t") && !text.contains("t0k3n"), "{text}");

    // The file changes between the refusal of one request and the next.
    directory.file("credentials", profile("NEW"));
    let opened = open("s3://bucket/f.root", &options).await.unwrap();
    check(&opened, &content, &options).await.unwrap();
    directory.file("credentials", profile("OLD"));
    check(&opened, &content, &options).await.unwrap();
}

#[tokio::test]
async fn a_public_object_is_read_although_the_keys_are_bad() {
    let content = sample(SIZE);
    let served = content.clone();
    let server = ScriptedServer::start(move |request| match request.header("authorization") {
        Some(_) => refusal("403 Forbidden", "InvalidAccessKeyId"),
        None => part(&served, request),
    })
    .await;
    let directory = TestDirectory::new();
    let options = at(&server, directory.options(&KEYS));
    let opened = open("s3://bucket/f.root", &options).await.unwrap();
    let before = server.requests().len();
    check(&opened, &content, &options).await.unwrap();
    // Once the server answered without credentials, it does not see them again.
    assert!(server.headers("authorization")[before..].iter().all(String::is_empty));
}

#[tokio::test]
async fn refusals_have_names() {
    for (status, code, kind) in [
        ("404 Not Found", "NoSuchKey", ErrorKind::NotFound),
        ("404 Not Found", "NoSuchBucket", ErrorKind::NotFound),
        ("403 Forbidden", "AccessDenied", ErrorKind::Permission),
        ("403 Forbidden", "SignatureDoesNotMatch", ErrorKind::Permission),
        ("501 Not Implemented", "NotImplemented", ErrorKind::Server),
    ] {
        let server = ScriptedServer::start(move |_| refusal(status, code)).await;
        let directory = TestDirectory::new();
        let error = error_of(open("s3://bucket/f.root", &at(&server, directory.options(&KEYS))).await);
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.to_string().contains(code), "{error}");
        assert_eq!(error.url_str(), Some("s3://bucket/f.root"));
    }
}

#[tokio::test]
async fn an_object_that_changed_is_noticed() {
    let content = sample(SIZE);
    let count = AtomicUsize::new(0);
    let served = content.clone();
    let server = ScriptedServer::start(move |request| match count.fetch_add(1, Ordering::Relaxed) {
        0 | 1 => part(&served, request),
        _ => refusal("412 Precondition Failed", "PreconditionFailed"),
    })
    .await;
    let options = at(&server, TestDirectory::new().options(&[]));
    let opened = open("s3://bucket/f.root", &options).await.unwrap();
    assert_eq!(error_of(check(&opened, &content, &options).await).kind(), ErrorKind::Changed);
}

#[tokio::test]
async fn half_a_web_identity_is_no_identity() {
    let content = sample(SIZE);
    let server = ScriptedServer::start(move |request| part(&content, request)).await;
    let directory = TestDirectory::new();
    let variables = [("AWS_WEB_IDENTITY_TOKEN_FILE", "/nowhere"), ("AWS_ROLE_ARN", "arn:aws:iam::1:role/r")];
    open("s3://bucket/f.root", &at(&server, directory.options(&variables))).await.unwrap();
}

#[tokio::test]
async fn a_web_identity_is_exchanged_for_a_key() {
    let (directory, authority) = (TestDirectory::new(), Authority::new());
    let service = server(&authority, |request| {
        assert!(request.path.contains("Action=AssumeRoleWithWebIdentity"), "{}", request.path);
        let key = "<AccessKeyId>TEMP</AccessKeyId><SecretAccessKey>s</SecretAccessKey>\
                   <SessionToken>session</SessionToken><Expiration>2099-01-01T00:00:00Z</Expiration>";
        let body = format!(
            "<AssumeRoleWithWebIdentityResponse><AssumeRoleWithWebIdentityResult><Credentials>{key}</Credentials>\
             </AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>"
        );
        answer("200 OK", "Content-Type: text/xml\r\n", body)
    })
    .await;
    let content = sample(SIZE);
    let store = ScriptedServer::start(move |request| part(&content, request)).await;
    let (token, bundle) = (directory.file("token", "jwt"), directory.file("ca.pem", authority.pem()));
    let variables = [
        ("AWS_WEB_IDENTITY_TOKEN_FILE", token.as_str()),
        ("AWS_ROLE_ARN", "arn:aws:iam::1:role/r"),
        ("AWS_ENDPOINT_URL_STS", &format!("https://localhost:{}", service.port())),
        ("REQUESTS_CA_BUNDLE", &bundle),
    ];
    let options = at(&store, directory.options(&variables));
    open("s3://bucket/f.root", &options).await.unwrap();
    assert!(store.headers("authorization").iter().all(|value| value.contains("Credential=TEMP/")));
    assert!(store.headers("x-amz-security-token").iter().all(|value| value == "session"));
    assert_eq!(service.requests().len(), 1);
}

#[tokio::test]
async fn whole_answers_to_requests_for_parts() {
    // Some gateways send small objects as a whole.
    let content = sample(5000);
    let served = content.clone();
    let server = ScriptedServer::start(move |_| answer("200 OK", "ETag: \"1\"\r\n", &served)).await;
    let options = at(&server, TestDirectory::new().options(&[]));
    let opened = open("s3://bucket/f.root", &options).await.unwrap();
    assert_eq!(opened.source.identity().size, 5000);
}
