//! Objects that are written: there at the end, and what goes wrong on the way.

use super::Directory;
use super::scripted::{Scripted, answer, refusal};
use sapwood_core::{ErrorKind, Piece};
use sapwood_source::OpenOptions;
use sapwood_source::sink::{Sink, create};
use sapwood_testkit::Request;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::Duration;
use tokio::runtime::Handle;

const URL: &str = "s3://bucket/dir/f.root";
const BEGUN: &str = "<?xml version=\"1.0\"?><InitiateMultipartUploadResult><Bucket>bucket</Bucket>\
    <Key>dir/f.root</Key><UploadId>upload-1</UploadId></InitiateMultipartUploadResult>";
const ENDED: &str = "<?xml version=\"1.0\"?><CompleteMultipartUploadResult><ETag>\"2\"</ETag></CompleteMultipartUploadResult>";

/// A store that takes uploads, but for what `script` answers itself.
async fn store(
    script: impl Fn(&Request) -> Option<Vec<u8>> + Send + Sync + 'static,
) -> (Scripted, OpenOptions) {
    let server = Scripted::start(move |request| {
        script(request).unwrap_or_else(|| match request.method.as_str() {
            "POST" if request.path.contains("uploadId=") => answer("200 OK", "", ENDED),
            "POST" => answer("200 OK", "", BEGUN),
            "PUT" => answer("200 OK", "ETag: \"1\"\r\n", ""),
            _ => b"HTTP/1.1 204 No Content\r\n\r\n".to_vec(),
        })
    })
    .await;
    let keys = [("AWS_ACCESS_KEY_ID", "k"), ("AWS_SECRET_ACCESS_KEY", "verysecret")];
    let mut options = Directory::new().options(&keys);
    options.storage.endpoint = Some(server.url());
    (server, options)
}

/// Begins an upload and works with it, on a thread that may wait.
async fn with<T: Send + 'static>(
    options: &OpenOptions,
    work: impl FnOnce(Box<dyn Sink>) -> T + Send + 'static,
) -> sapwood_core::Result<T> {
    let (options, runtime) = (options.clone(), Handle::current());
    tokio::task::spawn_blocking(move || create(URL, &options, &runtime).map(work)).await.unwrap()
}

fn piece(offset: usize, len: usize, provisional: bool) -> Piece {
    Piece { offset: offset as u64, bytes: vec![7; len].into(), provisional }
}

/// A file of three parts.
fn write(sink: &mut dyn Sink) -> sapwood_core::Result<()> {
    sink.write(piece(0, 100, true))?;
    sink.write(piece(100, 20 << 20, false))?;
    sink.write(piece(0, 100, false))
}

fn asked(server: &Scripted) -> Vec<String> {
    let line = |request: &Request| format!("{} {}", request.method, request.path);
    server.requests().iter().map(line).collect()
}

fn aborts(server: &Scripted) -> usize {
    asked(server)
        .iter()
        .filter(|line| line.starts_with("DELETE") && line.contains("uploadId=upload-1"))
        .count()
}

#[tokio::test(flavor = "multi_thread")]
async fn parts_go_while_they_come_and_the_first_goes_last() {
    let (gone, second) = mpsc::channel();
    let (server, options) = store(move |request| {
        let _ = request.path.contains("partNumber=2").then(|| gone.send(()));
        None
    })
    .await;
    let work = move |mut sink: Box<dyn Sink>| {
        write(sink.as_mut())?;
        second.recv_timeout(Duration::from_secs(20)).expect("the second part goes before the end");
        sink.commit()
    };
    with(&options, work).await.unwrap().unwrap();
    let asked = asked(&server);
    assert!(asked[0].starts_with("POST /bucket/dir/f.root?uploads"), "{asked:?}");
    assert!(asked[asked.len() - 1].starts_with("POST /bucket/dir/f.root?uploadId=upload-1"), "{asked:?}");
    let parts = asked.iter().filter(|line| line.starts_with("PUT") && line.contains("partNumber=")).count();
    assert_eq!((parts, aborts(&server)), (3, 0));
    assert!(
        asked.iter().position(|line| line.contains("partNumber=1"))
            > asked.iter().position(|line| line.contains("partNumber=2"))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_part_that_fails_is_sent_again() {
    let failures = AtomicUsize::new(0);
    let (server, options) = store(move |request| {
        let fails = request.path.contains("partNumber=2") && failures.fetch_add(1, Ordering::Relaxed) < 4;
        fails.then(|| refusal("503 Slow Down", "SlowDown"))
    })
    .await;
    with(&options, |mut sink| write(sink.as_mut()).and_then(|()| sink.commit())).await.unwrap().unwrap();
    assert!(asked(&server).iter().filter(|line| line.contains("partNumber=2")).count() > 4);
    assert_eq!(aborts(&server), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_sent_is_taken_back() {
    let (server, options) = store(|request| {
        request.path.contains("partNumber=2").then(|| refusal("403 Forbidden", "AccessDenied"))
    })
    .await;
    let error = with(&options, |mut sink| write(sink.as_mut()).and_then(|()| sink.commit()))
        .await
        .unwrap()
        .unwrap_err();
    assert_eq!((error.kind(), error.url_str()), (ErrorKind::Permission, Some(URL)), "{error}");
    assert!(!format!("{error:?}").contains("verysecret"));
    assert_eq!(aborts(&server), 1);
    assert!(!asked(&server).iter().any(|line| line.starts_with("POST") && line.contains("uploadId=")));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upload_that_is_dropped_is_taken_back() {
    let (server, options) = store(|_| None).await;
    with(&options, |mut sink| write(sink.as_mut())).await.unwrap().unwrap();
    assert_eq!(aborts(&server), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_end_that_fails_is_told() {
    let refused = refusal("200 OK", "InternalError");
    let (server, options) = store(move |request| {
        let ends = request.method == "POST" && request.path.contains("uploadId=");
        ends.then(|| refused.clone())
    })
    .await;
    let error = with(&options, |mut sink| write(sink.as_mut()).and_then(|()| sink.commit()))
        .await
        .unwrap()
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Server, "{error}");
    assert_eq!(aborts(&server), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_begun_is_told_at_once() {
    for (status, code, kind) in [
        ("403 Forbidden", "AccessDenied", ErrorKind::Permission),
        ("404 Not Found", "NoSuchBucket", ErrorKind::NotFound),
    ] {
        let (_server, options) = store(move |_| Some(refusal(status, code))).await;
        let error = with(&options, drop).await.unwrap_err();
        assert_eq!((error.kind(), error.url_str()), (kind, Some(URL)), "{error}");
    }
    let mut options = Directory::new().options(&[("AWS_ACCESS_KEY_ID", "k"), ("AWS_SECRET_ACCESS_KEY", "s")]);
    options.storage.endpoint = Some("http://127.0.0.1:1".to_owned());
    let error = with(&options, drop).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Network, "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn other_places_are_not_written_to() {
    let runtime = Handle::current();
    for url in ["https://user:word@host/f.root?token=secret", "root://host//f.root", "davs://host/f.root"] {
        let error = create(url, &OpenOptions::default(), &runtime).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert!(!error.to_string().contains("secret") && !error.to_string().contains("word"), "{error}");
    }
    let error = create("s3://bucket/dir/", &OpenOptions::default(), &runtime).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Usage);
}
