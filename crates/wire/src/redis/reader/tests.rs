//! Replies byte by byte.

use super::*;

const BYTES_MAX: u64 = 100_000;

/// What is told: texts as they are, and of each reply its code's name.
fn told(is_resp3: bool, bytes: &[u8], piece: usize) -> Result<String, Violation> {
    let (mut reader, mut told) = (Reader::new(is_resp3, BYTES_MAX), Vec::new());
    let mut tell = |event: Event<'_>| {
        told.extend(match event {
            Event::Begins => b"<".to_vec(),
            Event::Piece(piece) => piece.to_vec(),
            Event::Parting => b"\n".to_vec(),
            Event::Value(_) => Vec::new(),
            Event::Ends { code, bytes, .. } => format!(":{bytes}:{}>", codes::name(code)).into_bytes(),
            Event::Push => b"(push)".to_vec(),
            Event::Whole(text) => {
                let ends = format!(":{}:ok>", text.len());
                [b"<", text, ends.as_bytes()].concat()
            }
        });
        Ok(())
    };
    bytes.chunks(piece).try_for_each(|piece| reader.take(piece, &mut tell))?;
    assert!(!reader.is_inside && reader.open.is_empty() && reader.attributes == 0);
    Ok(String::from_utf8(told).expect("text"))
}

fn assert_told(is_resp3: bool, bytes: &str, expected: &str) {
    for piece in 1..=bytes.len() {
        let told = told(is_resp3, bytes.as_bytes(), piece);
        assert_eq!(told.as_deref(), Ok(expected), "{bytes:?} by {piece}");
    }
}

#[test]
fn replies_of_resp2_are_told_however_they_come() {
    for (bytes, expected) in [
        ("+OK\r\n", "<OK:2:ok>"),
        ("+\r\n", "<:0:ok>"),
        (":-12\r\n:+7\r\n", "<-12:3:ok><+7:2:ok>"),
        (":-9223372036854775808\r\n", "<-9223372036854775808:20:ok>"),
        ("$5\r\nhe\r\no\r\n", "<he\r\no:5:ok>"),
        ("$0\r\n\r\n", "<:0:ok>"),
        ("$-1\r\n", "<:0:nil>"),
        ("*-1\r\n", "<:0:nil>"),
        ("*0\r\n", "<:0:ok>"),
        ("*2\r\n$1\r\na\r\n*2\r\n:1\r\n$-1\r\n", "<a\n1\n:4:ok>"),
        ("*1\r\n*1\r\n*0\r\n+PONG\r\n", "<:0:ok><PONG:4:ok>"),
        ("-ERR no\r\n", "<ERR no:6:ERR>"),
        (
            "-OOM command not allowed when used memory > 'maxmemory'.\r\n",
            "<OOM command not allowed when used memory > 'maxmemory'.:55:OOM>",
        ),
        ("*2\r\n+a\r\n-WRONGTYPE x\r\n", "<a\nWRONGTYPE x:13:WRONGTYPE>"),
        ("*2\r\n-ASK x\r\n-OOM x\r\n", "<ASK x\nOOM x:11:ASK>"),
    ] {
        assert_told(false, bytes, expected);
        assert_told(true, bytes, expected);
    }
}

#[test]
fn so_are_those_of_resp3_and_what_comes_beside_them() {
    for (bytes, expected) in [
        ("_\r\n", "<:0:nil>"),
        ("#t\r\n,-1.5e3\r\n,inf\r\n", "<t:1:ok><-1.5e3:6:ok><inf:3:ok>"),
        (
            "(3492890328409238509324850943850943825024385\r\n",
            "<3492890328409238509324850943850943825024385:43:ok>",
        ),
        ("!8\r\nOOM b\r\nd\r\n", "<OOM b\r\nd:8:OOM>"),
        ("!5\r\nOOM b\r\n", "<OOM b:5:OOM>"),
        ("=5\r\ntxt:a\r\n", "<txt:a:5:ok>"),
        ("%2\r\n+a\r\n:1\r\n+b\r\n_\r\n", "<a\n1\nb\n:6:ok>"),
        ("~1\r\n+a\r\n", "<a:1:ok>"),
        (">2\r\n+invalidate\r\n*1\r\n$1\r\nk\r\n+OK\r\n", "(push)<OK:2:ok>"),
        (">1\r\n-ERR x\r\n_\r\n", "(push)<:0:nil>"),
        ("|1\r\n+ttl\r\n:7\r\n$1\r\na\r\n", "<a:1:ok>"),
        ("|1\r\n+e\r\n-ERR x\r\n*2\r\n|1\r\n+ttl\r\n*1\r\n_\r\n+a\r\n|0\r\n:1\r\n", "<a\n1:3:ok>"),
    ] {
        assert_told(true, bytes, expected);
    }
}

#[test]
fn what_breaks_the_rules_is_told_apart() {
    let deep = |n: usize| "*1\r\n".repeat(n) + ":1\r\n";
    assert!(told(false, deep(NESTING_MAX).as_bytes(), 7).is_ok());
    let together = format!("*2\r\n$60000\r\n{}\r\n$40000\r\n", "x".repeat(60_000));
    let (too_deep, too_long) = (deep(1_000_000), format!("+{}", "x".repeat(70_000)));
    for (bytes, violation) in [
        ("HTTP/1.1 400 Bad Request\r\n", Fault::HttpAnswer.into()),
        ("*1\r\nH", Fault::UnknownType.into()),
        ("\0", Fault::UnknownType.into()),
        ("+OK\n", Fault::LineEnd.into()),
        ("+OK\rx", Fault::LineEnd.into()),
        ("$1\r\nab", Fault::LineEnd.into()),
        ("$1\r\na\rb", Fault::LineEnd.into()),
        ("$0\r\n$", Fault::LineEnd.into()),
        (&too_long, Fault::LineTooLong.into()),
        (":\r\n", Fault::BadInteger.into()),
        (":-\r\n", Fault::BadInteger.into()),
        (":1-\r\n", Fault::BadInteger.into()),
        (":--1\r\n", Fault::BadInteger.into()),
        (":9223372036854775808\r\n", Fault::BadInteger.into()),
        (":99999999999999999999", Fault::BadInteger.into()),
        ("*-2\r\n", Fault::BadLength.into()),
        ("$-01\r\n", Fault::BadLength.into()),
        ("$+1\r\n", Fault::BadLength.into()),
        ("$\r\n", Fault::BadLength.into()),
        ("$?\r\n", Fault::BadLength.into()),
        ("$9223372036854775808\r\n", Fault::BadLength.into()),
        ("$9223372036854775807\r\n", Violation::TooLarge),
        ("*9223372036854775807\r\n", Violation::TooLarge),
        ("$100001\r\n", Violation::TooLarge),
        ("*100001\r\n", Violation::TooLarge),
        (&together, Violation::TooLarge),
        (&too_deep, Fault::TooDeep.into()),
    ] {
        for piece in [1, 2, bytes.len()] {
            let shown = &bytes[..bytes.len().min(40)];
            assert_eq!(told(false, bytes.as_bytes(), piece), Err(violation), "{shown:?} by {piece}");
        }
    }
    for (bytes, fault) in [
        ("#x\r\n", Fault::BadValue),
        ("#tt\r\n", Fault::BadValue),
        ("#\r\n", Fault::BadValue),
        ("_x", Fault::BadValue),
        (",\r\n", Fault::BadValue),
        (",1x\r\n", Fault::BadValue),
        ("(\r\n", Fault::BadInteger),
        ("%-1\r\n", Fault::BadLength),
        ("!-1\r\n", Fault::BadLength),
        (">-1\r\n", Fault::BadLength),
        ("*1\r\n>1\r\n+a\r\n", Fault::PushInside),
    ] {
        for piece in [1, bytes.len()] {
            assert_eq!(told(true, bytes.as_bytes(), piece), Err(fault.into()), "{bytes:?} by {piece}");
        }
    }
    for bytes in ["_\r\n", ">1\r\n", "|1\r\n", "%1\r\n", "#t\r\n"] {
        assert_eq!(told(false, bytes.as_bytes(), 1), Err(Fault::Resp3Unasked.into()), "{bytes:?}");
    }
}

#[test]
fn a_long_text_can_be_passed_over() {
    let mut reader = Reader::new(false, 1 << 20);
    let mut ends = Vec::new();
    let mut tell = |event: Event<'_>| {
        ends.extend(matches!(event, Event::Ends { .. }).then(|| format!("{event:?}")));
        Ok(())
    };
    reader.take(b"*2\r\n+ab\r\n$100000\r\nx", &mut tell).unwrap();
    assert_eq!(reader.text_left(), 99_999);
    reader.skip(99_000);
    reader.take(&[b'x'; 999], &mut tell).unwrap();
    assert_eq!(reader.text_left(), 0);
    reader.take(b"\r\n", &mut tell).unwrap();
    assert_eq!(ends, ["Ends { code: 0, bytes: 100003, is_list: true }"]);
}

/// What comes in one piece is told at once, and the same as byte by byte.
#[test]
fn a_text_that_is_there_as_a_whole_is_told_at_once() {
    let events = |bytes: &[u8], bytes_max| {
        let (mut reader, mut wholes, mut others) = (Reader::new(false, bytes_max), 0, 0);
        let mut tell = |event: Event<'_>| {
            *(if matches!(event, Event::Whole(_)) { &mut wholes } else { &mut others }) += 1;
            Ok(())
        };
        let taken = reader.take(bytes, &mut tell);
        (wholes, others, taken)
    };
    assert_eq!(events(b"$5\r\nhello\r\n+OK\r\n$0\r\n\r\n", 100), (3, 0, Ok(())));
    assert_eq!(events(b"$0005\r\nhello\r\n", 100), (1, 0, Ok(())));
    // The beginning of the second one follows the first, and what it holds is no reply.
    assert_eq!(events(b"+OK\r\n$5\r\nhel", 100), (1, 2, Ok(())));
    // An element says what it is before its text comes.
    assert_eq!(events(b"*1\r\n$2\r\nab\r\n", 100), (0, 4, Ok(())));
    assert_eq!(events(b"$-1\r\n", 100), (0, 2, Ok(())));
    assert_eq!(events(b"$5\r\nhello\r\n", 4), (0, 1, Err(Violation::TooLarge)));
    assert_eq!(events(b"+hello\r\n", 4), (0, 1, Err(Violation::TooLarge)));
    assert_eq!(events(b"$\r\n\r\n", 100), (0, 1, Err(Fault::BadLength.into())));
    assert_eq!(events(b"$5\r\nhellox\n", 100).2, Err(Fault::LineEnd.into()));
}
