//! The HTTP server and the WAN proxy, for tests and benchmarks in other languages.
//!
//! When ready, `serve` prints one line of JSON, `{"url": "http://…", "control": "http://…"}`, and `proxy` prints
//! `{"address": "127.0.0.1:…", "control": "http://…"}`. Both run until standard input ends or they are terminated.
//! `GET <control>/__stats__` returns the counts as JSON; `GET <control>/__reset__` also resets them.
//! `mount` prints `{"mount": "<directory>", "control": …}`, and `GET <control>/__fault__/NAME` sets what its reads do: `none`,
//! `hang`, `eio` or `estale`.
//! `GET <control>/__throttle__/N` limits a proxy to N bytes per second to its clients (0 stops the traffic, `off` ends
//! the limit).

mod control;

use control::ControlTargets;
use sapwood_testkit::{Behaviour, EmulatedLink, LinkFault, MountedDirectory, Objects, Proxy, Server};
use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

const USAGE: &str = "\
Usage: sapwood-testkit serve --root DIR [options]
       sapwood-testkit proxy --server ADDRESS [options]
       sapwood-testkit mount --files DIR --at DIR [--rtt-ms MS]

Serves the files of a directory on the loopback interface, emulates the distance to another server,
or mounts a directory through FUSE.

  --root DIR        directory to serve
  --server ADDRESS  address and port of a server, such as 127.0.0.1:1094
  --files DIR       directory whose files are mounted
  --at DIR          empty directory to mount them at
  --behaviour NAME  multi (default), single, single-first, single-416, ignore, none
  --max-ranges N    refuse more ranges in one request (status 400)
  --rtt-ms MS       round trip to add (default 0)
  --mbit N          bandwidth in 10^6 bits per second (default 0: no limit)
  --window N        most bytes in flight on each connection, like the window of TCP (default: no limit)
  --loss SHARE      share of packets that are lost; each halves the window of its connection (default 0)
  --close-after N   close each connection after this number of bytes to the client
  --stall-after N   stop the traffic after this number of bytes to the client
";

/// The far end of the link.
enum ProxyTarget {
    Directory(PathBuf),
    Server(SocketAddr),
    Mount { files: PathBuf, at: PathBuf },
}

/// The options of the command line.
struct Options {
    target: ProxyTarget,
    behaviour: Behaviour,
    link: EmulatedLink,
}

impl Options {
    fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Options, String> {
        let wanted = match arguments.next().as_deref() {
            Some("serve") => "--root",
            Some("proxy") => "--server",
            Some("mount") => "--files",
            _ => return Err("the commands are 'serve', 'proxy' and 'mount'".to_owned()),
        };
        let (mut target, mut behaviour, mut link) = (None, Behaviour::default(), EmulatedLink::default());
        while let Some(name) = arguments.next() {
            let value = arguments.next().ok_or_else(|| format!("{name} needs a value"))?;
            let number = || value.parse::<f64>().ok().filter(|n| n.is_finite() && *n >= 0.0);
            let wrong = || format!("'{value}' is not a value for {name}");
            match name.as_str() {
                "--root" if name == wanted => target = Some(ProxyTarget::Directory(PathBuf::from(&value))),
                "--server" if name == wanted => {
                    target = Some(ProxyTarget::Server(value.parse().map_err(|_| wrong())?));
                }
                "--files" if name == wanted => {
                    target = Some(ProxyTarget::Mount { files: PathBuf::from(&value), at: PathBuf::new() });
                }
                "--at" => match &mut target {
                    Some(ProxyTarget::Mount { at, .. }) => *at = PathBuf::from(&value),
                    _ => return Err("--at follows --files".to_owned()),
                },
                "--behaviour" => {
                    let named = Behaviour::named(&value).ok_or_else(wrong)?;
                    behaviour = Behaviour { max_ranges: behaviour.max_ranges, ..named };
                }
                "--max-ranges" => behaviour.max_ranges = value.parse().map_err(|_| wrong())?,
                "--rtt-ms" => {
                    link.round_trip = Duration::from_secs_f64(number().ok_or_else(wrong)? / 1000.0);
                }
                "--mbit" => link.megabits = Some(number().ok_or_else(wrong)?).filter(|n| *n > 0.0),
                "--window" => link.window = Some(value.parse().map_err(|_| wrong())?),
                "--loss" => link.loss = number().filter(|share| *share < 1.0).ok_or_else(wrong)?,
                "--close-after" | "--stall-after" => {
                    let bytes = value.parse().map_err(|_| wrong())?;
                    link.fault = Some(match name.as_str() {
                        "--close-after" => LinkFault::CloseAfter(bytes),
                        _ => LinkFault::StallAfter(bytes),
                    });
                    link.faulty_connections = u64::MAX;
                }
                _ => return Err(format!("there is no option {name}")),
            }
        }
        let target = target.ok_or_else(|| format!("{wanted} is missing"))?;
        Ok(Options { target, behaviour, link })
    }
}

fn main() -> ExitCode {
    let options = match Options::parse(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(message) => {
            eprint!("{message}\n\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    match run(options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("sapwood-testkit: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: Options) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let root = match options.target {
            ProxyTarget::Directory(root) if root.is_dir() => root,
            ProxyTarget::Directory(root) => {
                return Err(io::Error::new(io::ErrorKind::NotADirectory, root.display().to_string()));
            }
            ProxyTarget::Mount { files, at } => {
                let mount = MountedDirectory::mount(&files, &at, options.link.round_trip)?;
                let controlled = ControlTargets { mount: Some(mount.reads()), ..ControlTargets::default() };
                return ready("mount", &at.display().to_string(), control::start(controlled).await?).await;
            }
            ProxyTarget::Server(server) => {
                let proxy = Arc::new(Proxy::start(server, options.link).await?);
                let control = control::start(ControlTargets {
                    proxy: Some(Arc::clone(&proxy)),
                    ..ControlTargets::default()
                });
                let control = control.await?;
                return ready("address", &proxy.address().to_string(), control).await;
            }
        };
        let server = Arc::new(Server::start(Objects::Directory(root), options.behaviour).await?);
        // A link without delay or limit is omitted: it would only cost time.
        let proxy = match options.link == EmulatedLink::default() {
            true => None,
            false => Some(Arc::new(Proxy::start(server.address(), options.link).await?)),
        };
        let url = proxy.as_ref().map_or_else(|| server.url(""), |proxy| proxy.url(""));
        let controlled = ControlTargets { server: Some(server), proxy, ..ControlTargets::default() };
        let control = control::start(controlled).await?;
        ready("url", &url, control).await
    })
}

/// Prints the addresses, and waits until the caller is done.
async fn ready(name: &str, place: &str, control: SocketAddr) -> io::Result<()> {
    writeln!(io::stdout(), r#"{{"{name}": "{place}", "control": "http://{control}"}}"#)?;
    io::stdout().flush()?;
    end_of_input().await
}

/// Waits until the caller closes standard input.
async fn end_of_input() -> io::Result<()> {
    let (sender, ended) = tokio::sync::oneshot::channel();
    // On a separate thread, because a read of standard input cannot be cancelled.
    std::thread::spawn(move || {
        let mut input = io::stdin().lock();
        let mut ignored = [0; 1024];
        while matches!(input.read(&mut ignored), Ok(1..)) {}
        let _ = sender.send(());
    });
    ended.await.map_err(io::Error::other)
}
