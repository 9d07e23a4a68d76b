//! Chromium's DevTools protocol: numbered calls, answers with the same number, and events in between.
use std::io::ErrorKind;
use std::net::TcpStream;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use tungstenite::{Error, Message, WebSocket};

/// A call without an answer for this long fails. Generous, since the machine may be busy; longer than a script waits (`script::wait_until`).
const PATIENCE: Duration = Duration::from_secs(300);

/// A connection to the browser. Each page has a session of the connection.
pub struct Connection {
    socket: WebSocket<TcpStream>,
    calls: u64,
    events: Vec<Value>,
}

impl Connection {
    /// Connects to `ws://host:port/…`.
    ///
    /// # Errors
    /// If nothing listens there.
    pub fn open(address: &str) -> Result<Self> {
        let host = address
            .strip_prefix("ws://")
            .and_then(|rest| rest.split('/').next())
            .with_context(|| format!("{address} is not a ws:// address"))?;
        let stream = TcpStream::connect(host).with_context(|| format!("cannot reach {host}"))?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let (socket, _) = tungstenite::client(address, stream)
            .map_err(|error| anyhow::anyhow!("{address}: {error}"))?;
        Ok(Self {
            socket,
            calls: 0,
            events: Vec::new(),
        })
    }

    /// Calls a method and waits for its answer.
    ///
    /// # Errors
    /// If the browser refuses, or does not answer.
    pub fn call(
        &mut self,
        session: Option<&str>,
        method: &str,
        parameters: Value,
    ) -> Result<Value> {
        self.calls += 1;
        let id = self.calls;
        let mut message = json!({ "id": id, "method": method, "params": parameters });
        if let Some(session) = session {
            message["sessionId"] = session.into();
        }
        self.socket.send(Message::text(message.to_string()))?;
        loop {
            let mut message = self.receive().with_context(|| method.to_string())?;
            if message["id"] != id {
                self.events.push(message);
            } else if let Some(error) = message.get("error") {
                bail!("{method}: {error}");
            } else {
                return Ok(message["result"].take());
            }
        }
    }

    /// Waits for an event of this name in the session, counted from the last [`Self::drain`].
    ///
    /// # Errors
    /// If it does not occur.
    pub fn wait_for(&mut self, session: &str, event: &str) -> Result<()> {
        let is_it = |found: &Value| found["method"] == event && found["sessionId"] == session;
        while !self.events.iter().any(is_it) {
            let message = self.receive().with_context(|| event.to_string())?;
            self.events.push(message);
        }
        Ok(())
    }

    /// Returns and forgets all events so far.
    pub fn drain(&mut self) -> Vec<Value> {
        std::mem::take(&mut self.events)
    }

    fn receive(&mut self) -> Result<Value> {
        loop {
            let message = match self.socket.read() {
                // A read with a time limit ends early when the process is stopped and goes on.
                Err(Error::Io(error)) if error.kind() == ErrorKind::Interrupted => continue,
                read => read.context("the browser does not answer")?,
            };
            match message {
                Message::Text(text) => return Ok(serde_json::from_str(&text)?),
                Message::Close(_) => bail!("the browser has hung up"),
                _ => {}
            }
        }
    }
}
