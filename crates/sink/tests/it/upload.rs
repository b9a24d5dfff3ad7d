//! Uploaded objects appear at the end, or not at all after a failure.

use sapwood_core::{ErrorKind, FilePiece};
use sapwood_sink::{Leftover, Sink, create};
use sapwood_source::SourceOptions;
use sapwood_testkit::{HttpRequest, ScriptedServer, TestDirectory, answer, refusal};
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
    script: impl Fn(&HttpRequest) -> Option<Vec<u8>> + Send + Sync + 'static,
) -> (ScriptedServer, SourceOptions) {
    let server = ScriptedServer::start(move |request| {
        script(request).unwrap_or_else(|| match request.method.as_str() {
            "POST" if request.path.contains("uploadId=") => answer("200 OK", "", ENDED),
            "POST" => answer("200 OK", "", BEGUN),
            "PUT" => answer("200 OK", "ETag: \"1\"\r\n", ""),
            _ => b"HTTP/1.1 204 No Content\r\n\r\n".to_vec(),
        })
    })
    .await;
    let keys = [("AWS_ACCESS_KEY_ID", "k"), ("AWS_SECRET_ACCESS_KEY", "verysecret")];
    let mut options = TestDirectory::new().options(&keys);
    options.storage.endpoint = Some(server.url());
    (server, options)
}

/// Begins an upload and works with it, on a thread that may wait.
async fn with<T: Send + 'static>(
    options: &SourceOptions,
    work: impl FnOnce(Box<dyn Sink>) -> T + Send + 'static,
) -> sapwood_core::Result<T> {
    let (options, runtime) = (options.clone(), Handle::current());
    tokio::task::spawn_blocking(move || create(URL, &options, &runtime).map(work)).await.unwrap()
}

fn piece(offset: usize, len: usize, provisional: bool) -> FilePiece {
    FilePiece { offset: offset as u64, bytes: vec![7; len].into(), provisional }
}

/// A file of three parts.
fn write(sink: &mut dyn Sink) -> sapwood_core::Result<()> {
    sink.write(piece(0, 100, true))?;
    sink.write(piece(100, 20 << 20, false))?;
    sink.write(piece(0, 100, false))
}

fn asked(server: &ScriptedServer) -> Vec<String> {
    let line = |request: &HttpRequest| format!("{} {}", request.method, request.path);
    server.requests().iter().map(line).collect()
}

fn aborts(server: &ScriptedServer) -> usize {
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
async fn an_end_that_fails_is_reported() {
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
async fn an_upload_that_cannot_begin_is_reported_at_once() {
    for (status, code, kind) in [
        ("403 Forbidden", "AccessDenied", ErrorKind::Permission),
        ("404 Not Found", "NoSuchBucket", ErrorKind::NotFound),
    ] {
        let (_server, options) = store(move |_| Some(refusal(status, code))).await;
        let error = with(&options, drop).await.unwrap_err();
        assert_eq!((error.kind(), error.url_str()), (kind, Some(URL)), "{error}");
    }
    let mut options =
        TestDirectory::new().options(&[("AWS_ACCESS_KEY_ID", "k"), ("AWS_SECRET_ACCESS_KEY", "s")]);
    options.storage.endpoint = Some("http://127.0.0.1:1".to_owned());
    let error = with(&options, drop).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Network, "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn other_places_are_not_written_to() {
    let runtime = Handle::current();
    for url in ["https://user:word@host/f.root?token=secret", "root://host//f.root", "davs://host/f.root"] {
        let error = create(url, &SourceOptions::default(), &runtime).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert!(!error.to_string().contains("secret") && !error.to_string().contains("word"), "{error}");
    }
    let error = create("s3://bucket/dir/", &SourceOptions::default(), &runtime).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Usage);
}

/// A store, and options by which uploads are kept in a directory.
async fn keeping(
    script: impl Fn(&HttpRequest) -> Option<Vec<u8>> + Send + Sync + 'static,
) -> (ScriptedServer, SourceOptions, TestDirectory) {
    let (server, mut options) = store(script).await;
    let directory = TestDirectory::new();
    let home = directory.0.to_str().unwrap();
    options.environment = directory
        .options(&[("AWS_ACCESS_KEY_ID", "k"), ("AWS_SECRET_ACCESS_KEY", "verysecret"), ("HOME", home)])
        .environment;
    (server, options, directory)
}

/// The journals in a directory.
fn journals(directory: &TestDirectory) -> usize {
    std::fs::read_dir(directory.0.join(".local/state/sapwood/uploads")).map_or(0, Iterator::count)
}

const JOB: u64 = 7;
const KEPT: usize = 20 << 20;
const END: usize = 45 << 20;

/// A run that is interrupted: of what it wrote, a note tells up to the middle of the third part.
fn interrupted(mut sink: Box<dyn Sink>) -> Option<String> {
    assert_eq!(sink.take_up(JOB).unwrap(), Leftover::Nothing);
    sink.write(piece(0, 100, true)).unwrap();
    sink.write(piece(100, KEPT - 100, false)).unwrap();
    let mut note = b"so far".to_vec();
    sink.keep(KEPT as u64, &mut note);
    assert!(note.is_empty());
    sink.write(piece(KEPT, 14 << 20, false)).unwrap();
    sink.leave((34 << 20) as u64, b"; and more".to_vec())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upload_is_resumed() {
    let (server, options, directory) = keeping(|_| None).await;
    let place = with(&options, interrupted).await.unwrap().unwrap();
    assert!(place.contains(".journal") && !place.contains("verysecret"), "{place}");
    assert_eq!((aborts(&server), journals(&directory)), (0, 1));
    let first = asked(&server).len();
    let go_on = |mut sink: Box<dyn Sink>| {
        let kept = Leftover::Kept { bytes: KEPT as u64, notes: b"so far".to_vec() };
        assert_eq!(sink.take_up(JOB).unwrap(), kept);
        write_from(sink.as_mut(), KEPT).unwrap();
        sink.commit()
    };
    with(&options, go_on).await.unwrap().unwrap();
    let asked = asked(&server).split_off(first);
    let sent = |number: usize| {
        let part = format!("partNumber={number}&");
        asked.iter().filter(|line| line.starts_with("PUT") && format!("{line}&").contains(&part)).count()
    };
    // The first is held back until the end, the second and the third were sent; the fourth, if it was in time.
    assert_eq!([1, 2, 3, 5, 6].map(sent), [1, 0, 0, 1, 1], "{asked:?}");
    assert!(sent(4) < 2, "{asked:?}");
    assert!(asked[asked.len() - 1].starts_with("POST /bucket/dir/f.root?uploadId=upload-1"), "{asked:?}");
    // What was begun for nothing was taken back.
    assert_eq!((aborts(&server), journals(&directory)), (1, 0));
}

/// The beginning of the file once more, and all from an offset on.
fn write_from(sink: &mut dyn Sink, offset: usize) -> sapwood_core::Result<()> {
    sink.write(piece(0, 100, true))?;
    sink.write(piece(100, 1000, false))?;
    sink.write(piece(offset, END - offset, false))?;
    sink.write(piece(0, 100, false))
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upload_of_another_job_is_taken_back() {
    let (server, options, directory) = keeping(|_| None).await;
    with(&options, interrupted).await.unwrap().unwrap();
    let other = |mut sink: Box<dyn Sink>| {
        assert!(matches!(sink.take_up(JOB + 1).unwrap(), Leftover::Useless(_)));
        write(sink.as_mut()).and_then(|()| sink.commit())
    };
    with(&options, other).await.unwrap().unwrap();
    assert_eq!((aborts(&server), journals(&directory)), (1, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upload_that_the_store_forgot_is_not_asked_for_twice() {
    let forgotten = |request: &HttpRequest| {
        let part = request.method == "PUT" && request.path.contains("partNumber=5");
        part.then(|| refusal("404 Not Found", "NoSuchUpload"))
    };
    let (_server, options, directory) = keeping(forgotten).await;
    with(&options, interrupted).await.unwrap().unwrap();
    let go_on = |mut sink: Box<dyn Sink>| {
        assert!(matches!(sink.take_up(JOB).unwrap(), Leftover::Kept { .. }));
        let error = write_from(sink.as_mut(), KEPT).and_then(|()| sink.commit()).unwrap_err();
        assert!(error.hint_text().unwrap().contains("starts over"), "{error}");
    };
    with(&options, go_on).await.unwrap();
    assert_eq!(journals(&directory), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upload_that_somebody_writes_is_left_alone() {
    let (server, options, directory) = keeping(|_| None).await;
    with(&options, interrupted).await.unwrap().unwrap();
    let held = with(&options, |mut sink| (sink.take_up(JOB).unwrap(), sink)).await.unwrap();
    assert!(matches!(held.0, Leftover::Kept { .. }));
    let second = |mut sink: Box<dyn Sink>| {
        assert_eq!(sink.take_up(JOB).unwrap(), Leftover::Never);
        write(sink.as_mut()).and_then(|()| sink.commit())
    };
    with(&options, second).await.unwrap().unwrap();
    assert_eq!((aborts(&server), journals(&directory)), (1, 1));
    tokio::task::spawn_blocking(move || drop(held)).await.unwrap();
    assert_eq!(journals(&directory), 0);
}
