//! Words that only the holder of a key can have said: Ed25519 by the key pairs of NATS (nkeys).

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
pub use nkeys::KeyPair;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// A text, and who vouches for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Signed {
    /// The public key, `U…`.
    pub by: String,
    /// JSON.
    pub text: String,
    /// Over the bytes of the text, in base64.
    pub signature: String,
}

/// Why something signed is not believed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SignedError {
    /// Its signer is none of those whose word counts.
    #[error("it is signed by {0}, whose word does not count here")]
    Stranger(String),
    /// The signature is not that of the text.
    #[error("its signature is not that of its text")]
    Forged,
    /// The text says nothing that is understood.
    #[error("it is not understood: {0}")]
    Unreadable(String),
}

/// Signs `what`.
///
/// # Errors
/// The key pair has no private part.
pub fn sign(what: &impl Serialize, by: &KeyPair) -> Result<Signed, nkeys::error::Error> {
    // Types of this crate, which all have a JSON.
    let text = serde_json::to_string(what).unwrap_or_default();
    let signature = BASE64_STANDARD.encode(by.sign(text.as_bytes())?);
    Ok(Signed { by: by.public_key(), text, signature })
}

impl Signed {
    /// What it says, if one of `trusted` says it.
    ///
    /// # Errors
    /// It is a stranger's, forged, or not understood.
    pub fn read<T: DeserializeOwned>(&self, trusted: &[String]) -> Result<T, SignedError> {
        if !trusted.contains(&self.by) {
            return Err(SignedError::Stranger(self.by.clone()));
        }
        let signature = BASE64_STANDARD.decode(&self.signature).map_err(|_| SignedError::Forged)?;
        let key = KeyPair::from_public_key(&self.by).map_err(|_| SignedError::Forged)?;
        key.verify(self.text.as_bytes(), &signature).map_err(|_| SignedError::Forged)?;
        serde_json::from_str(&self.text).map_err(|error| SignedError::Unreadable(error.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_who_is_trusted_is_believed_and_only_what_was_said() {
        let (operator, stranger) = (KeyPair::new_user(), KeyPair::new_user());
        let trusted = [operator.public_key()];
        let said = sign(&vec![1, 2], &operator).expect("a signature");
        assert_eq!(said.read::<Vec<u32>>(&trusted), Ok(vec![1, 2]));
        let forged = Signed { text: "[1,3]".into(), ..said.clone() };
        assert_eq!(forged.read::<Vec<u32>>(&trusted), Err(SignedError::Forged));
        let cut = Signed { signature: "AA".into(), ..said.clone() };
        assert_eq!(cut.read::<Vec<u32>>(&trusted), Err(SignedError::Forged));
        let other = sign(&vec![1, 2], &stranger).expect("a signature");
        assert_eq!(other.read::<Vec<u32>>(&trusted), Err(SignedError::Stranger(stranger.public_key())));
        let borrowed = Signed { by: operator.public_key(), ..other };
        assert_eq!(borrowed.read::<Vec<u32>>(&trusted), Err(SignedError::Forged));
        assert!(matches!(said.read::<String>(&trusted), Err(SignedError::Unreadable(_))));
    }
}
