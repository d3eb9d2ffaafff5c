//! Why an arrival failed: a closed set of kinds, small enough to be an array index.

/// One kind of failure. Those that are the codec's own are numbered by it; their names travel in the plan.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FailureKind(u8);

macro_rules! kinds {
    ($($(#[$doc:meta])* $constant:ident = $number:literal, $code:literal;)*) => {
        impl FailureKind {
            $($(#[$doc])* pub const $constant: FailureKind = FailureKind($number);)*
            const NAMED: &'static [&'static str] = &[$($code),*];
        }
    };
}

kinds! {
    /// Status 400–499 other than 429.
    STATUS_4XX = 0, "status_4xx";
    /// Status 429 or 503: the server refused work on purpose.
    SHED = 1, "shed";
    /// Status 500–599 other than 503.
    STATUS_5XX = 2, "status_5xx";
    /// A status outside 100–599.
    STATUS_OTHER = 3, "status_other";
    /// The answer is whole, and its status, which alone means no failure, is not one that was asked for.
    UNEXPECTED_STATUS = 4, "unexpected_status";
    /// The target refused the connection.
    CONNECT_REFUSED = 5, "connect_refused";
    /// The kernel or the run's timeout gave the connection up.
    CONNECT_TIMEOUT = 6, "connect_timeout";
    /// Another error while connecting (unreachable, permission).
    CONNECT_FAILED = 7, "connect_failed";
    /// No local port was left.
    NO_LOCAL_PORT = 8, "no_local_port";
    /// No file descriptor was left.
    NO_FILE_DESCRIPTOR = 9, "no_file_descriptor";
    /// The TLS handshake or a TLS record failed.
    TLS = 10, "tls";
    /// The connection was reset before the answer was whole.
    RESET = 11, "reset";
    /// The connection was closed before the answer was whole.
    CLOSED_EARLY = 12, "closed_early";
    /// The answer's body is above the limit.
    TOO_LARGE = 13, "too_large";
    /// Another error of the socket.
    SOCKET = 14, "socket";
    /// A file of the plan has no row left for it, so that it was not sent.
    NO_ROW = 15, "no_row";
    /// The answer is whole, and a header is missing or not as asked for.
    UNEXPECTED_HEADER = 16, "unexpected_header";
    /// The answer is whole, and the size or the content of its body is not as asked for.
    UNEXPECTED_BODY = 17, "unexpected_body";
    /// The body had to be looked at, and its coding is unknown or broken.
    UNDECODABLE = 18, "undecodable";
    /// The body had to be looked at, and is too large for that.
    UNCHECKED = 19, "unchecked";
    /// A whole answer that was not as asked for, in a record of an earlier build: it did not tell in what.
    EXPECTATION = 20, "expectation";
    /// The answer is whole, and lacks a value that a later step of its journey needs.
    NOT_CAPTURED = 21, "not_captured";
    /// It has that value, which is longer than may be kept.
    CAPTURED_TOO_LONG = 22, "captured_too_long";
    /// The script threw an error, or gave what is no request, so that nothing was sent; or it threw one at the answer.
    SCRIPT_FAILED = 23, "script_failed";
    /// The answer sends its journey to an origin that the plan does not ask.
    REDIRECTED_ELSEWHERE = 24, "redirected_elsewhere";
    /// The answer sends its journey on once more than the plan lets it.
    TOO_MANY_REDIRECTS = 25, "too_many_redirects";
    /// The answer sends its journey on, and does not say where, or nowhere that can be asked for.
    BAD_REDIRECT = 26, "bad_redirect";
}

impl FailureKind {
    /// How many kinds there can be, the codec's included: the length of a counter array.
    pub const COUNT: usize = 128;
    const PROTOCOL_BASE: u8 = Self::NAMED.len() as u8;

    /// The `number`-th kind of the codec's own: its violations, and behind them the failures that codes of answers mean.
    /// Numbers that do not fit share the last place.
    pub fn protocol(number: usize) -> FailureKind {
        FailureKind((Self::PROTOCOL_BASE as usize + number).min(Self::COUNT - 1) as u8)
    }

    /// It is the generator's machine that lacked something, or the plan.
    pub fn is_local(self) -> bool {
        matches!(self, Self::NO_LOCAL_PORT | Self::NO_FILE_DESCRIPTOR | Self::NO_ROW | Self::SCRIPT_FAILED)
    }

    /// The answer was whole, and counts as failed all the same: for what it says, or for what it does not have.
    pub fn is_of_whole_answer(self) -> bool {
        matches!(
            self,
            Self::STATUS_4XX
                | Self::SHED
                | Self::STATUS_5XX
                | Self::STATUS_OTHER
                | Self::UNEXPECTED_STATUS
                | Self::UNEXPECTED_HEADER
                | Self::UNEXPECTED_BODY
                | Self::UNDECODABLE
                | Self::UNCHECKED
                | Self::EXPECTATION
                | Self::NOT_CAPTURED
                | Self::CAPTURED_TOO_LONG
                | Self::REDIRECTED_ELSEWHERE
                | Self::TOO_MANY_REDIRECTS
                | Self::BAD_REDIRECT
        )
    }

    /// Every kind that there can be, in the order of its place.
    pub fn all() -> impl Iterator<Item = FailureKind> {
        (0..Self::COUNT as u8).map(FailureKind)
    }

    /// The kind's place in a counter array.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }

    /// The stable name of the kind at `index`.
    ///
    /// # Errors
    /// The number of a kind that is the codec's own, as [`FailureKind::protocol`] takes it.
    pub fn code_at(index: usize) -> Result<&'static str, usize> {
        Self::NAMED.get(index).copied().ok_or_else(|| index - Self::NAMED.len())
    }

    /// The failure that `status` alone means, if it means one (RFC 9110 §15; 429: RFC 6585).
    #[inline]
    pub fn of_status(status: u16) -> Option<FailureKind> {
        match status {
            100..=399 => None,
            429 | 503 => Some(Self::SHED),
            400..=499 => Some(Self::STATUS_4XX),
            500..=599 => Some(Self::STATUS_5XX),
            _ => Some(Self::STATUS_OTHER),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_its_own_name() {
        let mut names: Vec<&str> =
            FailureKind::all().filter_map(|kind| FailureKind::code_at(kind.index()).ok()).collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!((names.len(), all), (all, FailureKind::NAMED.len()));
        assert_eq!(FailureKind::code_at(FailureKind::protocol(1).index()), Err(1));
        assert_eq!(FailureKind::protocol(1_000).index(), FailureKind::COUNT - 1);
    }

    #[test]
    fn statuses_by_class() {
        assert_eq!(FailureKind::of_status(200), None);
        assert_eq!(FailureKind::of_status(399), None);
        assert_eq!(FailureKind::of_status(429), Some(FailureKind::SHED));
        assert_eq!(FailureKind::of_status(503), Some(FailureKind::SHED));
        assert_eq!(FailureKind::of_status(404), Some(FailureKind::STATUS_4XX));
        assert_eq!(FailureKind::of_status(500), Some(FailureKind::STATUS_5XX));
        assert_eq!(FailureKind::of_status(999), Some(FailureKind::STATUS_OTHER));
    }
}
