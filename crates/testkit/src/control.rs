//! The control port: returns counts as JSON, resets them, throttles the link, and sets the faults of a mount.

use sapwood_testkit::{HttpRequest, MountFault, MountedReads, Proxy, Server, Stats, StatsSnapshot};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};

/// What is controlled: a server and the proxy in front of it, or a mount.
#[derive(Clone, Default)]
pub(crate) struct ControlTargets {
    pub(crate) server: Option<Arc<Server>>,
    pub(crate) proxy: Option<Arc<Proxy>>,
    pub(crate) mount: Option<MountedReads>,
}

/// Starts to serve the control port.
pub(crate) async fn start(controlled: ControlTargets) -> io::Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(serve(stream, controlled.clone()));
        }
    });
    Ok(address)
}

async fn serve(mut stream: TcpStream, controlled: ControlTargets) -> io::Result<()> {
    let ControlTargets { server, proxy, mount } = controlled;
    let mut buffer = Vec::new();
    while let Some(request) = HttpRequest::read(&mut stream, &mut buffer).await? {
        let counts = json(server.as_deref(), proxy.as_deref());
        let (status, body) = match request.path.as_str() {
            "/__stats__" => ("200 OK", counts),
            "/__reset__" => {
                for stats in [server.as_deref().map(Server::stats), proxy.as_deref().map(Proxy::stats)] {
                    stats.into_iter().for_each(Stats::reset);
                }
                ("200 OK", counts)
            }
            path => match throttle(path, proxy.as_deref()) || set_fault(path, mount.as_ref()) {
                true => ("200 OK", counts),
                false => ("404 Not Found", "{}".to_owned()),
            },
        };
        let length = body.len();
        let answer = format!(
            "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
        );
        stream.write_all(answer.as_bytes()).await?;
    }
    Ok(())
}

/// Throttles the proxy if the path is `/__throttle__/BYTES_PER_SECOND`, or ends with `off`.
fn throttle(path: &str, proxy: Option<&Proxy>) -> bool {
    let rate = path.strip_prefix("/__throttle__/").and_then(|said| match said {
        "off" => Some(None),
        number => number.parse().ok().map(Some),
    });
    match (proxy, rate) {
        (Some(proxy), Some(rate)) => proxy.throttle(rate),
        _ => return false,
    }
    true
}

/// Sets the fault of the mount if the path is `/__fault__/NAME`.
fn set_fault(path: &str, mount: Option<&MountedReads>) -> bool {
    let fault = path.strip_prefix("/__fault__/").and_then(MountFault::named);
    let (Some(mount), Some(fault)) = (mount, fault) else { return false };
    mount.set_fault(fault);
    true
}

/// Requests and ranges at the server; connections, round trips and bytes at the client's end.
fn json(server: Option<&Server>, proxy: Option<&Proxy>) -> String {
    let server = server.map(Server::stats).map(Stats::snapshot).unwrap_or_default();
    let StatsSnapshot { requests, ranges, .. } = server;
    let client_end = proxy.map_or(server, |proxy| proxy.stats().snapshot());
    let StatsSnapshot { connections, round_trips, bytes_sent, .. } = client_end;
    format!(
        r#"{{"requests": {requests}, "ranges": {ranges}, "connections": {connections}, "round_trips": {round_trips}, "bytes_sent": {bytes_sent}}}"#
    )
}
