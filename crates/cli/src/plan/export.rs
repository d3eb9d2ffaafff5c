//! What stands in a plan that is written down again: a plan that reads as the first one, with a variable in the place of
//! each value that is not to be shown.

use super::fields::Field;
use super::file::{PlanFile, Text};
use super::holds::{Holds, is_seen_header};
use crate::secrets;
use unblink_workload::template::{Piece, pieces};

/// The variables so far.
#[derive(Default)]
pub(super) struct Variables {
    names: Vec<String>,
    /// What each stands for, in words for whoever sets it.
    pub(super) notes: Vec<String>,
}

impl Variables {
    /// A text as it is written down.
    pub(super) fn written(&mut self, plan: &PlanFile, field: &Field, text: &Text) -> String {
        let line = plan.source.line(text.at.start);
        match field.holds {
            Holds::Header if is_seen_header(&text.raw) => text.raw.clone(),
            Holds::Header => match text.raw.split_once(':') {
                Some((header, value)) => {
                    let what = format!("the value of the header {} in line {line}", header.trim());
                    format!("{header}: {}", self.around_places(header, value.trim(), &what))
                }
                None => self.variable("header", &format!("the header in line {line}")),
            },
            Holds::Body if secrets::is_one_variable(&text.raw) => text.raw.clone(),
            Holds::Body => self.variable("body", &format!("the body in line {line}")),
            Holds::Url => secrets::mask_url_by(&text.raw, &mut |part, value| {
                let what = match part {
                    "userinfo" => format!("user and password of the URL in line {line}"),
                    part => format!("{part} in the URL in line {line}"),
                };
                self.around_places(part, value, &what)
            }),
            // Whoever asks for the plan in another form wants to run it, and these take no variables.
            Holds::Expectation | Holds::Sql | Holds::Cql => text.raw.clone(),
            holds => holds.shown(&text.raw),
        }
    }

    /// A variable for each piece of `value` between its templates: a variable's value is none.
    fn around_places(&mut self, part: &str, value: &str, what: &str) -> String {
        let all = pieces(value).unwrap_or_default();
        if all.iter().all(|piece| matches!(piece, Piece::Text(_))) {
            return self.variable(part, what);
        }
        let written = all.iter().map(|piece| match piece {
            Piece::Place(_, at) if secrets::is_one_variable(&value[at.clone()]) => {
                value[at.clone()].to_string()
            }
            Piece::Place(..) | Piece::Text(_) => self.variable(part, &format!("a piece of {what}")),
        });
        written.collect()
    }

    /// `${NAME}`, named after `part`; the environment may hold another of this name, so that what it stands for is said.
    fn variable(&mut self, part: &str, what: &str) -> String {
        let letters =
            part.trim().chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' });
        let base = letters.collect::<String>();
        let base =
            if base.starts_with(|c: char| c.is_ascii_alphabetic()) { base } else { format!("V{base}") };
        let of_number = |n: usize| if n == 1 { format!("PLAN_{base}") } else { format!("PLAN_{base}_{n}") };
        let name = (1..).map(of_number).find(|name| !self.names.contains(name)).unwrap_or(base.clone());
        self.notes.push(format!("{name} is {what}"));
        self.names.push(name.clone());
        format!("${{{name}}}")
    }
}
