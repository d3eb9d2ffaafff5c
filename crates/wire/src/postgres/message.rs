//! Messages as bytes: a type of one byte, a length that counts itself, and fields.

/// Appends a message of this type, whose fields `write` appends.
#[inline]
pub(super) fn message(kind: u8, out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    out.push(kind);
    sized(out, 0, write);
}

/// The same without a type: how a connection begins.
pub(super) fn untyped(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    sized(out, 0, write);
}

/// Appends a value behind its length, which does not count itself.
#[inline]
pub(super) fn value(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    sized(out, 4, write);
}

/// Appends a length and what follows it. So many bytes are not counted.
#[inline]
fn sized(out: &mut Vec<u8>, uncounted: usize, write: impl FnOnce(&mut Vec<u8>)) {
    let at = out.len();
    out.extend_from_slice(&[0; 4]);
    write(out);
    // A request is far shorter than 2 GiB: its templates are, and what fills them.
    let length = (out.len() - at - uncounted) as u32;
    out[at..at + 4].copy_from_slice(&length.to_be_bytes());
}

/// Appends a text and the byte that ends it.
#[inline]
pub(super) fn text(text: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(text.as_bytes());
    out.push(0);
}

/// Prepares a statement. Types of parameters are left to the server, which finds them in the statement.
pub(super) fn parse(name: &str, sql: &str, out: &mut Vec<u8>) {
    message(b'P', out, |out| {
        text(name, out);
        text(sql, out);
        out.extend_from_slice(&[0; 2]);
    });
}

/// Ends what is asked for: the server commits it, answers, and says that it is ready.
#[inline]
pub(super) fn sync(out: &mut Vec<u8>) {
    out.extend_from_slice(b"S\0\0\0\x04");
}

/// The first of several whole messages: its type, its fields, and what follows it.
pub(super) fn split(messages: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&[kind, ref length @ ..], _) = messages.split_first_chunk::<5>()?;
    let end = 1 + u32::from_be_bytes(*length) as usize;
    Some((kind, messages.get(5..end)?, &messages[end..]))
}

/// A field of an error, by its letter; `payload` may be cut.
pub(super) fn field(payload: &[u8], letter: u8) -> Option<&[u8]> {
    payload.split(|&byte| byte == 0).take_while(|field| !field.is_empty()).find_map(|field| {
        let (&first, rest) = field.split_first()?;
        (first == letter).then_some(rest)
    })
}
