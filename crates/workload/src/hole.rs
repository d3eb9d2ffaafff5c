//! What stands in a place of a template.

use crate::encode::Context;
use crate::expression::arguments::nearest;
use crate::expression::number::whole;
use crate::lets::Lets;
use crate::records::KeyNames;

/// Longest text of `bytes(…)`; longer ones are cut to it.
pub(crate) const TEXT_BYTES_MAX: u64 = 256 << 20;

/// What stands between the braces for the path of a recorded arrival. No value can be called so.
pub const RECORDED: &str = "recorded path";

/// A place, and how it is written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Hole {
    pub(crate) what: What,
    pub(crate) context: Context,
}

/// What an arrival writes there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum What {
    /// The same in each.
    Literal(Box<str>),
    /// A named value, or one column of its row.
    Value { of: u32, column: Option<u32> },
    /// The key of the record whose number is a named value, or its score.
    Record { of: u32, names: KeyNames, is_score: bool },
    /// What was taken from an answer beside the load.
    Captured(u32),
    /// What its journey took from an earlier answer.
    Kept(u32),
    /// The text of a recorded arrival: its path, as it is.
    Recorded,
    /// The number of the arrival.
    Index,
    /// Random, version 4 (RFC 9562 §5.4).
    Uuid,
    /// The trace of the arrival, as a header of W3C Trace Context.
    Traceparent,
    /// From `from`, one of `span` + 1 whole numbers.
    Int { from: i64, span: u64 },
    /// The intended time, on a clock that starts with the load.
    Now(Clock),
    /// So many letters and digits.
    Bytes(Length),
}

/// How a time is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Clock {
    /// RFC 3339, in UTC, with milliseconds.
    Date,
    /// Since 1970, in units of so many nanoseconds.
    Units(u64),
}

/// How long a text is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Length {
    Fixed(u64),
    Drawn(u32),
}

impl What {
    /// Reads what stands between the braces. `taken` has a bit for each value that the journey has by then.
    pub(crate) fn read(text: &str, lets: &Lets, taken: u64) -> Result<What, String> {
        if let Some(quoted) = text.strip_prefix('\'') {
            let literal = quoted.strip_suffix('\'').ok_or("this quote is never closed: write {{'text'}}")?;
            return Ok(What::Literal(literal.into()));
        }
        if let Some((name, arguments)) = text.split_once('(') {
            let inside =
                arguments.strip_suffix(')').ok_or_else(|| format!("{text}: a closing ) is missing"))?;
            let arguments: Vec<&str> = inside.split(',').map(str::trim).collect();
            return What::of_function(name.trim(), &arguments, lets, taken);
        }
        match text {
            "" => Err(format!("there is nothing between the braces: {}", lets.in_words())),
            RECORDED => Ok(What::Recorded),
            "index" => Ok(What::Index),
            "uuid" => Ok(What::Uuid),
            "traceparent" => Ok(What::Traceparent),
            "now" => Ok(What::Now(Clock::Date)),
            "int" => Err("int needs the smallest and the largest number: int(1,100)".into()),
            "bytes" => {
                Err("bytes needs a length: bytes(100), or the name of a value, as in bytes(size)".into())
            }
            _ => What::of_name(text, lets, taken),
        }
    }

    fn of_name(text: &str, lets: &Lets, taken: u64) -> Result<What, String> {
        let (name, column) = match text.split_once('.') {
            Some((name, column)) => (name, Some(column)),
            None => (text, None),
        };
        let unknown = || {
            let known: Vec<&str> =
                lets.iter().map(|(name, _)| name).chain(["index", "uuid", "now", "traceparent"]).collect();
            let rather = nearest(name, &known).map(|near| format!(", did you mean {near}?"));
            format!("there is no value {name:?}{} {}", rather.unwrap_or(":".into()), lets.in_words())
        };
        if let Some(number) = lets.captured(text) {
            return Ok(What::Captured(number));
        }
        if let Some(number) = lets.kept(text) {
            return match taken >> number & 1 {
                1 => Ok(What::Kept(number)),
                _ => Err(format!(
                    "{text} may not be there yet: no earlier step of the same journey that is always taken has it in its \
                     capture"
                )),
            };
        }
        let of = lets.number(name).ok_or_else(unknown)?;
        let source = lets.source(of);
        let columns = || source.columns().join(", ");
        let column = match column {
            None if source.columns().len() > 1 => {
                return Err(format!(
                    "{name} is a row: say which column, as in {name}.{} (it has {})",
                    source.columns()[0],
                    columns()
                ));
            }
            None => None,
            Some(column) if source.columns().is_empty() => {
                return Err(format!("{name} has no columns: write {{{{{name}}}}} without .{column}"));
            }
            Some(column) => Some(source.column(column)?),
        };
        Ok(What::Value { of, column })
    }

    fn of_function(name: &str, arguments: &[&str], lets: &Lets, taken: u64) -> Result<What, String> {
        match (name, arguments) {
            ("int", [from, to]) => {
                let number = |text: &str| {
                    text.parse::<i64>()
                        .map_err(|_| format!("{text:?} is not a whole number: int(1,100) takes two"))
                };
                let (from, to) = (number(from)?, number(to)?);
                if from > to {
                    return Err(format!("int({from},{to}) has no number: the smaller one stands first"));
                }
                Ok(What::Int { from, span: to.wrapping_sub(from) as u64 })
            }
            ("int", _) => Err("int takes the smallest and the largest number: int(1,100)".into()),
            ("raw", [value]) => What::read(value, lets, taken),
            ("number", [value]) => {
                let what = What::read(value, lets, taken)?;
                match what.is_number(lets) {
                    true => Ok(what),
                    false => Err(format!("{value} is not a number: write {{{{{value}}}}} as a text")),
                }
            }
            ("now", [unit]) => match *unit {
                "s" => Ok(What::Now(Clock::Units(1_000_000_000))),
                "ms" => Ok(What::Now(Clock::Units(1_000_000))),
                "us" => Ok(What::Now(Clock::Units(1_000))),
                "ns" => Ok(What::Now(Clock::Units(1))),
                _ => Err("now takes s, ms, us or ns, or no parentheses for a date".into()),
            },
            ("bytes", [length]) => {
                if let Some(of) = lets.number(length) {
                    return match lets.source(of).is_number() {
                        true => Ok(What::Bytes(Length::Drawn(of))),
                        false => Err(format!("{length} is a row of a file, and no length in bytes")),
                    };
                }
                let fixed =
                    whole(length).map_err(|why| format!("{why}; nor is it a value: {}", lets.in_words()))?;
                if fixed > TEXT_BYTES_MAX {
                    return Err(format!("{length} is too long: a text has at most {TEXT_BYTES_MAX} bytes"));
                }
                Ok(What::Bytes(Length::Fixed(fixed)))
            }
            ("ycsb_key" | "ycsb_score", [value, rest @ ..]) => {
                let of = lets.number(value).filter(|&of| lets.source(of).is_number());
                let of = of.ok_or_else(|| {
                    format!("{value:?} is not a value that is a number: {name}(key) takes the name of one")
                })?;
                let wrong = || format!("{name} takes a value, `hashed` or `ordered`, and a number of digits");
                let (is_ordered, digits) = match rest {
                    [] => (false, 1),
                    [order] => (is_ordered(order).ok_or_else(wrong)?, 1),
                    [order, digits] => {
                        (is_ordered(order).ok_or_else(wrong)?, digits.parse().map_err(|_| wrong())?)
                    }
                    _ => return Err(wrong()),
                };
                let is_score = name == "ycsb_score";
                Ok(What::Record { of, names: KeyNames { is_ordered, digits }, is_score })
            }
            _ => Err(format!("there is no function {name:?}: {}", lets.in_words())),
        }
    }

    /// The named value that it needs.
    pub(crate) fn uses(&self) -> Option<u32> {
        match self {
            What::Value { of, .. } | What::Record { of, .. } | What::Bytes(Length::Drawn(of)) => Some(*of),
            _ => None,
        }
    }

    /// Is it the same for every arrival? What setup takes from an answer is, until it asks again.
    pub(crate) fn is_fixed(&self, lets: &Lets) -> bool {
        match self {
            What::Literal(_) | What::Captured(_) => true,
            What::Value { of, .. } | What::Record { of, .. } => lets.source(*of).distinct() == Some(1),
            What::Int { span, .. } => *span == 0,
            What::Bytes(length) => *length == Length::Fixed(0),
            _ => false,
        }
    }

    /// Is it out of a file or an answer, so that it may be a secret?
    pub(crate) fn is_of_others(&self, lets: &Lets) -> bool {
        match self {
            What::Value { of, .. } => !lets.source(*of).is_number(),
            What::Captured(_) | What::Kept(_) => true,
            _ => false,
        }
    }

    /// The value that its journey took which it needs.
    pub(crate) fn kept(&self) -> Option<u32> {
        match self {
            What::Kept(number) => Some(*number),
            _ => None,
        }
    }

    /// Is it always a whole number?
    pub(crate) fn is_number(&self, lets: &Lets) -> bool {
        match self {
            What::Value { of, .. } => lets.source(*of).is_number(),
            What::Index | What::Int { .. } | What::Now(Clock::Units(_)) => true,
            What::Record { is_score, .. } => *is_score,
            What::Literal(_) | What::Captured(_) | What::Kept(_) | What::Recorded => false,
            What::Uuid | What::Traceparent | What::Now(Clock::Date) | What::Bytes(_) => false,
        }
    }
}

fn is_ordered(word: &str) -> Option<bool> {
    match word {
        "hashed" => Some(false),
        "ordered" => Some(true),
        _ => None,
    }
}
