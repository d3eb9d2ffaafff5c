//! What requests are alike.

use crate::format::Request;

/// Appends what a request is called: its method, and its path with `{id}` for numbers. Requests whose paths differ in numbers
/// only are the same.
pub fn route(request: &Request, out: &mut String) {
    out.push_str(&request.method);
    out.push(' ');
    let path = request.path.split('?').next().unwrap_or_default();
    for (place, segment) in path.split('/').enumerate() {
        if place > 0 {
            out.push('/');
        }
        let digits = segment.bytes().take_while(u8::is_ascii_digit).count();
        match segment[digits..].bytes().next() {
            None | Some(b'.') if digits > 0 => {
                out.push_str("{id}");
                out.push_str(&segment[digits..]);
            }
            _ => out.push_str(segment),
        }
    }
}
