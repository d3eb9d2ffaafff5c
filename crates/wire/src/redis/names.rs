//! What is known of commands by their names: which of them can't be load, and which only read.

use super::control::Control;

/// Why a command can't be measured.
#[derive(thiserror::Error, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refused {
    /// What comes of it is not one reply.
    #[error("it is not answered by one reply, so that nothing could be timed")]
    NotOneReply,
    /// It changes what the commands behind it mean.
    #[error(
        "it changes the connection that other commands go over: each command goes over whichever connection has room"
    )]
    OfTheConnection,
    /// The same of a transaction, which a journey may have.
    #[error(
        "it belongs to a transaction of several commands, and each command goes over whichever connection has room: make them \
         steps of a journey with hold-connection = true, or one script, by EVAL"
    )]
    Transaction,
    /// The URL says this.
    #[error(
        "the connection greets by itself: write user, password and database into the URL, redis://USER:PASSWORD@HOST/DB"
    )]
    Greeting,
    /// Others would wait behind it.
    #[error(
        "it waits until there is something to answer, and the commands behind it on the same connection would wait, too: \
         leave --depth out"
    )]
    Blocking,
    /// The server ends.
    #[error("it ends the server")]
    Ending,
}

const NOT_ONE_REPLY: [&str; 11] = [
    "SUBSCRIBE",
    "PSUBSCRIBE",
    "SSUBSCRIBE",
    "UNSUBSCRIBE",
    "PUNSUBSCRIBE",
    "SUNSUBSCRIBE",
    "MONITOR",
    "SYNC",
    "PSYNC",
    "REPLCONF",
    "QUIT",
];

const OF_THE_CONNECTION: [&str; 4] = ["RESET", "ASKING", "READONLY", "READWRITE"];

/// Of `CLIENT`, what changes the connection; other words look at it, or at others.
const OF_THE_CLIENT: [&str; 6] = ["TRACKING", "CACHING", "NO-EVICT", "NO-TOUCH", "SETNAME", "SETINFO"];

const GREETING: [&str; 3] = ["HELLO", "AUTH", "SELECT"];

const BLOCKING: [&str; 10] =
    ["BLPOP", "BRPOP", "BRPOPLPUSH", "BLMOVE", "BLMPOP", "BZPOPMIN", "BZPOPMAX", "BZMPOP", "WAIT", "WAITAOF"];

/// May be sent twice, as they change nothing.
const READING: [&str; 55] = [
    "BITCOUNT",
    "BITPOS",
    "DBSIZE",
    "DUMP",
    "ECHO",
    "EXISTS",
    "EXPIRETIME",
    "GEODIST",
    "GEOPOS",
    "GEOSEARCH",
    "GET",
    "GETBIT",
    "GETRANGE",
    "HEXISTS",
    "HGET",
    "HGETALL",
    "HKEYS",
    "HLEN",
    "HMGET",
    "HRANDFIELD",
    "HSCAN",
    "HSTRLEN",
    "HVALS",
    "INFO",
    "KEYS",
    "LINDEX",
    "LLEN",
    "LRANGE",
    "MGET",
    "PFCOUNT",
    "PING",
    "PTTL",
    "RANDOMKEY",
    "SCAN",
    "SCARD",
    "SDIFF",
    "SINTER",
    "SISMEMBER",
    "SMEMBERS",
    "SMISMEMBER",
    "SRANDMEMBER",
    "SSCAN",
    "STRLEN",
    "SUNION",
    "TIME",
    "TTL",
    "TYPE",
    "XLEN",
    "XRANGE",
    "ZCARD",
    "ZCOUNT",
    "ZMSCORE",
    "ZRANGE",
    "ZRANGEBYSCORE",
    "ZSCORE",
];

fn is_among(names: &[&str], word: &[u8]) -> bool {
    names.iter().any(|name| name.as_bytes().eq_ignore_ascii_case(word))
}

/// Why the command of these words can't be measured with so many at once on a connection, if it can't. One whose journey `holds`
/// its connection may begin and end transactions.
pub fn refused(words: &[Vec<u8>], depth: u32, holds: bool) -> Option<Refused> {
    let is = |place: usize, text: &str| {
        words.get(place).is_some_and(|word| word.eq_ignore_ascii_case(text.as_bytes()))
    };
    let name = words.first()?;
    let blocks =
        || is_among(&BLOCKING, name) || ((is(0, "XREAD") || is(0, "XREADGROUP")) && has_word(words, "BLOCK"));
    match () {
        () if is_among(&NOT_ONE_REPLY, name) || (is(0, "CLIENT") && is(1, "REPLY")) => {
            Some(Refused::NotOneReply)
        }
        () if is_among(&GREETING, name) => Some(Refused::Greeting),
        () if Control::of(name).is_some() => (!holds).then_some(Refused::Transaction),
        () if is_among(&OF_THE_CONNECTION, name)
            || (is(0, "CLIENT") && words.get(1).is_some_and(|word| is_among(&OF_THE_CLIENT, word)))
            || (is(0, "SCRIPT") && is(1, "DEBUG")) =>
        {
            Some(Refused::OfTheConnection)
        }
        () if is(0, "SHUTDOWN") => Some(Refused::Ending),
        () if depth > 1 && blocks() => Some(Refused::Blocking),
        () => None,
    }
}

fn has_word(words: &[Vec<u8>], text: &str) -> bool {
    words.iter().any(|word| word.eq_ignore_ascii_case(text.as_bytes()))
}

/// The command of this name only reads, so that it may be sent twice.
pub fn is_reading(name: &str) -> bool {
    is_among(&READING, name.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str, depth: u32) -> Option<Refused> {
        let words: Vec<Vec<u8>> = text.split(' ').map(|word| word.as_bytes().to_vec()).collect();
        refused(&words, depth, false)
    }

    #[test]
    fn what_is_no_load_is_refused_with_its_reason() {
        for (text, depth, why) in [
            ("GET a", 16, None),
            ("subscribe news", 1, Some(Refused::NotOneReply)),
            ("CLIENT REPLY OFF", 1, Some(Refused::NotOneReply)),
            ("CLIENT LIST", 1, None),
            ("client tracking ON", 1, Some(Refused::OfTheConnection)),
            ("CLIENT NO-EVICT on", 1, Some(Refused::OfTheConnection)),
            ("CLIENT NO-TOUCH on", 1, Some(Refused::OfTheConnection)),
            ("CLIENT SETNAME me", 1, Some(Refused::OfTheConnection)),
            ("CLIENT CACHING YES", 1, Some(Refused::OfTheConnection)),
            ("READONLY", 1, Some(Refused::OfTheConnection)),
            ("SCRIPT DEBUG YES", 1, Some(Refused::OfTheConnection)),
            ("SCRIPT LOAD x", 1, None),
            ("REPLCONF ACK 0", 1, Some(Refused::NotOneReply)),
            ("MULTI", 1, Some(Refused::Transaction)),
            ("unwatch", 1, Some(Refused::Transaction)),
            ("RESET", 1, Some(Refused::OfTheConnection)),
            ("AUTH x", 1, Some(Refused::Greeting)),
            ("BLPOP l 1", 1, None),
            ("BLPOP l 1", 2, Some(Refused::Blocking)),
            ("XREAD BLOCK 0 STREAMS s $", 2, Some(Refused::Blocking)),
            ("XREAD STREAMS s 0", 2, None),
            ("SHUTDOWN NOSAVE", 1, Some(Refused::Ending)),
        ] {
            assert_eq!(said(text, depth), why, "{text}");
        }
        let of_held = |word: &str| refused(&[word.as_bytes().to_vec()], 1, true);
        assert_eq!((of_held("WATCH"), of_held("exec")), (None, None));
        assert_eq!(of_held("RESET"), Some(Refused::OfTheConnection));
        assert!(is_reading("get") && !is_reading("SET"));
    }
}
