//! `sapwood-testkit serve`: the server and the proxy, for tests and benchmarks in other languages.
//!
//! Prints one line of JSON when it is ready, `{"url": "http://…", "control": "http://…"}`, and serves until
//! its standard input ends or it is terminated. `GET <control>/__stats__` answers the counts as JSON,
//! `GET <control>/__reset__` answers them and sets them to zero.

mod control;

use sapwood_testkit::{Behaviour, Link, Objects, Proxy, Server};
use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

const USAGE: &str = "\
Usage: sapwood-testkit serve --root DIR [options]

Serves the files of a directory on the loopback interface.

  --behaviour NAME  multi (default), single, single-first, single-416, ignore, none
  --max-ranges N    refuse more ranges in one request (status 400)
  --rtt-ms MS       round trip to add (default 0)
  --mbit N          bandwidth in 10^6 bits per second (default 0: no limit)
";

/// What the command line asks for.
struct Options {
    root: PathBuf,
    behaviour: Behaviour,
    link: Link,
}

impl Options {
    fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Options, String> {
        if arguments.next().as_deref() != Some("serve") {
            return Err("the only command is 'serve'".to_owned());
        }
        let mut root = None;
        let mut options =
            Options { root: PathBuf::new(), behaviour: Behaviour::default(), link: Link::default() };
        while let Some(name) = arguments.next() {
            let value = arguments.next().ok_or_else(|| format!("{name} needs a value"))?;
            let number = || value.parse::<f64>().ok().filter(|n| n.is_finite() && *n >= 0.0);
            let wrong = || format!("'{value}' is not a value for {name}");
            match name.as_str() {
                "--root" => root = Some(PathBuf::from(&value)),
                "--behaviour" => {
                    let max_ranges = options.behaviour.max_ranges;
                    let named = Behaviour::named(&value).ok_or_else(wrong)?;
                    options.behaviour = Behaviour { max_ranges, ..named };
                }
                "--max-ranges" => options.behaviour.max_ranges = value.parse().map_err(|_| wrong())?,
                "--rtt-ms" => {
                    options.link.round_trip = Duration::from_secs_f64(number().ok_or_else(wrong)? / 1000.0);
                }
                "--mbit" => options.link.megabits = Some(number().ok_or_else(wrong)?).filter(|n| *n > 0.0),
                _ => return Err(format!("there is no option {name}")),
            }
        }
        options.root = root.ok_or("--root is missing")?;
        Ok(options)
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
        let root = options.root;
        if !root.is_dir() {
            return Err(io::Error::new(io::ErrorKind::NotADirectory, root.display().to_string()));
        }
        let server = Arc::new(Server::start(Objects::Directory(root), options.behaviour).await?);
        // A link without delay or limit is left out: it would only cost time.
        let proxy = match options.link == Link::default() {
            true => None,
            false => Some(Arc::new(Proxy::start(server.address(), options.link).await?)),
        };
        let url = proxy.as_ref().map_or_else(|| server.url(""), |proxy| proxy.url(""));
        let control = control::start(Arc::clone(&server), proxy.clone()).await?;
        writeln!(io::stdout(), r#"{{"url": "{url}", "control": "http://{control}"}}"#)?;
        io::stdout().flush()?;
        end_of_input().await
    })
}

/// Waits until whoever started the program closes its standard input.
async fn end_of_input() -> io::Result<()> {
    let (sender, ended) = tokio::sync::oneshot::channel();
    // A thread of its own: a read of standard input cannot be given up.
    std::thread::spawn(move || {
        let mut input = io::stdin().lock();
        let mut ignored = [0; 1024];
        while matches!(input.read(&mut ignored), Ok(1..)) {}
        let _ = sender.send(());
    });
    ended.await.map_err(io::Error::other)
}
