//! An API server with endless responses, over plain HTTP with one thread per connection, so that a client that stops reading
//! stops it.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use serde_json::json;

/// A node with that name, and its pods unless others are requested.
pub fn start(node: &'static str) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            // The client goes away in the middle of every answer.
            std::thread::spawn(move || _ = serve(stream, node));
        }
    });
    address
}

fn serve(stream: TcpStream, node: &str) -> std::io::Result<()> {
    let mut lines = BufReader::new(stream.try_clone()?).lines();
    loop {
        let Some(request) = lines.next() else { return Ok(()) };
        let path = request?.split(' ').nth(1).unwrap_or_default().to_owned();
        while lines.next().transpose()?.is_some_and(|line| !line.is_empty()) {}
        answer(&stream, &path, node)?;
    }
}

fn answer(mut to: &TcpStream, path: &str, node: &str) -> std::io::Result<()> {
    let watch = path.contains("watch=1");
    match path.split('?').next().unwrap_or_default() {
        // One page after another, each of other events.
        "/api/v1/events" if !watch => {
            let from: usize = path.split("continue=").nth(1).and_then(|at| at.parse().ok()).unwrap_or(0);
            let items: Vec<_> = (from..from + 500).map(event).collect();
            let more = (from + 500).to_string();
            whole(to, &json!({"kind": "EventList", "metadata": meta(&more), "items": items}).to_string())
        }
        // A watch of ever new events.
        "/api/v1/events" => {
            head(to)?;
            (0..)
                .try_for_each(|n| chunk(to, &format!("{}\n", json!({"type": "ADDED", "object": event(n + 1_000_000)}))))
        }
        // A page without an end.
        "/api/v1/pods" if path.ends_with("spec.nodeName%3D") => {
            head(to)?;
            chunk(to, r#"{"kind":"PodList","metadata":{"resourceVersion":"1"},"items":["#)?;
            (0..).try_for_each(|n| {
                let pods: Vec<_> = (0..100).map(|i| pod(n * 100 + i, "").to_string()).collect();
                chunk(to, &format!("{},", pods.join(",")))
            })
        }
        "/api/v1/pods" if !watch => {
            let items = [pod(0, node), pod(1, node)];
            whole(to, &json!({"kind": "PodList", "metadata": meta(""), "items": items}).to_string())
        }
        // One line without an end.
        "/api/v1/pods" => {
            head(to)?;
            chunk(to, r#"{"type":"ADDED","object":{"kind":"Pod","metadata":{"name":""#)?;
            (0..).try_for_each(|_: u64| chunk(to, &"x".repeat(64 << 10)))
        }
        "/api/v1/nodes" if !watch => {
            let items = [json!({"metadata": {"name": node, "uid": "n"}, "status": {}})];
            whole(to, &json!({"kind": "NodeList", "metadata": meta(""), "items": items}).to_string())
        }
        // A single object of the given size, sent slowly.
        "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases" => {
            to.write_all(
                b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 1099511627776\r\n\r\n",
            )?;
            loop {
                to.write_all(b" ")?;
                std::thread::sleep(Duration::from_millis(20));
            }
        }
        _ => {
            head(to)?;
            std::thread::sleep(Duration::from_secs(600));
            Ok(())
        }
    }
}

fn meta(more: &str) -> serde_json::Value {
    json!({"resourceVersion": "1", "continue": more})
}

fn event(n: usize) -> serde_json::Value {
    json!({"metadata": {"name": format!("e{n}"), "namespace": "flood", "uid": format!("event-{n}"),
            "creationTimestamp": "2026-03-01T12:00:00Z"},
        "involvedObject": {"kind": "Pod", "namespace": "flood", "name": format!("pod-{n}"), "uid": format!("uid-{n}")},
        "reason": "Flood", "message": "x".repeat(3900), "type": "Warning", "count": 1})
}

fn pod(n: usize, node: &str) -> serde_json::Value {
    json!({"metadata": {"name": format!("p{n}"), "namespace": "flood", "uid": format!("pod-{n}")},
        "spec": {"nodeName": node, "containers": [{"name": "a", "image": "b"}]}, "status": {"phase": "Pending", "message": "x".repeat(if node.is_empty() { 3900 } else { 0 })}})
}

fn head(mut to: &TcpStream) -> std::io::Result<()> {
    to.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n")
}

fn chunk(mut to: &TcpStream, text: &str) -> std::io::Result<()> {
    to.write_all(format!("{:x}\r\n{text}\r\n", text.len()).as_bytes())
}

fn whole(mut to: &TcpStream, body: &str) -> std::io::Result<()> {
    let head = format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n", body.len());
    to.write_all((head + body).as_bytes())
}
