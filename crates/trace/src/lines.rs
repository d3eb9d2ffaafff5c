//! Lines of any input, in a buffer of bounded size.

use std::io::{BufRead, ErrorKind, Result};

/// No line of a log is longer than that and means a request.
pub(crate) const LINE_MAX: usize = 1 << 20;

/// What stands between two line feeds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Line {
    /// All of it.
    Whole,
    /// The input ends in it: it may be cut.
    Unended,
    /// Longer than [`LINE_MAX`]; what is in the buffer is its begin.
    TooLong,
}

/// Reads the next line into `line`, without its end; none at the end of the input.
///
/// # Errors
/// Those of the input.
pub(crate) fn next(input: &mut impl BufRead, line: &mut Vec<u8>) -> Result<Option<Line>> {
    Ok(next_with_length(input, line)?.map(|(kind, _)| kind))
}

/// The same, with the bytes that it took from the input, its end included.
pub(crate) fn next_with_length(input: &mut impl BufRead, line: &mut Vec<u8>) -> Result<Option<(Line, u64)>> {
    line.clear();
    let (mut read, mut too_long) = (0, false);
    loop {
        let some = match input.fill_buf() {
            Ok(some) => some,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        if some.is_empty() {
            let kind = if too_long { Line::TooLong } else { Line::Unended };
            return Ok((read > 0).then_some((kind, read as u64)));
        }
        let end = memchr::memchr(b'\n', some);
        let part = &some[..end.unwrap_or(some.len())];
        let room = LINE_MAX - line.len();
        too_long |= part.len() > room;
        line.extend_from_slice(&part[..part.len().min(room)]);
        let used = part.len() + usize::from(end.is_some());
        read += used;
        input.consume(used);
        if end.is_some() {
            if line.last() == Some(&b'\r') {
                line.pop();
            }
            let kind = if too_long { Line::TooLong } else { Line::Whole };
            return Ok(Some((kind, read as u64)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::BufReader;

    fn all(text: &[u8], buffer: usize) -> Vec<(Line, Vec<u8>)> {
        let (mut input, mut line) = (BufReader::with_capacity(buffer, text), Vec::new());
        let mut all = Vec::new();
        while let Some(kind) = next(&mut input, &mut line).unwrap() {
            all.push((kind, line.clone()));
        }
        all
    }

    #[test]
    fn lines_are_the_same_however_the_input_is_cut_into_pieces() {
        let text = b"one\r\n\n\xff\xfe three\nfour";
        let want: Vec<(Line, Vec<u8>)> = [
            (Line::Whole, &b"one"[..]),
            (Line::Whole, b""),
            (Line::Whole, b"\xff\xfe three"),
            (Line::Unended, b"four"),
        ]
        .map(|(kind, text)| (kind, text.to_vec()))
        .into();
        for buffer in 1..=text.len() {
            assert_eq!(all(text, buffer), want, "{buffer}");
        }
    }

    #[test]
    fn a_line_without_end_takes_bounded_memory() {
        let mut text = vec![b'x'; 3 * LINE_MAX];
        text.extend(b"\nnext\n");
        let lines = all(&text, 8192);
        assert_eq!((lines[0].0, lines[0].1.len()), (Line::TooLong, LINE_MAX));
        assert_eq!(lines[1], (Line::Whole, b"next".to_vec()));
        assert_eq!(all(&vec![b'x'; LINE_MAX], 8192)[0].0, Line::Unended);
    }
}
