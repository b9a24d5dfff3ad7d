//! Reading in blocks: every byte is right, each block is fetched once, and faults of the block storage only make reading
//! slower.

use crate::counting::{Client, Server};
use crate::source::{content, range, runtime};
use bytes::Bytes;
use futures::future::join_all;
use proptest::prelude::*;
use sapwood_core::{ByteRange, Counters, Deadline, ErrorKind};
use sapwood_fetch::Fetcher;
use sapwood_fetch::blocks::{self, BlockOptions, Cache, CacheOptions};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

const SIZE: usize = 1000;

fn options(block: u64, scratch: u64) -> BlockOptions {
    BlockOptions { block_size: block, scratch_size: scratch, cache: None }
}

fn cached(block: u64, directory: &Path) -> BlockOptions {
    BlockOptions { cache: Some(CacheOptions::new(directory)), ..options(block, 0) }
}

async fn open(server: &Arc<Server>, options: &BlockOptions) -> Fetcher {
    let counters = Arc::<Counters>::default();
    let client = Arc::new(Client(Arc::clone(server)));
    let opened =
        blocks::open(options, "f", client, Arc::clone(&counters), Deadline::default()).await.unwrap();
    Fetcher::new(opened.source, counters).with_known(opened.known)
}

async fn read(fetcher: &Fetcher, wanted: &[ByteRange]) -> Vec<Bytes> {
    fetcher.fetch(wanted, Deadline::default()).await.unwrap()
}

async fn read_all(server: &Arc<Server>, options: &BlockOptions) -> Bytes {
    let fetcher = open(server, options).await;
    let size = fetcher.source().identity().size;
    read(&fetcher, &[range(0, size)]).await.remove(0)
}

/// The files in a cache with a name that ends so.
fn files(directory: &Path, end: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files(&path, end));
        } else if path.to_string_lossy().ends_with(end) {
            found.push(path);
        }
    }
    found.sort();
    found
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn any_reads_get_the_content(
        size in 0..SIZE,
        block in 1..300_u64,
        scratch in 0..600_u64,
        shared in any::<bool>(),
        reads in prop::collection::vec(prop::collection::vec((0.0..1.0, 0.0..1.0), 0..6), 1..6),
    ) {
        let (server, directory) = (Server::new(size), tempfile::tempdir().unwrap());
        let options = if shared { cached(block, directory.path()) } else { options(block, scratch) };
        let bytes = content(size);
        runtime().block_on(async {
            let fetcher = open(&server, &options).await;
            let one = |wanted: Vec<(f64, f64)>| {
                let (fetcher, bytes) = (&fetcher, &bytes);
                async move {
                    let place = |(start, len): (f64, f64)| {
                        let start = (start * size as f64) as u64;
                        range(start, (len * (size as u64 - start) as f64) as u64)
                    };
                    let wanted: Vec<_> = wanted.into_iter().map(place).collect();
                    for (range, answer) in wanted.iter().zip(read(fetcher, &wanted).await) {
                        assert_eq!(answer, bytes[range.start as usize..range.end() as usize]);
                    }
                }
            };
            // The first one alone, the others at once.
            let mut reads = reads.into_iter();
            if let Some(first) = reads.next() {
                one(first).await;
            }
            join_all(reads.map(one)).await;
        });
    }
}

#[test]
fn a_block_is_fetched_once_however_many_want_it() {
    for shared in [false, true] {
        let (server, directory) = (Server::new(SIZE), tempfile::tempdir().unwrap());
        let options = if shared { cached(64, directory.path()) } else { options(64, 1 << 20) };
        runtime().block_on(async {
            let fetcher = open(&server, &options).await;
            let wanted: Vec<Vec<_>> = (0..20).map(|i| vec![range(i * 7, 500), range(900 - i, 50)]).collect();
            let answers = join_all(wanted.iter().map(|wanted| read(&fetcher, wanted))).await;
            for (wanted, answers) in wanted.iter().flatten().zip(answers.iter().flatten()) {
                assert_eq!(answers, &content(SIZE)[wanted.start as usize..wanted.end() as usize]);
            }
            // Blocks 0 to 9, which hold bytes 0 to 640, and 13 and 14, which hold bytes 832 to 960.
            assert_eq!(server.requested(), 12 * 64);
            let counted = fetcher.counters().snapshot();
            assert!(counted.block_bytes > 0 && counted.block_bytes < counted.wanted_bytes);
            read(&fetcher, &[range(100, 400)]).await;
            assert_eq!(fetcher.counters().snapshot().block_bytes, counted.block_bytes + 400);
            assert_eq!((server.requested(), counted.overread_bytes), (0, 0));
        });
    }
}

#[test]
fn the_budget_is_kept_and_dropped_blocks_are_fetched_again() {
    let server = Server::new(SIZE);
    runtime().block_on(async {
        let fetcher = open(&server, &options(100, 200)).await;
        for (start, fetched) in [(150, 100), (250, 100), (150, 0), (350, 100), (150, 0), (250, 100)] {
            read(&fetcher, &[range(start, 10)]).await;
            assert_eq!(server.requested(), fetched, "at byte {start}");
        }
    });
}

#[test]
fn the_source_is_closed_when_the_file_is_complete() {
    let server = Server::new(SIZE);
    runtime().block_on(async {
        let fetcher = open(&server, &options(100, 1 << 20)).await;
        read(&fetcher, &[range(0, 900)]).await;
        assert_eq!(server.open.load(Ordering::SeqCst), 1);
        read(&fetcher, &[range(850, 150)]).await;
        assert_eq!(server.open.load(Ordering::SeqCst), 0);
        assert_eq!(read(&fetcher, &[range(0, 1000)]).await, [content(SIZE)]);
        assert_eq!(server.opened(), 1);
    });
}

#[test]
fn a_failure_is_reported_and_retried() {
    let server = Server::new(SIZE);
    runtime().block_on(async {
        let fetcher = open(&server, &options(100, 1 << 20)).await;
        server.fails.store(true, Ordering::SeqCst);
        let both = join_all([range(100, 150), range(150, 300)].map(|wanted| {
            let fetcher = &fetcher;
            async move { fetcher.fetch(&[wanted], Deadline::default()).await.unwrap_err() }
        }));
        for error in both.await {
            assert_eq!(error.kind(), ErrorKind::Server);
            assert_eq!(error.url_str(), Some("test://h/f"));
        }
        server.fails.store(false, Ordering::SeqCst);
        assert_eq!(read(&fetcher, &[range(100, 350)]).await, [&content(SIZE)[100..450]]);
        let beyond = fetcher.fetch(&[range(990, 20)], Deadline::default()).await.unwrap_err();
        assert_eq!(beyond.kind(), ErrorKind::Truncated);
    });
}

#[test]
fn a_cancelled_reader_leaves_the_block_to_others() {
    for shared in [false, true] {
        let (server, directory) = (Server::new(SIZE), tempfile::tempdir().unwrap());
        let options = if shared { cached(100, directory.path()) } else { options(100, 1 << 20) };
        runtime().block_on(async {
            let fetcher = open(&server, &options).await;
            server.silent.store(true, Ordering::SeqCst);
            let soon = Deadline::after(Duration::from_millis(30));
            let late = fetcher.fetch(&[range(300, 10)], soon).await.unwrap_err();
            assert_eq!(late.kind(), ErrorKind::Timeout);
            server.requested();
            let (given_up, waiting) = (fetcher.clone(), fetcher.clone());
            let given_up = tokio::spawn(async move { read(&given_up, &[range(300, 10)]).await });
            while server.requested.load(Ordering::SeqCst) < 100 {
                tokio::task::yield_now().await;
            }
            let waiting = tokio::spawn(async move { read(&waiting, &[range(305, 10)]).await });
            server.silent.store(false, Ordering::SeqCst);
            given_up.abort();
            assert_eq!(waiting.await.unwrap(), [&content(SIZE)[305..315]]);
        });
    }
}

/// Two fetchers of one cache are to each other what two processes are: each has files and locks of its own.
#[tokio::test(start_paused = true)]
async fn waits_for_blocks_of_other_processes_are_bounded() {
    let (server, directory) = (Server::new(SIZE), tempfile::tempdir().unwrap());
    let options = cached(100, directory.path());
    server.silent.store(true, Ordering::SeqCst);
    let stuck = open(&server, &options).await;
    let stuck = tokio::spawn(async move { read(&stuck, &[range(300, 10)]).await });
    while server.requested.load(Ordering::SeqCst) < 100 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    server.silent.store(false, Ordering::SeqCst);
    server.requested();
    let waiting = open(&server, &options).await;
    let begin = tokio::time::Instant::now();
    let soon = Deadline::at((begin + Duration::from_secs(10)).into_std());
    let late = waiting.fetch(&[range(305, 20)], soon).await.unwrap_err();
    assert_eq!((late.kind(), begin.elapsed().as_secs()), (ErrorKind::Timeout, 10));
    assert_eq!(server.requested(), 0, "it is the other one who fetches the block");
    let begin = tokio::time::Instant::now();
    let far = Deadline::at((begin + Duration::from_secs(1000)).into_std());
    let answers = waiting.fetch(&[range(305, 20)], far).await.unwrap();
    assert_eq!(answers, [&content(SIZE)[305..325]]);
    assert_eq!((begin.elapsed().as_secs(), server.requested()), (30, 20), "what is wanted, and no more");
    stuck.abort();
    assert!(stuck.await.unwrap_err().is_cancelled());
    // Its lock ended with it: the block is fetched and kept.
    assert_eq!(read(&waiting, &[range(330, 10)]).await, [&content(SIZE)[330..340]]);
    assert_eq!((server.requested(), files(directory.path(), "").is_empty()), (100, false));
}

#[test]
fn the_second_read_fetches_nothing() {
    let (server, directory) = (Server::new(SIZE), tempfile::tempdir().unwrap());
    let options = cached(100, directory.path());
    runtime().block_on(async {
        assert_eq!(read_all(&server, &options).await, content(SIZE));
        assert_eq!((server.requested(), server.opened()), (1000, 1));
        assert_eq!(read_all(&server, &options).await, content(SIZE));
        assert_eq!((server.requested(), server.opened()), (0, 1), "the version is asked for");
        let mut trusting = options.clone();
        trusting.cache.as_mut().unwrap().max_age = Duration::from_secs(1000);
        let fetcher = open(&server, &trusting).await;
        // What came with opening comes again, and so do the blocks.
        assert_eq!(read(&fetcher, &[range(0, 10), range(985, 15)]).await[1], content(SIZE)[985..]);
        assert_eq!(fetcher.counters().snapshot().block_bytes, 0);
        assert_eq!(read(&fetcher, &[range(0, 1000)]).await, [content(SIZE)]);
        assert_eq!((server.requested(), server.opened()), (0, 0), "nothing at all is asked");
    });
    let cache = Cache::open(directory.path(), 1 << 20).unwrap();
    let [kept] = cache.contents().try_into().unwrap();
    assert_eq!((kept.url.as_str(), kept.size, kept.blocks), ("test://h/f", 1000, 10));
    assert_eq!(cache.verify().sound, 12);
    assert_eq!(cache.clear(Some("test://h/other")).unwrap(), 0);
    assert_eq!(cache.clear(Some("test://h/f")).unwrap(), kept.bytes);
    assert!(cache.contents().is_empty());
}

#[test]
fn foreign_files_are_not_cleared() {
    let (server, directory) = (Server::new(SIZE), tempfile::tempdir().unwrap());
    runtime().block_on(read_all(&server, &cached(100, directory.path())));
    // A folder that is called as those of the cache are, such as by a checksum.
    let theirs = directory.path().join("0123456789abcdef0123456789abcdef");
    fs::create_dir_all(theirs.join("run1")).unwrap();
    for name in ["nano.root", "run1/nano.root", "run1/1-2.txt"] {
        fs::write(theirs.join(name), b"data").unwrap();
    }
    let cache = Cache::open(directory.path(), 1 << 20).unwrap();
    assert!(cache.verify().damaged.is_empty());
    cache.clear(None).unwrap();
    for name in ["nano.root", "run1/nano.root", "run1/1-2.txt"] {
        assert_eq!(fs::read(theirs.join(name)).unwrap(), b"data", "{name}");
    }
    let left = fs::read_dir(directory.path()).unwrap().flatten().filter(|one| one.path().is_dir());
    assert_eq!(left.count(), 1, "nothing of the cache is left");
}

#[test]
fn damaged_blocks_are_fetched_again() {
    let (server, directory) = (Server::new(SIZE), tempfile::tempdir().unwrap());
    let options = cached(100, directory.path());
    runtime().block_on(async {
        read_all(&server, &options).await;
        server.requested();
        for (damage, end) in (0_usize..).zip(["block", "block", "block", "known", "latest"]) {
            for (i, path) in (0..).zip(files(directory.path(), end)) {
                let mut bytes = fs::read(&path).unwrap();
                match (damage + i) % 3 {
                    0 => bytes.truncate(bytes.len() * 2 / 3),
                    1 => *bytes.last_mut().unwrap() ^= 4,
                    _ => bytes.clear(),
                }
                fs::write(&path, bytes).unwrap();
            }
            assert_eq!(read_all(&server, &options).await, content(SIZE), "damage {damage} to {end}");
            assert_eq!(server.requested(), if end == "block" { 1000 } else { 0 }, "damage {damage} to {end}");
        }
        // Sound, but another block, of the same length: as after a repair of the disk.
        let paths = files(directory.path(), "block");
        fs::copy(&paths[2], &paths[3]).unwrap();
        assert_eq!(Cache::open(directory.path(), 1 << 20).unwrap().verify().damaged, [paths[3].clone()]);
        fs::copy(&paths[2], &paths[4]).unwrap();
        assert_eq!(read_all(&server, &options).await, content(SIZE));
        assert_eq!(server.requested(), 200);
    });
}

#[test]
fn another_version_is_another_file() {
    let (server, directory) = (Server::new(SIZE), tempfile::tempdir().unwrap());
    let options = cached(100, directory.path());
    let mut trusting = options.clone();
    trusting.cache.as_mut().unwrap().max_age = Duration::from_secs(1000);
    let other: Vec<u8> = content(SIZE).iter().map(|byte| byte ^ 255).collect();
    runtime().block_on(async {
        read(&open(&server, &options).await, &[range(300, 100)]).await;
        server.replace(other.clone(), "second");
        // Who does not ask reads on in the first version, as far as it is there, and never in both.
        let fetcher = open(&server, &trusting).await;
        assert_eq!(read(&fetcher, &[range(300, 100)]).await, [&content(SIZE)[300..400]]);
        let changed = fetcher.fetch(&[range(500, 10)], Deadline::default()).await.unwrap_err();
        assert_eq!(changed.kind(), ErrorKind::Changed);
        // Now it is known that there is another.
        assert_eq!(read_all(&server, &trusting).await, other);
        server.replace(content(SIZE), "first");
        server.requested();
        assert_eq!(read_all(&server, &options).await, content(SIZE));
        assert_eq!(server.requested(), 900, "a block of the first version was still there");
    });
}

#[test]
fn without_a_version_nothing_outlives_the_file() {
    let (server, directory) = (Server::new(SIZE), tempfile::tempdir().unwrap());
    *server.version.lock().unwrap() = None;
    let options = BlockOptions { scratch_size: 1 << 20, ..cached(100, directory.path()) };
    runtime().block_on(async {
        let fetcher = open(&server, &options).await;
        for _ in 0..2 {
            assert_eq!(read(&fetcher, &[range(0, 1000)]).await, [content(SIZE)]);
        }
        assert_eq!(server.requested(), 1000, "it is kept as long as the file is open");
    });
    assert!(files(directory.path(), "block").is_empty());
}

#[test]
fn the_cache_keeps_to_its_size_while_others_read() {
    let directory = tempfile::tempdir().unwrap();
    let mut options = cached(100, directory.path());
    options.cache.as_mut().unwrap().size = 1000;
    let server = Server::new(SIZE);
    runtime().block_on(async {
        let fetchers = join_all((0..4).map(|_| open(&server, &options))).await;
        for round in 0..3 {
            let all = fetchers.iter().map(|fetcher| async move {
                for start in (0..1000).step_by(100) {
                    let answer = read(fetcher, &[range(start, 100)]).await;
                    assert_eq!(answer, [&content(SIZE)[start as usize..start as usize + 100]], "{round}");
                }
            });
            join_all(all).await;
        }
    });
    let bytes: u64 = ["block", "known"]
        .iter()
        .flat_map(|end| files(directory.path(), end))
        .map(|path| fs::metadata(path).unwrap().len())
        .sum();
    assert!(bytes > 0 && bytes <= 1000, "{bytes} bytes are kept");
    assert!(files(directory.path(), "part").is_empty());
}

#[test]
fn leftovers_of_a_dead_writer_block_no_reader() {
    let (server, directory) = (Server::new(SIZE), tempfile::tempdir().unwrap());
    let options = cached(100, directory.path());
    runtime().block_on(async {
        let fetcher = open(&server, &options).await;
        let folder = files(directory.path(), "known")[0].parent().unwrap().to_owned();
        fs::write(folder.join("64-64.block.part"), "half of a block").unwrap();
        assert_eq!(read(&fetcher, &[range(0, 300)]).await, [&content(SIZE)[..300]]);
        assert_eq!(server.requested(), 300);
    });
    assert!(files(directory.path(), "part").is_empty());
}

#[cfg(unix)]
#[test]
fn blocks_in_flight_in_another_process_are_awaited() {
    use rustix::fs::{FlockOperation, flock};
    let (server, directory) = (Server::new(SIZE), tempfile::tempdir().unwrap());
    let options = cached(100, directory.path());
    runtime().block_on(async {
        let fetcher = open(&server, &options).await;
        let folder = files(directory.path(), "known")[0].parent().unwrap().to_owned();
        let part = fs::File::create(folder.join("64-64.block.part")).unwrap();
        flock(&part, FlockOperation::NonBlockingLockExclusive).unwrap();
        let reading = tokio::spawn(async move { read(&fetcher, &[range(0, 300)]).await });
        while server.requested.load(Ordering::SeqCst) < 200 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert!(!reading.is_finished());
        // It dies: the lock ends with it.
        drop(part);
        assert_eq!(reading.await.unwrap(), [&content(SIZE)[..300]]);
        assert_eq!(server.requested(), 300);
    });
}

#[test]
fn reading_continues_when_blocks_cannot_be_stored() {
    let (server, directory) = (Server::new(SIZE), tempfile::tempdir().unwrap());
    let file = directory.path().join("file");
    fs::write(&file, "no directory").unwrap();
    runtime().block_on(async {
        assert_eq!(read_all(&server, &cached(100, &file)).await, content(SIZE));
        // A directory that goes bad later: what was a folder is a file.
        let cache = directory.path().join("cache");
        let fetcher = open(&server, &cached(100, &cache)).await;
        let version = files(&cache, "known")[0].parent().unwrap().to_owned();
        fs::remove_dir_all(&version).unwrap();
        fs::write(&version, "no directory").unwrap();
        server.requested();
        assert_eq!(read(&fetcher, &[range(130, 40)]).await, [&content(SIZE)[130..170]]);
        assert_eq!(server.requested(), 40, "no more than is wanted is fetched");
    });
}
