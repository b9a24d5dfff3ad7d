//! Reading a file that changes in the meantime is an error.

use super::{Zoo, error_of};
use sapwood_core::{ByteRange, ErrorKind};
use sapwood_testkit::Behaviour;

const RANGE: ByteRange = ByteRange { start: 10, len: 100 };

#[tokio::test]
async fn another_etag() {
    for name in Behaviour::NAMES.into_iter().take(4) {
        for if_match in [true, false] {
            let zoo = Zoo::new(Behaviour { if_match, ..Behaviour::named(name).unwrap() }).await;
            let opened = zoo.open().await.unwrap();
            assert_eq!(opened.source.identity().version.as_deref(), Some("\"1\""));
            zoo.read(&opened, &[RANGE]).await.unwrap();
            zoo.server.change(|behaviour| behaviour.etag = Some("\"2\"".to_owned()));
            for ranges in [vec![RANGE], zoo.scattered(10)] {
                let error = error_of(zoo.read(&opened, &ranges).await);
                assert_eq!(error.kind(), ErrorKind::Changed, "{name} {if_match} {error}");
            }
        }
    }
}

#[tokio::test]
async fn another_modification_time() {
    let date = |day: u32| Some(format!("Sat, {day} Nov 2026 10:00:00 GMT"));
    let zoo = Zoo::new(Behaviour { etag: None, last_modified: date(21), ..Behaviour::default() }).await;
    let opened = zoo.open().await.unwrap();
    assert_eq!(opened.source.identity().version, date(21));
    zoo.server.change(|behaviour| behaviour.last_modified = date(22));
    assert_eq!(error_of(zoo.read(&opened, &[RANGE]).await).kind(), ErrorKind::Changed);
}

#[tokio::test]
async fn another_size() {
    let behaviour = Behaviour { etag: None, ..Behaviour::default() };
    let zoo = Zoo::new(behaviour).await;
    let opened = zoo.open().await.unwrap();
    // The same path, behind the same proxy, now holds a shorter object.
    let shorter = Zoo::sized(Behaviour { etag: None, ..Behaviour::default() }, 1000).await;
    let to = shorter.server.url("");
    zoo.server.change(|behaviour| {
        behaviour.redirect = Some(sapwood_testkit::Redirect { prefix: String::new(), to, status: 302 });
    });
    assert_eq!(error_of(zoo.read(&opened, &[RANGE]).await).kind(), ErrorKind::Changed);
    let beyond = ByteRange { start: 100_000, len: 10 };
    assert_eq!(error_of(zoo.read(&opened, &[beyond]).await).kind(), ErrorKind::Changed);
}

#[tokio::test]
async fn ranges_that_are_not_honoured_any_more() {
    let zoo = Zoo::new(Behaviour::default()).await;
    let opened = zoo.open().await.unwrap();
    zoo.server.change(|behaviour| behaviour.ranges = sapwood_testkit::RangeBehaviour::Ignored);
    assert_eq!(error_of(zoo.read(&opened, &[RANGE]).await).kind(), ErrorKind::Server);
}
