//! Key pairs of the bus, as Secrets. Everything else names the public keys by these, so that it is the same whatever they are.

use super::object::Object;
use anyhow::{Context, Result};
use serde_json::json;
use unblink_cluster::signed::KeyPair;

/// In each Secret: the private key, and the public one.
pub(super) const PRIVATE: &str = "nkey";
pub(super) const PUBLIC: &str = "public";

/// What the Secrets are called in words, which names their files.
pub(super) const SECRETS: [&str; 2] = ["secret-operator", "secret-agent"];

/// Private and public key of who leads, and of who is led.
pub(super) struct Keys {
    operator: [String; 2],
    agent: [String; 2],
}

impl Keys {
    /// Which nobody had before.
    pub(super) fn new() -> Result<Keys> {
        let pair = || {
            let pair = KeyPair::new_user();
            let seed = pair.seed().context("a new key pair has a private key")?;
            anyhow::Ok([seed, pair.public_key()])
        };
        Ok(Keys { operator: pair()?, agent: pair()? })
    }

    pub(super) fn secrets(&self, name: &str, own: impl Fn(Object) -> Object) -> Vec<Object> {
        let secret = |(what, (name, [private, public])): (&str, (String, &[String; 2]))| {
            let value = json!({
                "apiVersion": "v1",
                "kind": "Secret",
                "metadata": {"name": name},
                "type": "Opaque",
                "stringData": {PRIVATE: private, PUBLIC: public},
            });
            own(Object::new(what, value))
        };
        let pairs = [(operator(name), &self.operator), (agent(name), &self.agent)];
        SECRETS.into_iter().zip(pairs).map(secret).collect()
    }
}

/// The Secret of who leads.
pub(super) fn operator(name: &str) -> String {
    format!("{name}-operator")
}

/// The Secret of who is led.
pub(super) fn agent(name: &str) -> String {
    format!("{name}-agent")
}
