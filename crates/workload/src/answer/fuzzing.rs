//! Events of any body, cut anywhere. Shared by the fuzz target and the replay of its corpus; not part of the API.

use super::{EventFormat, EventReader, Found};

/// Longer inputs are cut at so many places only.
const CUTS_MAX: usize = 1024;

/// Checks one input of the fuzzer: its first byte chooses the format (`l` lines, else blocks), the rest is a body.
///
/// # Panics
/// If what is found depends on where the body is cut.
pub fn check(data: &[u8]) {
    let [choice, body @ ..] = data else { return };
    let format = if *choice == b'l' { EventFormat::Lines } else { EventFormat::Sse };
    // Byte by byte, with what is found up to each.
    let mut reader = EventReader::default();
    let mut up_to = vec![Found::default()];
    for byte in body.chunks(1) {
        let before = up_to[up_to.len() - 1];
        up_to.push(sum(before, reader.read(format, byte)));
    }
    let all = sum(up_to[body.len()], reader.end(format));
    assert!(reader.end(format).is_nothing(), "a body ends once");
    // An event has a line's end, or is the last line, and a block takes more.
    let ends = body.iter().filter(|byte| matches!(byte, b'\n' | b'\r')).count();
    assert!(all.events as usize + all.keep_alives as usize <= ends + 1, "more events than lines");
    for (cut, &so_far) in up_to.iter().enumerate().take(CUTS_MAX) {
        let (first, second) = body.split_at(cut);
        let mut reader = EventReader::default();
        let found = reader.read(format, first);
        assert_eq!(found, so_far, "{cut} bytes at once are not the same as one by one");
        assert!(reader.read(format, &[]).is_nothing(), "nothing is no event");
        let found = sum(sum(found, reader.read(format, second)), reader.end(format));
        assert_eq!(found, all, "cut at {cut}");
    }
}

fn sum(one: Found, other: Found) -> Found {
    Found { events: one.events + other.events, keep_alives: one.keep_alives + other.keep_alives }
}
