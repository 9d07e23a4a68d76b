//! Serves a folder like a web server: files only, no listings, nothing outside.
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, Result};

/// Serves a folder on a free port until the test's process ends.
pub struct Server {
    address: String,
}

impl Server {
    /// Starts the server.
    ///
    /// # Errors
    /// If no port is free.
    pub fn start(folder: &Path) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").context("no port on this machine")?;
        let address = format!("http://{}/", listener.local_addr()?);
        let folder = folder.to_path_buf();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let folder = folder.clone();
                // A browser that closes the connection early is not the page's fault.
                std::thread::spawn(move || answer(stream, &folder).ok());
            }
        });
        Ok(Self { address })
    }

    /// The address, with a slash at the end.
    pub fn address(&self) -> &str {
        &self.address
    }
}

/// Answers all requests of a connection. What pages load may be cached, as from a real server: a page loads many small files.
fn answer(mut stream: TcpStream, folder: &Path) -> std::io::Result<()> {
    let mut lines = BufReader::new(stream.try_clone()?).lines();
    while let Some(request) = lines.next().transpose()? {
        // The rest of the request header is irrelevant, but must be read.
        for line in lines.by_ref() {
            if line?.is_empty() {
                break;
            }
        }
        let path = request.split(' ').nth(1).unwrap_or_default();
        let file = file(folder, path);
        let (status, kind, body) =
            match file.and_then(|file| Some((kind(&file), std::fs::read(file).ok()?))) {
                Some((kind, body)) => ("200 OK", kind, body),
                None => ("404 Not Found", "text/plain", Vec::new()),
            };
        let seconds = if kind.contains("html") { 0 } else { 3600 };
        let header = format!(
            "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nCache-Control: max-age={seconds}\r\n\r\n",
            body.len()
        );
        // One write, so that a small file is one packet.
        stream.write_all(&[header.as_bytes(), &body].concat())?;
    }
    Ok(())
}

/// The file of a request's path; `None` outside the folder.
fn file(folder: &Path, path: &str) -> Option<PathBuf> {
    let path = path.split(['?', '#']).next()?.trim_start_matches('/');
    let path = Path::new(if path.is_empty() { "index.html" } else { path });
    let is_inside = path
        .components()
        .all(|part| matches!(part, Component::Normal(_)));
    is_inside.then(|| folder.join(path))
}

fn kind(file: &Path) -> &'static str {
    match file.extension().and_then(|extension| extension.to_str()) {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some("json") => "application/json",
        Some("woff2") => "font/woff2",
        Some("txt") => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}
