//! Finds where requests end. They have no body here: each ends with its empty line.

/// Counts requests in the bytes of one connection.
#[derive(Debug, Default)]
pub(crate) struct Framer {
    /// How many bytes of `\r\n\r\n` the last bytes were.
    matched: u8,
    /// Whether a request has begun that has not ended.
    is_within: bool,
}

impl Framer {
    /// Requests that end in `bytes`. A generator repeats itself: `last` keeps one whole request, so that the next
    /// is recognised by one comparison.
    #[inline]
    pub(crate) fn count(&mut self, bytes: &[u8], last: &mut Vec<u8>) -> usize {
        if !self.is_within && bytes == last.as_slice() { 1 } else { self.scan(bytes, last) }
    }

    fn scan(&mut self, bytes: &[u8], last: &mut Vec<u8>) -> usize {
        let began_whole = !self.is_within;
        let mut requests = 0;
        for &byte in bytes {
            self.matched = match (self.matched, byte) {
                (0 | 2, b'\r') | (1 | 3, b'\n') => self.matched + 1,
                (_, b'\r') => 1,
                _ => 0,
            };
            self.is_within = self.matched < 4;
            if !self.is_within {
                requests += 1;
                self.matched = 0;
            }
        }
        if requests == 1 && began_whole && !self.is_within {
            last.clear();
            last.extend_from_slice(bytes);
        }
        requests
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";

    #[test]
    fn requests_are_counted_however_they_are_cut() {
        let stream = [REQUEST, b"GET /other HTTP/1.0\r\n\r\n", REQUEST, REQUEST].concat();
        for size in 1..=stream.len() {
            let (mut framer, mut last) = (Framer::default(), Vec::new());
            let found: usize = stream.chunks(size).map(|piece| framer.count(piece, &mut last)).sum();
            assert_eq!(found, 4, "pieces of {size}");
        }
    }

    #[test]
    fn what_only_looks_like_the_last_request_is_not_one() {
        let (mut framer, mut last) = (Framer::default(), Vec::new());
        assert_eq!(framer.count(REQUEST, &mut last), 1);
        // Within another request, the same bytes end that one.
        assert_eq!(framer.count(b"GET /?", &mut last), 0);
        assert_eq!(framer.count(REQUEST, &mut last), 1);
        assert_eq!(framer.count(&REQUEST[..REQUEST.len() - 1], &mut last), 0);
        assert_eq!(framer.count(b"\n", &mut last), 1);
    }

    #[test]
    fn the_empty_line_needs_all_its_bytes_in_a_row() {
        let (mut framer, mut last) = (Framer::default(), Vec::new());
        assert_eq!(framer.count(b"a\r\n\nb\r\r\nc\n\n\r\n", &mut last), 0);
        assert_eq!(framer.count(b"\r\r\n\r\n", &mut last), 1);
    }
}
