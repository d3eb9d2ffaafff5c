//! PostgreSQL's protocol, version 3, as far as it takes to see where a request ends and where its answer does.

use super::Unreadable;

/// Kept of a message, to tell what it asks.
const KEPT_BYTES: usize = 1 << 10;
/// Codes in the place of a version: they ask for encryption, and are answered with a byte.
const SSL_REQUEST: u32 = 80_877_103;
const GSS_REQUEST: u32 = 80_877_104;
/// The answer that begins TLS.
const IS_ENCRYPTED: [u8; 2] = [b'S', b'G'];
/// What a statement in text is known by: the table that the lab fills.
const TABLE: &[u8] = b"from pgbench_accounts";

/// One direction.
#[derive(Debug)]
pub(super) struct Pg {
    is_client: bool,
    /// Before the start of the session: messages of a client have no type, a server answers with single bytes.
    is_begun: bool,
    head: Vec<u8>,
    kind: u8,
    /// Bytes of a message that are still to come.
    left: usize,
    body: Vec<u8>,
    /// The request that is being put together runs a prepared statement.
    executes: bool,
    has_failed: bool,
}

/// What a message means to an onlooker.
enum Meaning {
    Nothing,
    /// The client waits for an answer now; does it count?
    Asked(bool),
    /// The server has answered; has it failed?
    Answered(bool),
}

impl Pg {
    pub(super) fn client() -> Pg {
        Pg {
            is_client: true,
            is_begun: false,
            head: Vec::with_capacity(8),
            kind: 0,
            left: 0,
            body: Vec::new(),
            executes: false,
            has_failed: false,
        }
    }

    pub(super) fn server() -> Pg {
        Pg { is_client: false, ..Pg::client() }
    }

    /// Bytes of a client; the session's start counts as a request, which no measurement does.
    pub(super) fn asked(&mut self, bytes: &[u8], mut each: impl FnMut(bool)) -> Result<(), Unreadable> {
        self.take(bytes, |meaning| {
            if let Meaning::Asked(counts) = meaning {
                each(counts);
            }
        })
    }

    /// Bytes of a server.
    pub(super) fn answered(&mut self, bytes: &[u8], mut each: impl FnMut(bool)) -> Result<(), Unreadable> {
        self.take(bytes, |meaning| {
            if let Meaning::Answered(failed) = meaning {
                each(failed);
            }
        })
    }

    fn take(&mut self, mut bytes: &[u8], mut each: impl FnMut(Meaning)) -> Result<(), Unreadable> {
        while !bytes.is_empty() {
            if self.left > 0 {
                let (body, rest) = bytes.split_at(bytes.len().min(self.left));
                let room = KEPT_BYTES.saturating_sub(self.body.len());
                self.body.extend_from_slice(&body[..body.len().min(room)]);
                self.left -= body.len();
                bytes = rest;
            } else {
                let (byte, rest) = bytes.split_at(1);
                bytes = rest;
                if !self.begins(byte[0])? {
                    continue;
                }
            }
            if self.left == 0 {
                each(self.ended());
                self.body.clear();
            }
        }
        Ok(())
    }

    /// A byte of a message's head; true when the head is whole.
    fn begins(&mut self, byte: u8) -> Result<bool, Unreadable> {
        // A request for encryption is answered with one byte before anything else.
        if !self.is_client && !self.is_begun && self.head.is_empty() {
            match byte {
                b'N' => return Ok(false),
                byte if IS_ENCRYPTED.contains(&byte) => return Err(Unreadable),
                _ => self.is_begun = true,
            }
        }
        self.head.push(byte);
        let (kind, length) = match (&self.head[..], self.is_begun) {
            (&[a, b, c, d], false) => (0, [a, b, c, d]),
            (&[kind, a, b, c, d], true) => (kind, [a, b, c, d]),
            _ => return Ok(false),
        };
        self.head.clear();
        self.kind = kind;
        let length = u32::from_be_bytes(length).checked_sub(4).filter(|length| *length < 1 << 30);
        self.left = length.ok_or(Unreadable)? as usize;
        Ok(true)
    }

    fn ended(&mut self) -> Meaning {
        if !self.is_client {
            return match self.kind {
                b'Z' => Meaning::Answered(std::mem::take(&mut self.has_failed)),
                b'E' => {
                    self.has_failed = true;
                    Meaning::Nothing
                }
                _ => Meaning::Nothing,
            };
        }
        match self.kind {
            0 => {
                let code = self.body.first_chunk().map(|code| u32::from_be_bytes(*code));
                self.is_begun = !code.is_some_and(|code| [SSL_REQUEST, GSS_REQUEST].contains(&code));
                if self.is_begun { Meaning::Asked(false) } else { Meaning::Nothing }
            }
            b'E' => {
                self.executes = true;
                Meaning::Nothing
            }
            b'S' => Meaning::Asked(std::mem::take(&mut self.executes)),
            b'Q' => {
                let is_ours = self.body.windows(TABLE.len()).any(|text| text.eq_ignore_ascii_case(TABLE));
                Meaning::Asked(is_ours)
            }
            // A call of a function.
            b'F' => Meaning::Asked(false),
            _ => Meaning::Nothing,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn message(kind: &str, body: &[u8]) -> Vec<u8> {
        [kind.as_bytes(), &(body.len() as u32 + 4).to_be_bytes(), body].concat()
    }

    /// What `of` makes of bytes in pieces of these sizes.
    fn read(mut of: Pg, bytes: &[u8], sizes: &[usize]) -> Result<Vec<bool>, Unreadable> {
        let (mut all, mut at) = (Vec::new(), 0);
        let mut sizes = sizes.iter().cycle();
        while at < bytes.len() {
            let to = (at + sizes.next().copied().unwrap_or(usize::MAX).max(1)).min(bytes.len());
            let is_client = of.is_client;
            match is_client {
                true => of.asked(&bytes[at..to], |counts| all.push(counts))?,
                false => of.answered(&bytes[at..to], |failed| all.push(failed))?,
            }
            at = to;
        }
        Ok(all)
    }

    fn client() -> Vec<u8> {
        let start = [&[0, 3, 0, 0][..], b"user\0bench\0\0"].concat();
        [
            message("", &SSL_REQUEST.to_be_bytes()),
            message("", &start),
            message("p", b"secret\0"),
            message("Q", b"select 1\0"),
            // Prepared, and not run.
            message("P", b"one\0SELECT abalance FROM pgbench_accounts WHERE aid = $1\0\0\0"),
            message("S", b""),
            message("B", b"\0one\0\0\0\0\0\0\0"),
            message("D", b"P\0"),
            message("E", b"\0\0\0\0\0"),
            message("S", b""),
            message("Q", b"SELECT abalance FROM pgbench_accounts WHERE aid = 7\0"),
            message("X", b""),
        ]
        .concat()
    }

    fn server() -> Vec<u8> {
        [
            b"N".to_vec(),
            message("R", &[0, 0, 0, 0]),
            message("N", b"SNOTICE\0\0"),
            message("Z", b"I"),
            message("1", b""),
            message("Z", b"I"),
            message("D", &[0; 2_000]),
            message("C", b"SELECT 1\0"),
            message("Z", b"I"),
            message("E", b"SERROR\0\0"),
            message("Z", b"I"),
            message("Z", b"I"),
        ]
        .concat()
    }

    proptest! {
        #[test]
        fn requests_and_answers_end_where_they_end(sizes in prop::collection::vec(1_usize..40, 1..20)) {
            let asked = read(Pg::client(), &client(), &sizes).expect("messages");
            prop_assert_eq!(asked, [false, false, false, true, true]);
            let answered = read(Pg::server(), &server(), &sizes).expect("messages");
            prop_assert_eq!(answered, [false, false, false, true, false]);
        }

        #[test]
        fn noise_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = read(Pg::client(), &bytes, &[7]);
            let _ = read(Pg::server(), &bytes, &[7]);
        }
    }

    #[test]
    fn what_nobody_can_read_is_refused() {
        assert_eq!(read(Pg::server(), b"S\x16\x03", &[9]), Err(Unreadable), "TLS begins");
        assert_eq!(read(Pg::client(), &[0, 0, 0, 3], &[9]), Err(Unreadable), "shorter than its own head");
        assert_eq!(read(Pg::client(), &[0xff; 8], &[9]), Err(Unreadable), "4 GiB");
    }
}
