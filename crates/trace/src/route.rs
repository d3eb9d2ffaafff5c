//! What requests are alike.

use crate::anonymous::{extension, is_word};
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

/// Appends what a request is called from which nothing of its sender's may be kept: its method, and its path with `{id}` in
/// the place of whatever an import would make a number of.
pub fn anonymous_route(method: &str, path: &str, out: &mut String) {
    out.push_str(method);
    out.push(' ');
    out.push_str(&template(path).path);
}

/// A path in which ids are left open.
#[derive(Debug, PartialEq)]
pub(crate) struct Template<'a> {
    /// `/items/{id}`, without a query.
    pub(crate) path: String,
    /// What stood there.
    pub(crate) ids: Vec<Id<'a>>,
}

/// A part of a path that may be an id.
#[derive(Debug, PartialEq)]
pub(crate) struct Id<'a> {
    pub(crate) text: &'a str,
    /// Where its `{id}` ends in [`Template::path`].
    pub(crate) end: usize,
}

/// The template of a path. Ids are what an import makes numbers of, so that a trace with kept paths has the same ones.
pub(crate) fn template(path: &str) -> Template<'_> {
    let path = path.split('?').next().unwrap_or_default();
    let mut template = Template { path: String::with_capacity(path.len()), ids: Vec::new() };
    for (place, segment) in path.split('/').enumerate() {
        if place > 0 {
            template.path.push('/');
        }
        let end = extension(segment.as_bytes());
        let text = &segment[..segment.len() - end.len()];
        if is_word(segment.as_bytes()) || (!end.is_empty() && is_word(text.as_bytes())) {
            template.path.push_str(segment);
            continue;
        }
        template.path.push_str("{id}");
        template.ids.push(Id { text, end: template.path.len() });
        template.path.push_str(end);
    }
    template
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_what_an_import_numbers() {
        for (path, want, ids) in [
            ("/", "/", &[][..]),
            ("/items/402183375?q=", "/items/{id}", &["402183375"]),
            ("/users/17/orders/5d41402a.json", "/users/{id}/orders/{id}.json", &["17", "5d41402a"]),
            ("/v2/sign-in/app.js", "/v2/sign-in/app.js", &[]),
            ("/caf%C3%A9/{x}", "/{id}/{id}", &["caf%C3%A9", "{x}"]),
        ] {
            let template = template(path);
            assert_eq!(template.path, want);
            assert_eq!(template.ids.iter().map(|id| id.text).collect::<Vec<_>>(), ids);
            assert!(template.ids.iter().all(|id| template.path[..id.end].ends_with("{id}")));
        }
    }
}
