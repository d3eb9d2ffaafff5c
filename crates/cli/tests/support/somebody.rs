//! Somebody on a bus who speaks its protocol by hand, and says what no agent and no coordinator would.

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;
use unblink_cluster::signed::KeyPair;

/// Somebody on the bus.
pub(crate) struct Somebody {
    stream: BufReader<TcpStream>,
}

impl Somebody {
    /// Gets onto the bus, or hears why not.
    pub(crate) fn join(url: &str, key: Option<&KeyPair>) -> Result<Somebody, String> {
        let stream = TcpStream::connect(url.trim_start_matches("nats://")).expect("it listens");
        stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a time");
        let mut stream = BufReader::new(stream);
        let mut info = String::new();
        stream.read_line(&mut info).expect("it speaks first");
        let info: Value = serde_json::from_str(info.trim_start_matches("INFO ")).expect("JSON");
        let mut connect =
            json!({"verbose": false, "pedantic": false, "lang": "test", "version": "1", "protocol": 1});
        if let Some(key) = key {
            let nonce = info["nonce"].as_str().expect("it asks for a signature");
            connect["nkey"] = key.public_key().into();
            connect["sig"] =
                BASE64_URL_SAFE_NO_PAD.encode(key.sign(nonce.as_bytes()).expect("a signature")).into();
        }
        let mut somebody = Somebody { stream };
        match somebody.says(&format!("CONNECT {connect}\r\n")) {
            None => Ok(somebody),
            Some(refused) => Err(refused),
        }
    }

    /// What the bus has against it, if it has.
    fn says(&mut self, command: &str) -> Option<String> {
        self.stream.get_mut().write_all(format!("{command}PING\r\n").as_bytes()).expect("it is heard");
        let mut refused = None;
        loop {
            let mut line = String::new();
            let read = self.stream.read_line(&mut line);
            if line.starts_with("-ERR") {
                refused = Some(line.trim().to_string());
            }
            if line.starts_with("PONG") || !read.is_ok_and(|bytes| bytes > 0) {
                return refused;
            }
        }
    }

    pub(crate) fn publishes(&mut self, subject: &str) -> Option<String> {
        self.says(&format!("PUB {subject} 2\r\n{{}}\r\n"))
    }

    pub(crate) fn listens(&mut self, subject: &str) -> Option<String> {
        self.says(&format!("SUB {subject} 7\r\nUNSUB 7\r\n"))
    }

    /// Says it, whatever the bus has against it.
    pub(crate) fn tells(&mut self, subject: &str, what: &impl Serialize) {
        let text = serde_json::to_string(what).expect("JSON");
        let command = format!("PUB {subject} {}\r\n{text}\r\n", text.len());
        self.stream.get_mut().write_all(command.as_bytes()).expect("it is heard");
    }

    /// From now on [`Somebody::hears`] what is said there.
    pub(crate) fn listens_to(&mut self, subject: &str) {
        self.stream.get_mut().write_all(format!("SUB {subject} 1\r\n").as_bytes()).expect("it is heard");
    }

    /// Waits for what is said next. Gives the subject, and what it was.
    pub(crate) fn hears<T: DeserializeOwned>(&mut self) -> (String, T) {
        loop {
            let mut line = String::new();
            let read = self.stream.read_line(&mut line).expect("somebody speaks");
            assert!(read > 0, "the bus has closed the connection");
            if line.starts_with("PING") {
                self.stream.get_mut().write_all(b"PONG\r\n").expect("it is heard");
            }
            let Some(said) = line.strip_prefix("MSG ") else { continue };
            let words: Vec<&str> = said.split_whitespace().collect();
            let length: usize = words.last().and_then(|word| word.parse().ok()).expect("a length");
            let mut text = vec![0; length + 2];
            self.stream.read_exact(&mut text).expect("all of it");
            return (words[0].to_string(), serde_json::from_slice(&text[..length]).expect("JSON"));
        }
    }
}
