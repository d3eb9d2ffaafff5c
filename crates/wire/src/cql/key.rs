//! The partition key of a statement's values.

use super::prepared::Prepared;
use super::statement::Statement;
use super::token::{put_part, token};
use super::value;
use crate::blank::Filler;

impl Statement {
    /// The token of the partition key with this arrival's values; nothing if it is not bound as a whole, or does not fit. `text` and
    /// `key` are written over.
    pub(super) fn token(
        &self,
        prepared: &Prepared,
        filler: &mut impl Filler,
        (text, key): (&mut Vec<u8>, &mut Vec<u8>),
    ) -> Option<i64> {
        key.clear();
        for &number in &*prepared.key {
            let number = usize::from(number);
            let (blank, of) = (self.blanks().get(number)?, *prepared.parameters.get(number)?);
            text.clear();
            blank.write(|place, out| filler.fill(place, out), text);
            let from = key.len();
            if !value::put(of, text, key) {
                return None;
            }
            // The value stands behind its length.
            let written = from + size_of::<u32>();
            if prepared.key.len() == 1 {
                return Some(token(&key[written..]));
            }
            text.clear();
            text.extend_from_slice(&key[written..]);
            key.truncate(from);
            put_part(text, key);
        }
        (!key.is_empty()).then(|| token(key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cql::statement::Options;
    use crate::cql::types::Type;

    struct Numbers;

    impl Filler for Numbers {
        fn fill(&mut self, place: u32, out: &mut Vec<u8>) {
            out.extend(place.to_string().bytes());
        }
    }

    fn of(key: &[u16], parameters: &[Type]) -> Option<i64> {
        let statement = Statement::new("SELECT {{1}}, {{2}}, '{{3}}x'", true, Options::default()).unwrap();
        let prepared = Prepared { parameters: parameters.into(), key: key.into(), ..Prepared::default() };
        let mut dirty = (b"before".to_vec(), b"before".to_vec());
        statement.token(&prepared, &mut Numbers, (&mut dirty.0, &mut dirty.1))
    }

    #[test]
    fn a_key_is_made_of_its_values_in_its_order() {
        let types = [Type::BigInt, Type::Int, Type::Text];
        assert_eq!(of(&[0], &types), Some(token(&1i64.to_be_bytes())));
        assert_eq!(of(&[2], &types), Some(token(b"3x")));
        assert_eq!(of(&[2, 1], &types), Some(token(b"\0\x023x\0\0\x04\0\0\0\x02\0")));
        assert_eq!(of(&[], &types), None);
        assert_eq!(of(&[2], &[Type::Int; 3]), None, "it does not fit");
    }
}
