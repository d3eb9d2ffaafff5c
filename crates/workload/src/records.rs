//! Records as YCSB's core workload has them: what their keys are called, and what they hold.

use crate::decimal::decimal;
use crate::draws::Draws;
use crate::ycsb::hashed;
use unblink_core::arrival::Key;

/// How a record's number becomes its key: `user6284781860667377211`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KeyNames {
    /// `user` is followed by the number itself, not by its hash.
    pub is_ordered: bool,
    /// Digits at the least; missing ones are zeros in front.
    pub digits: u8,
}

impl KeyNames {
    /// Appends the key of the record `number`.
    #[inline]
    pub fn write(self, number: u64, out: &mut Vec<u8>) {
        out.extend_from_slice(b"user");
        let from = out.len();
        decimal(if self.is_ordered { number } else { hashed(number) }, out);
        let missing = usize::from(self.digits).saturating_sub(out.len() - from);
        for _ in 0..missing {
            out.push(b'0');
        }
        out[from..].rotate_right(missing);
    }

    /// Appends the score of the record `number` in the index of YCSB's binding for Redis: its key's `hashCode` in Java.
    #[inline]
    pub fn write_score(self, number: u64, out: &mut Vec<u8>) {
        let from = out.len();
        self.write(number, out);
        let score = java_hash(&out[from..]);
        out.truncate(from);
        if score < 0 {
            out.push(b'-');
        }
        decimal(u64::from(score.unsigned_abs()), out);
    }
}

/// `String.hashCode` of a text in ASCII.
fn java_hash(text: &[u8]) -> i32 {
    text.iter().fold(0i32, |hash, &byte| hash.wrapping_mul(31).wrapping_add(i32::from(byte)))
}

/// Appends what the field number `field` of the record `number` is filled with: `length` letters, digits, - and _, the same for
/// the same seed.
pub fn content(seed: u64, number: u64, field: u32, length: usize, out: &mut Vec<u8>) {
    const LETTERS: &[u8; 64] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
    let key = Key { unit: number, step: field, ..Key::default() };
    let mut draws = Draws::new(Draws::seed_of(seed, "records"), key);
    let mut left = length;
    while left > 0 {
        let (mut bits, n) = (draws.next_u64(), left.min(10));
        for _ in 0..n {
            out.push(LETTERS[(bits & 63) as usize]);
            bits >>= 6;
        }
        left -= n;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(write: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = b"|".to_vec();
        write(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn keys_are_called_as_by_ycsb() {
        let hashed = KeyNames { is_ordered: false, digits: 1 };
        assert_eq!(text(|out| hashed.write(0, out)), "|user6284781860667377211");
        let wide = KeyNames { is_ordered: false, digits: 22 };
        assert_eq!(text(|out| wide.write(1, out)), "|user0008517097267634966620");
        let ordered = KeyNames { is_ordered: true, digits: 4 };
        assert_eq!(text(|out| ordered.write(42, out)), "|user0042");
        assert_eq!(text(|out| ordered.write(123_456, out)), "|user123456");
    }

    /// By hand: "user1".hashCode() of Java is 111578566, and "polygenelubricants" has the least of all.
    #[test]
    fn scores_are_the_hash_codes_of_java() {
        assert_eq!(java_hash(b"user1"), 111_578_566);
        assert_eq!(java_hash(b"polygenelubricants"), i32::MIN);
        let ordered = KeyNames { is_ordered: true, digits: 1 };
        assert_eq!(text(|out| ordered.write_score(1, out)), "|111578566");
    }

    #[test]
    fn a_field_is_the_same_again_and_differs_from_others() {
        let of = |seed, number, field| text(|out| content(seed, number, field, 100, out));
        assert_eq!(of(1, 7, 3), of(1, 7, 3));
        assert_eq!(of(1, 7, 3).len(), 101);
        for (seed, number, field) in [(2, 7, 3), (1, 8, 3), (1, 7, 4)] {
            assert_ne!(of(1, 7, 3), of(seed, number, field));
        }
    }
}
