//! The control port: counts as JSON, and setting them to zero.

use sapwood_testkit::{Proxy, Request, Server, StatsSnapshot};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};

/// Starts to serve the counts of a server and of the proxy before it, if there is one.
pub(crate) async fn start(server: Arc<Server>, proxy: Option<Arc<Proxy>>) -> io::Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(serve(stream, Arc::clone(&server), proxy.clone()));
        }
    });
    Ok(address)
}

async fn serve(mut stream: TcpStream, server: Arc<Server>, proxy: Option<Arc<Proxy>>) -> io::Result<()> {
    let mut buffer = Vec::new();
    while let Some(request) = Request::read(&mut stream, &mut buffer).await? {
        let counts = json(&server, proxy.as_deref());
        let (status, body) = match request.path.as_str() {
            "/__stats__" => ("200 OK", counts),
            "/__reset__" => {
                server.stats().reset();
                if let Some(proxy) = &proxy {
                    proxy.stats().reset();
                }
                ("200 OK", counts)
            }
            _ => ("404 Not Found", "{}".to_owned()),
        };
        let length = body.len();
        let answer = format!(
            "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
        );
        stream.write_all(answer.as_bytes()).await?;
    }
    Ok(())
}

/// Requests and ranges as the server saw them; connections, turnarounds and bytes at the client's end.
fn json(server: &Server, proxy: Option<&Proxy>) -> String {
    let StatsSnapshot { requests, ranges, .. } = server.stats().snapshot();
    let client_end = proxy.map_or_else(|| server.stats(), Proxy::stats);
    let StatsSnapshot { connections, turnarounds, bytes_sent, .. } = client_end.snapshot();
    format!(
        r#"{{"requests": {requests}, "ranges": {ranges}, "connections": {connections}, "turnarounds": {turnarounds}, "bytes_sent": {bytes_sent}}}"#
    )
}
