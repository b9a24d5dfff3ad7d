//! Directories of WebDAV servers and of object stores.

use super::error_of;
use sapwood_core::ErrorKind;
use sapwood_source::list;
use sapwood_testkit::{ScriptedServer, TestDirectory, answer};

#[tokio::test]
async fn webdav() {
    let server = ScriptedServer::start(|request| {
        assert_eq!((request.method.as_str(), request.header("depth")), ("PROPFIND", Some("1")));
        let entry = |path: &str, kind: &str| {
            format!("<d:response><d:href>{path}</d:href><d:propstat><d:prop><d:resourcetype>{kind}</d:resourcetype></d:prop></d:propstat></d:response>")
        };
        let body = format!(
            "<?xml version=\"1.0\"?><d:multistatus xmlns:d=\"DAV:\">{}{}{}</d:multistatus>",
            entry("/data/", "<d:collection/>"),
            entry("/data/b.root", ""),
            entry("/data/a", "<d:collection/>"),
        );
        answer("207 Multi-Status", "Content-Type: application/xml\r\n", body)
    })
    .await;
    let url = format!("{}/data", server.url().replace("http://", "dav://"));
    let entries = list(&url, &TestDirectory::new().options(&[])).await.unwrap();
    let names: Vec<_> = entries.iter().map(|entry| (entry.name.as_str(), entry.is_directory)).collect();
    assert_eq!(names, [("a", true), ("b.root", false)]);
}

#[tokio::test]
async fn plain_http_has_no_directories() {
    for status in ["405 Method Not Allowed", "200 OK", "501 Not Implemented"] {
        let server = ScriptedServer::start(move |_| answer(status, "", "<html></html>")).await;
        let error = error_of(list(&server.url(), &TestDirectory::new().options(&[])).await);
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    }
    let server = ScriptedServer::start(|_| answer("404 Not Found", "", "")).await;
    let error = error_of(list(&server.url(), &TestDirectory::new().options(&[])).await);
    assert_eq!(error.kind(), ErrorKind::NotFound);
}

#[tokio::test]
async fn buckets() {
    let server = ScriptedServer::start(|request| {
        assert!(request.path.starts_with("/bucket?") && request.path.contains("prefix=d%2F"), "{}", request.path);
        let object = |key: &str| {
            format!("<Contents><Key>{key}</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified><ETag>\"1\"</ETag><Size>5</Size></Contents>")
        };
        let body = format!(
            "<ListBucketResult><IsTruncated>false</IsTruncated>{}{}<CommonPrefixes><Prefix>d/sub/</Prefix></CommonPrefixes></ListBucketResult>",
            object("d/b.root"),
            object("d/a.root"),
        );
        answer("200 OK", "Content-Type: application/xml\r\n", body)
    })
    .await;
    let mut options = TestDirectory::new().options(&[]);
    options.storage.endpoint = Some(server.url());
    let entries = list("s3://bucket/d/", &options).await.unwrap();
    let names: Vec<_> = entries.iter().map(|entry| (entry.name.as_str(), entry.is_directory)).collect();
    assert_eq!(names, [("a.root", false), ("b.root", false), ("sub", true)]);
}
