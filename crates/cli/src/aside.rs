//! Texts whose templates are set aside, so that what knows nothing of them can read the rest.

use anyhow::{Result, anyhow};
use std::borrow::Cow;
use unblink_wire::blank::place;
use unblink_workload::template::{Piece, is_template, pieces};

/// A text with its places set aside.
pub(crate) struct Aside<'a> {
    /// With `{{0}}`, `{{1}}` and so on.
    pub text: Cow<'a, str>,
    places: Vec<&'a str>,
}

impl<'a> Aside<'a> {
    /// Sets the places of `text` aside.
    pub(crate) fn of(text: &'a str) -> Result<Aside<'a>> {
        if !is_template(text) {
            return Ok(Aside { text: text.into(), places: Vec::new() });
        }
        let (mut out, mut places) = (String::new(), Vec::new());
        for piece in pieces(text).map_err(|error| anyhow!("{error}"))? {
            match piece {
                Piece::Text(text) => out.push_str(text),
                Piece::Place(_, at) => {
                    out.push_str(&place(places.len() as u32));
                    places.push(&text[at]);
                }
            }
        }
        Ok(Aside { text: out.into(), places })
    }

    /// A part of the text with its places put back.
    pub(crate) fn restored(&self, part: &str) -> String {
        let numbered = self.places.iter().enumerate();
        numbered.fold(part.to_string(), |text, (number, own)| text.replace(&place(number as u32), own))
    }
}
