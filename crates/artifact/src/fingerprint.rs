//! Whether two texts are the same one, without keeping them.

use serde::Serialize;

/// FNV-1a, 64 bits (Fowler, Noll, Vo), in hexadecimal digits.
pub fn fingerprint(text: &str) -> String {
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{hash:016x}")
}

/// Of `value` as JSON.
pub(crate) fn fingerprint_of(value: &impl Serialize) -> String {
    fingerprint(&serde_json::to_string(value).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_authors_own_test_vectors() {
        let found = ["", "a", "foobar"].map(fingerprint);
        assert_eq!(found, ["cbf29ce484222325", "af63dc4c8601ec8c", "85944171f73967e8"]);
    }
}
