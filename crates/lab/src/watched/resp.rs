//! RESP, versions 2 and 3, as far as it takes to see where a value ends.

use super::Unreadable;

/// The longest line. Only lengths, numbers and short texts come as lines.
const LINE_BYTES_MAX: usize = 64 << 10;
/// The deepest nesting.
const DEPTH_MAX: usize = 32;
/// Kept of a command's name.
const NAME_BYTES: usize = 16;

/// One direction.
#[derive(Debug, Default)]
pub(super) struct Resp {
    line: Vec<u8>,
    /// Bytes of a bulk that are still to come, its line end included.
    left: u64,
    /// Elements that are still to come, by level.
    open: Vec<u64>,
    value: Value,
}

/// What is known of a value at its end.
#[derive(Debug, Default)]
pub(super) struct Value {
    /// Its first byte; 0 before there is one.
    kind: u8,
    /// The first bytes of its first bulk or, of a line without a type, its first word.
    name: Vec<u8>,
    is_named: bool,
}

impl Value {
    pub(super) fn is_command(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name.as_bytes())
    }

    pub(super) fn is_push(&self) -> bool {
        self.kind == b'>'
    }

    pub(super) fn is_error(&self) -> bool {
        matches!(self.kind, b'-' | b'!')
    }
}

impl Resp {
    /// Calls `each` with every value that ends in these bytes.
    pub(super) fn take(&mut self, mut bytes: &[u8], mut each: impl FnMut(&Value)) -> Result<(), Unreadable> {
        while !bytes.is_empty() {
            if self.left > 0 {
                let now = bytes.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
                let (bulk, rest) = bytes.split_at(now);
                // The last two are its line end.
                let of_text = self.left.saturating_sub(2).min(now as u64) as usize;
                self.value.call(&bulk[..of_text]);
                self.left -= now as u64;
                bytes = rest;
                if self.left == 0 {
                    self.value.is_named = true;
                    self.ended(&mut each);
                }
                continue;
            }
            let end = bytes.iter().position(|byte| *byte == b'\n');
            let (part, rest) = bytes.split_at(end.map_or(bytes.len(), |end| end + 1));
            if self.line.len() + part.len() > LINE_BYTES_MAX {
                return Err(Unreadable);
            }
            self.line.extend_from_slice(part);
            bytes = rest;
            if end.is_some() {
                let line = std::mem::take(&mut self.line);
                self.line(line.trim_ascii_end(), &mut each)?;
                // Its memory is used again.
                self.line = line;
                self.line.clear();
            }
        }
        Ok(())
    }

    fn line(&mut self, line: &[u8], each: &mut impl FnMut(&Value)) -> Result<(), Unreadable> {
        let Some((&kind, rest)) = line.split_first() else {
            // Redis ignores an empty line of a client; no server sends one.
            return Ok(());
        };
        if self.value.kind == 0 {
            self.value.kind = kind;
        }
        let count = || {
            let count = std::str::from_utf8(rest).ok().and_then(|text| text.parse::<i64>().ok());
            count.filter(|count| (-1..=1 << 32).contains(count)).ok_or(Unreadable)
        };
        match kind {
            b'*' | b'~' | b'>' => self.opened(count()?, 1, each)?,
            b'%' => self.opened(count()?, 2, each)?,
            // Attributes come before the value that they are about.
            b'|' => self.opened(count()? * 2 + 1, 1, each)?,
            b'$' | b'=' | b'!' => match count()? {
                -1 => self.ended(each),
                bytes => self.left = bytes.unsigned_abs() + 2,
            },
            b'+' | b'-' | b':' | b'_' | b',' | b'#' | b'(' => self.ended(each),
            // A command in a line: a server sends none, and inside another value there is none.
            _ if self.open.is_empty() && kind.is_ascii_alphabetic() => {
                let word = line.split(u8::is_ascii_whitespace).next().unwrap_or_default();
                self.value.call(word);
                self.ended(each);
            }
            _ => return Err(Unreadable),
        }
        Ok(())
    }

    fn opened(&mut self, count: i64, of: u64, each: &mut impl FnMut(&Value)) -> Result<(), Unreadable> {
        if count <= 0 {
            self.ended(each);
            return Ok(());
        }
        if self.open.len() == DEPTH_MAX {
            return Err(Unreadable);
        }
        self.open.push(count.unsigned_abs() * of);
        Ok(())
    }

    /// An element has ended, and with it maybe those that hold it.
    fn ended(&mut self, each: &mut impl FnMut(&Value)) {
        while let Some(left) = self.open.last_mut() {
            *left -= 1;
            if *left > 0 {
                return;
            }
            self.open.pop();
        }
        each(&self.value);
        self.value.kind = 0;
        self.value.name.clear();
        self.value.is_named = false;
    }
}

impl Value {
    fn call(&mut self, text: &[u8]) {
        if !self.is_named {
            let room = NAME_BYTES.saturating_sub(self.name.len());
            self.name.extend_from_slice(&text[..text.len().min(room)]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// (kind, name) of each value, fed in pieces of these sizes.
    fn read(bytes: &[u8], sizes: &[usize]) -> Result<Vec<(char, String)>, Unreadable> {
        let (mut resp, mut all, mut at) = (Resp::default(), Vec::new(), 0);
        let mut sizes = sizes.iter().cycle();
        while at < bytes.len() {
            let to = (at + sizes.next().copied().unwrap_or(usize::MAX).max(1)).min(bytes.len());
            resp.take(&bytes[at..to], |value| {
                all.push((value.kind as char, String::from_utf8_lossy(&value.name).into_owned()));
            })?;
            at = to;
        }
        Ok(all)
    }

    const TALK: &str = "*2\r\n$3\r\nGET\r\n$5\r\na\r\nbc\r\nPING now\r\n*1\r\n$4\r\nInfo\r\n+OK\r\n$-1\r\n$0\r\n\r\n-ERR no\r\n\
                        *0\r\n*-1\r\n*2\r\n*1\r\n:1\r\n$1\r\nx\r\n%1\r\n+k\r\n*2\r\n:1\r\n:2\r\n>2\r\n+message\r\n+hi\r\n|1\r\n+ttl\r\n:3\r\n$2\r\nok\r\n_\r\n";
    const VALUES: [(char, &str); 14] = [
        ('*', "GET"),
        ('P', "PING"),
        ('*', "Info"),
        ('+', ""),
        ('$', ""),
        ('$', ""),
        ('-', ""),
        ('*', ""),
        ('*', ""),
        ('*', "x"),
        ('%', ""),
        ('>', ""),
        ('|', "ok"),
        ('_', ""),
    ];

    proptest! {
        #[test]
        fn values_end_where_they_end_however_they_are_cut(sizes in prop::collection::vec(1_usize..9, 1..20)) {
            let all = read(TALK.as_bytes(), &sizes).expect("values");
            let all: Vec<(char, &str)> = all.iter().map(|(kind, name)| (*kind, name.as_str())).collect();
            prop_assert_eq!(all, VALUES);
        }

        #[test]
        fn noise_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = read(&bytes, &[7]);
        }
    }

    #[test]
    fn what_is_no_resp_is_refused() {
        let deep = "*1\r\n".repeat(DEPTH_MAX + 1);
        let long = format!("+{}", "x".repeat(LINE_BYTES_MAX));
        for text in
            ["\u{16}\u{3}\u{1}\r\n", "$x\r\n", "$-2\r\n", "*2\r\nGET\r\n", "$99999999999\r\n", &deep, &long]
        {
            assert_eq!(read(text.as_bytes(), &[usize::MAX]), Err(Unreadable), "{text:.20}");
        }
    }
}
