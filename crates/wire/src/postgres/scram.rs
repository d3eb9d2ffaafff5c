//! SCRAM-SHA-256 (RFC 5802, RFC 7677) without channel binding, from the client's side.

use super::fault::Fault;
use aws_lc_rs::digest::{SHA256, digest};
use aws_lc_rs::{constant_time, hmac, pbkdf2};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use std::borrow::Cow;
use std::num::NonZeroU32;
use std::sync::Mutex;

/// The name of the method.
pub(super) const NAME: &str = "SCRAM-SHA-256";

/// A second of work at the most: a server may ask for any number.
const ITERATIONS_MAX: u32 = 1_000_000;

/// Different salts that are remembered. A server has one for each role.
const KEYS_MAX: usize = 8;

type Key = [u8; 32];

/// Keys that were derived from the password. Deriving one takes about a millisecond, so connections share it.
#[derive(Default)]
pub(super) struct Keys(Mutex<Vec<Derived>>);

/// A key, and what it was derived by.
struct Derived {
    salt: Box<[u8]>,
    iterations: u32,
    key: Key,
}

impl Keys {
    /// The key of `password` by this salt.
    fn key(&self, password: &str, salt: &[u8], iterations: NonZeroU32) -> Key {
        let mut known = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let same = |one: &&Derived| *one.salt == *salt && one.iterations == iterations.get();
        if let Some(derived) = known.iter().find(same) {
            return derived.key;
        }
        // As RFC 7613 has it; what it forbids is taken as it stands, as PostgreSQL does.
        let prepared = stringprep::saslprep(password).unwrap_or(Cow::Borrowed(password));
        let mut key = [0; 32];
        pbkdf2::derive(pbkdf2::PBKDF2_HMAC_SHA256, iterations, salt, prepared.as_bytes(), &mut key);
        if known.len() == KEYS_MAX {
            known.remove(0);
        }
        known.push(Derived { salt: salt.into(), iterations: iterations.get(), key });
        key
    }
}

/// One login.
#[derive(Debug)]
pub(super) struct Scram {
    nonce: String,
    /// What the server has to say at the end, once that is known.
    signature: Option<Key>,
}

impl Scram {
    pub(super) fn new(nonce: String) -> Scram {
        Scram { nonce, signature: None }
    }

    fn first_bare(&self) -> String {
        // PostgreSQL takes the name from the first message of the connection.
        format!("n=,r={}", self.nonce)
    }

    /// What the client says first.
    pub(super) fn first(&self) -> String {
        format!("n,,{}", self.first_bare())
    }

    /// What it says to the server's challenge.
    pub(super) fn last(&mut self, challenge: &[u8], password: &str, keys: &Keys) -> Result<String, Fault> {
        let challenge = std::str::from_utf8(challenge).map_err(|_| Fault::ScramMalformed)?;
        let mut fields = challenge.split(',');
        let mut field = |name: &str| {
            fields.next().and_then(|field| field.strip_prefix(name)).ok_or(Fault::ScramMalformed)
        };
        let (nonce, salt, iterations) = (field("r=")?, field("s=")?, field("i=")?);
        if !nonce.starts_with(&self.nonce) || nonce.len() == self.nonce.len() {
            return Err(Fault::ScramNonce);
        }
        let salt = STANDARD.decode(salt).map_err(|_| Fault::ScramMalformed)?;
        let iterations: u32 = match iterations.parse() {
            Ok(iterations) => iterations,
            Err(_) if iterations.bytes().all(|byte| byte.is_ascii_digit()) => {
                return Err(Fault::ScramIterations);
            }
            Err(_) => return Err(Fault::ScramMalformed),
        };
        let iterations = NonZeroU32::new(iterations).filter(|n| n.get() <= ITERATIONS_MAX);
        let salted = keys.key(password, &salt, iterations.ok_or(Fault::ScramIterations)?);
        // "biws" is "n,,".
        let without_proof = format!("c=biws,r={nonce}");
        let said = format!("{},{challenge},{without_proof}", self.first_bare());
        let client_key = sign(&salted, b"Client Key");
        let stored_key = digest(&SHA256, &client_key);
        let client_signature = sign(stored_key.as_ref(), said.as_bytes());
        let mut proof = client_key;
        proof.iter_mut().zip(client_signature).for_each(|(byte, other)| *byte ^= other);
        self.signature = Some(sign(&sign(&salted, b"Server Key"), said.as_bytes()));
        Ok(format!("{without_proof},p={}", STANDARD.encode(proof)))
    }

    /// The server's last word proves that it knows the password.
    pub(super) fn check(&self, last: &[u8]) -> Result<(), Fault> {
        let expected = self.signature.ok_or(Fault::ScramMalformed)?;
        if last.starts_with(b"e=") {
            return Err(Fault::PasswordWrong);
        }
        let signature = last.strip_prefix(b"v=").ok_or(Fault::ScramMalformed)?;
        let signature = signature.split(|&byte| byte == b',').next().unwrap_or_default();
        let signature = STANDARD.decode(signature).map_err(|_| Fault::ScramMalformed)?;
        constant_time::verify_slices_are_equal(&expected, &signature).map_err(|_| Fault::ScramSignature)
    }
}

fn sign(key: &[u8], text: &[u8]) -> Key {
    let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), text);
    let mut signed = [0; 32];
    signed.copy_from_slice(tag.as_ref());
    signed
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 7677 §3, whose client names a user: all that is derived from the texts is checked against it.
    #[test]
    fn the_keys_are_those_of_the_rfc() {
        let salt = STANDARD.decode("W22ZaJ0SNY7soEsUEjb6gQ==").unwrap();
        let salted = Keys::default().key("pencil", &salt, NonZeroU32::new(4096).unwrap());
        let said = "n=user,r=rOprNGfwEbeRWgbNEkqO,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,\
            s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096,c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0";
        let server = sign(&sign(&salted, b"Server Key"), said.as_bytes());
        assert_eq!(STANDARD.encode(server), "6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=");
        let client_key = sign(&salted, b"Client Key");
        let mut proof = sign(digest(&SHA256, &client_key).as_ref(), said.as_bytes());
        proof.iter_mut().zip(client_key).for_each(|(byte, other)| *byte ^= other);
        assert_eq!(STANDARD.encode(proof), "dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=");
    }

    #[test]
    fn what_a_server_must_not_say_is_refused() {
        let (keys, salt) = (Keys::default(), STANDARD.encode("salt"));
        for (challenge, fault) in [
            (format!("r=other,s={salt},i=1"), Fault::ScramNonce),
            (format!("r=mine,s={salt},i=1"), Fault::ScramNonce),
            (format!("r=mine2,s={salt},i=0"), Fault::ScramIterations),
            (format!("r=mine2,s={salt},i=1000001"), Fault::ScramIterations),
            (format!("r=mine2,s={salt},i=99999999999999"), Fault::ScramIterations),
            (format!("r=mine2,s={salt},i=x"), Fault::ScramMalformed),
            ("r=mine2,s=***,i=1".into(), Fault::ScramMalformed),
            ("r=mine2".into(), Fault::ScramMalformed),
            (format!("m=x,r=mine2,s={salt},i=1"), Fault::ScramMalformed),
        ] {
            let mut scram = Scram::new("mine".into());
            assert_eq!(scram.last(challenge.as_bytes(), "p", &keys).unwrap_err(), fault, "{challenge}");
        }
        let mut scram = Scram::new("mine".into());
        assert_eq!(scram.check(b"v="), Err(Fault::ScramMalformed), "before the challenge");
        scram.last(format!("r=mine2,s={salt},i=1").as_bytes(), "p", &keys).unwrap();
        assert_eq!(scram.check(b"v=AAAA"), Err(Fault::ScramSignature));
        assert_eq!(scram.check(b"e=invalid-proof"), Err(Fault::PasswordWrong));
        assert_eq!(scram.check(b"v=*"), Err(Fault::ScramMalformed));
    }
}
