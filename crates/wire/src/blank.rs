//! Requests with places that are filled in for each arrival.
//!
//! In the parts of a [`RequestBuilder`](crate::RequestBuilder), such a place is written `{{N}}`, with the number that the
//! [`Filler`] knows it by. Whoever renders requests this way writes nothing else with two braces.

use crate::Whole;

/// Writes what differs from one arrival to the next.
pub trait Filler {
    /// Appends what stands in the place of that number, encoded as the place needs it.
    fn fill(&mut self, place: u32, out: &mut Vec<u8>);

    /// What is known of a request all of which stands in one place; nothing where the request itself knows it.
    #[inline]
    fn whole(&self) -> Option<Whole> {
        None
    }

    /// For how many nanoseconds the answer will be waited for, where that is known.
    #[inline]
    fn left_ns(&self) -> Option<u64> {
        None
    }
}

/// For requests that are always the same.
#[derive(Clone, Copy, Debug, Default)]
pub struct NothingToFill;

impl Filler for NothingToFill {
    fn fill(&mut self, _: u32, _: &mut Vec<u8>) {}
}

/// Text with gaps.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Blank {
    text: Box<[u8]>,
    gaps: Box<[Gap]>,
}

/// A gap in a text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Gap {
    /// Bytes of the text that stand before it.
    at: u32,
    place: u32,
}

impl Blank {
    /// Finds the places in `text`; what is no place stays as it is.
    pub fn new(text: &[u8]) -> Blank {
        let (mut kept, mut gaps) = (Vec::with_capacity(text.len()), Vec::new());
        let mut rest = text;
        while !rest.is_empty() {
            match place_at(rest) {
                Some((place, length)) => {
                    gaps.push(Gap { at: kept.len() as u32, place });
                    rest = &rest[length..];
                }
                None => {
                    kept.push(rest[0]);
                    rest = &rest[1..];
                }
            }
        }
        Blank { text: kept.into(), gaps: gaps.into() }
    }

    /// Has it anything to be filled in?
    pub fn has_gaps(&self) -> bool {
        !self.gaps.is_empty()
    }

    /// The place that all of it is.
    pub fn only_place(&self) -> Option<u32> {
        match (&*self.text, &*self.gaps) {
            ([], [gap]) => Some(gap.place),
            _ => None,
        }
    }

    /// What stands around the gaps.
    pub fn text(&self) -> &[u8] {
        &self.text
    }

    /// Appends the text, with its gaps filled in.
    #[inline]
    pub fn write(&self, mut fill: impl FnMut(u32, &mut Vec<u8>), out: &mut Vec<u8>) {
        let mut from = 0;
        for &Gap { at, place } in &self.gaps {
            out.extend_from_slice(&self.text[from..at as usize]);
            from = at as usize;
            fill(place, out);
        }
        out.extend_from_slice(&self.text[from..]);
    }
}

/// The number that `filler` writes into `place`, as far as its digits say one. `scratch` is as long as before.
#[inline]
pub(crate) fn number_in(place: u32, filler: &mut impl Filler, scratch: &mut Vec<u8>) -> usize {
    let from = scratch.len();
    filler.fill(place, scratch);
    let number = scratch[from..].iter().fold(0, |n: usize, digit| {
        n.saturating_mul(10).saturating_add(usize::from(digit.wrapping_sub(b'0') % 10))
    });
    scratch.truncate(from);
    number
}

/// The place that `text` begins with, and the length of its name.
fn place_at(text: &[u8]) -> Option<(u32, usize)> {
    let inside = text.strip_prefix(b"{{")?;
    let digits = inside.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let place = std::str::from_utf8(&inside[..digits]).ok()?.parse().ok()?;
    inside[digits..].starts_with(b"}}").then_some((place, digits + 4))
}

/// How a place is written in the parts of a request.
pub fn place(number: u32) -> String {
    format!("{{{{{number}}}}}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(text: &str) -> String {
        let mut out = Vec::new();
        Blank::new(text.as_bytes()).write(|place, out| out.extend(format!("<{place}>").bytes()), &mut out);
        String::from_utf8(out).unwrap()
    }

    struct Text(&'static str);

    impl Filler for Text {
        fn fill(&mut self, _: u32, out: &mut Vec<u8>) {
            out.extend_from_slice(self.0.as_bytes());
        }
    }

    #[test]
    fn a_number_is_read_out_of_a_place() {
        let mut scratch = b"x".to_vec();
        for (text, number) in [("0", 0), ("7", 7), ("12", 12), ("", 0), ("99999999999999999999", usize::MAX)]
        {
            assert_eq!(number_in(0, &mut Text(text), &mut scratch), number, "{text}");
            assert_eq!(scratch, b"x");
        }
    }

    #[test]
    fn places_are_filled_and_the_rest_stays() {
        for (text, expected) in [
            ("", ""),
            ("/items", "/items"),
            ("{{0}}", "<0>"),
            ("/a/{{3}}/b?q={{12}}&{{3}}", "/a/<3>/b?q=<12>&<3>"),
            ("{{1}}{{2}}", "<1><2>"),
            ("{{}} {{x}} {{1} {1}} {{", "{{}} {{x}} {{1} {1}} {{"),
            ("{{{7}}}", "{<7>}"),
        ] {
            assert_eq!(filled(text), expected, "{text}");
        }
        assert!(Blank::new(place(4).as_bytes()).has_gaps());
        assert!(!Blank::new(b"{{}}").has_gaps());
    }
}
