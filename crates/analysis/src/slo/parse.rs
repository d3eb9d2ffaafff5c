//! Objectives in words. Each error knows at which byte it was found.

use super::{AbortRule, Figure, Measure, Objective, Relation, Slo, Unit, Windows};
use std::fmt;
use std::ops::Range;
use unblink_core::time::Nanos;

/// Recorded intervals last a second: nothing shorter can be told apart.
const WINDOW_MIN: Nanos = Nanos::from_secs(1);
const FIGURES: &str =
    "p50, p99 or any percentile, mean or max, of events with `first` or `gap` before it; errors, achieved";

/// What is wrong with the words, and where.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SloError {
    /// The bytes of the text that are wrong.
    pub at: Range<usize>,
    /// What is wrong with them, and what is expected.
    pub message: String,
}

impl fmt::Display for SloError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at character {}: {}", self.at.start + 1, self.message)
    }
}

impl std::error::Error for SloError {}

impl Slo {
    /// Reads `[NAME:] [first | gap] p99 < 200ms [in 95% of 10s]`.
    pub fn parse(text: &str) -> Result<Slo, SloError> {
        let mut words = Words::new(text);
        let name = words.name()?;
        let (measure, objective) = words.measured(true)?;
        let windows = match words.word() {
            None => None,
            Some((at, "in")) => Some(words.windows(&objective, at)?),
            Some((at, "for")) => {
                return Err(error(at, "a hold time belongs to --abort-on; an SLO may have `in 95% of 10s`"));
            }
            Some((at, other)) => {
                return Err(error(
                    at,
                    format!("{other:?} is one word too many; at most `in 95% of 10s` follows"),
                ));
            }
        };
        words.end()?;
        Ok(Slo { name, measure, objective, windows })
    }
}

impl AbortRule {
    /// Reads `[NAME:] [first | gap] p99 > 2s for 5s`.
    pub fn parse(text: &str) -> Result<AbortRule, SloError> {
        let mut words = Words::new(text);
        let name = words.name()?;
        let (measure, condition) = words.measured(false)?;
        if name.is_some() && !condition.figure.is_better_small() {
            return Err(error(0..text.len(), "a rule on achieved is about all requests: leave the name out"));
        }
        let hold = match words.word() {
            Some((_, "for")) => words.length("for how long it must hurt")?,
            Some((at, other)) => return Err(error(at, format!("expected `for TIME`, found {other:?}"))),
            None => {
                let end = text.len();
                return Err(error(end..end, "how long must it hurt? Add a time, such as `for 5s`"));
            }
        };
        words.end()?;
        Ok(AbortRule { name, measure, condition, hold })
    }
}

fn error(at: Range<usize>, message: impl Into<String>) -> SloError {
    SloError { at, message: message.into() }
}

/// The text and how far it was read, in bytes.
struct Words<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Words<'a> {
    fn new(text: &'a str) -> Words<'a> {
        Words { text, at: 0 }
    }

    /// Everything before the last colon: nothing behind a name has one.
    fn name(&mut self) -> Result<Option<String>, SloError> {
        let Some(colon) = self.text.rfind(':') else { return Ok(None) };
        self.at = colon + 1;
        match self.text[..colon].trim() {
            "" => {
                Err(error(0..colon + 1, "there is no name before the colon: name a request, or leave it out"))
            }
            name => Ok(Some(name.to_string())),
        }
    }

    /// Which times the figure is of, if a word says so.
    fn measure(&mut self) -> (Range<usize>, Measure) {
        let before = self.at;
        match self.word() {
            Some((at, "first")) => (at, Measure::First),
            Some((at, "gap")) => (at, Measure::Gap),
            _ => {
                self.at = before;
                (before..before, Measure::Response)
            }
        }
    }

    /// An objective, and the times that it is about.
    fn measured(&mut self, is_promise: bool) -> Result<(Measure, Objective), SloError> {
        let (at, measure) = self.measure();
        let objective = self.objective(is_promise)?;
        if measure != Measure::Response && objective.figure.unit() != Unit::Time {
            return Err(error(at, format!("{measure}goes with a percentile, mean or max: leave it out")));
        }
        Ok((measure, objective))
    }

    fn objective(&mut self, is_promise: bool) -> Result<Objective, SloError> {
        let (at, word) = self.wanted(format!("expected a figure: {FIGURES}"))?;
        let mut figure = figure(word).map_err(|why| error(at, why))?;
        let (relation_at, relation) = self.relation()?;
        let (limit_at, limit, unit) = self.quantity()?;
        if figure == Figure::AchievedShare && unit == Unit::Rate {
            figure = Figure::AchievedRate;
        }
        if figure.unit() != unit {
            let such = match figure.unit() {
                Unit::Time => "a time, such as 200ms",
                Unit::Share if figure == Figure::AchievedShare => {
                    "a share of what is offered, such as 99.9%, or a rate, such as 500/s"
                }
                Unit::Share => "a share, such as 0.1%",
                Unit::Rate => "a rate, such as 500/s",
            };
            return Err(error(limit_at, format!("the limit of {word} is {such}")));
        }
        let objective = Objective { figure, relation, limit };
        let is_good = objective.is_upper_limit() == figure.is_better_small();
        if is_good != is_promise {
            let (what, such) = match is_promise {
                true => ("an SLO says what is good", objective.opposite()),
                false => ("a rule to abort says what hurts", objective.opposite()),
            };
            return Err(error(relation_at, format!("{what}: write `{such}`")));
        }
        possible(&objective).map_err(|why| error(limit_at, why))?;
        Ok(objective)
    }

    fn relation(&mut self) -> Result<(Range<usize>, Relation), SloError> {
        self.skip_spaces();
        let rest = &self.text[self.at..];
        let all = [
            ("<=", Relation::AtMost),
            (">=", Relation::AtLeast),
            ("≤", Relation::AtMost),
            ("≥", Relation::AtLeast),
            ("<", Relation::Below),
            (">", Relation::Above),
        ];
        let Some((sign, relation)) = all.into_iter().find(|(sign, _)| rest.starts_with(sign)) else {
            return Err(error(self.rest(), "expected <, <=, > or >= here, and then the limit"));
        };
        let at = self.at..self.at + sign.len();
        self.at = at.end;
        Ok((at, relation))
    }

    /// `95% of 10s`, after `in` at `at`.
    fn windows(&mut self, objective: &Objective, at: Range<usize>) -> Result<Windows, SloError> {
        if !objective.figure.is_better_small() {
            return Err(error(
                at,
                "achieved is judged over the whole run: answers come later than arrivals fall due",
            ));
        }
        let (share_at, share, unit) = self.quantity()?;
        if unit != Unit::Share || !(share > 0.0 && share <= 1.0) {
            return Err(error(
                share_at,
                "expected the share of windows, above 0% and up to 100%, such as 95%",
            ));
        }
        match self.word() {
            Some((_, "of")) => {}
            Some((at, other)) => return Err(error(at, format!("expected `of`, found {other:?}"))),
            None => {
                return Err(error(self.rest(), "expected `of` and the length of a window, such as `of 10s`"));
            }
        }
        Ok(Windows { share, length: self.length("the length of a window")? })
    }

    /// A time of at least a second.
    fn length(&mut self, what: &str) -> Result<Nanos, SloError> {
        let (at, ns, unit) = self.quantity()?;
        if unit != Unit::Time {
            return Err(error(at, format!("expected {what}, such as 10s")));
        }
        let length = Nanos(ns.round() as u64);
        if length < WINDOW_MIN {
            return Err(error(at, format!("{what} is at least 1s, as long as a recorded interval")));
        }
        Ok(length)
    }

    /// A number with its unit: `200ms`, `1.5 s`, `0.1%`, `500/s`.
    fn quantity(&mut self) -> Result<(Range<usize>, f64, Unit), SloError> {
        self.skip_spaces();
        let start = self.at;
        let rest = &self.text[start..];
        let digits = rest.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_')).unwrap_or(rest.len());
        let digits_text = rest[..digits].replace('_', "");
        let number = digits_text.parse::<f64>().ok().filter(|_| digits > 0);
        let Some(number) = number else {
            return Err(error(self.rest(), "expected a number with its unit, such as 200ms, 0.1% or 500/s"));
        };
        self.at += digits;
        self.skip_spaces();
        let rest = &self.text[self.at..];
        let length = rest.find(|c: char| !(c.is_alphabetic() || c == '%' || c == '/')).unwrap_or(rest.len());
        let scale = match &rest[..length] {
            "ns" => Some((1.0, Unit::Time)),
            "us" | "µs" | "μs" => Some((1e3, Unit::Time)),
            "ms" => Some((1e6, Unit::Time)),
            "s" => Some((1e9, Unit::Time)),
            "m" | "min" => Some((60e9, Unit::Time)),
            "h" => Some((3600e9, Unit::Time)),
            "%" => Some((1.0, Unit::Share)),
            "/s" => Some((1.0, Unit::Rate)),
            _ => None,
        };
        let Some((scale, unit)) = scale else {
            let what = match length {
                0 => "this number has no unit".to_string(),
                _ => format!("{:?} is not a unit", &rest[..length]),
            };
            let at = start..self.at + length;
            return Err(error(at, format!("{what}: the units are us, ms, s, m, h, % and /s")));
        };
        self.at += length;
        let value = if unit == Unit::Share { hundredth(&digits_text) } else { number * scale };
        Ok((start..self.at, value, unit))
    }

    fn wanted(&mut self, otherwise: String) -> Result<(Range<usize>, &'a str), SloError> {
        let rest = self.rest();
        self.word().ok_or_else(|| error(rest, otherwise))
    }

    /// Letters, digits and points.
    fn word(&mut self) -> Option<(Range<usize>, &'a str)> {
        self.skip_spaces();
        let rest = &self.text[self.at..];
        let is_inside = |c: char| c.is_alphanumeric() || c == '.' || c == '_' || c == '-';
        let length = rest.find(|c: char| !is_inside(c)).unwrap_or(rest.len());
        let length = if length == 0 { rest.chars().next()?.len_utf8() } else { length };
        let at = self.at..self.at + length;
        self.at = at.end;
        Some((at.clone(), &self.text[at]))
    }

    fn end(&mut self) -> Result<(), SloError> {
        self.skip_spaces();
        match self.at == self.text.len() {
            true => Ok(()),
            false => Err(error(self.rest(), "nothing may follow here")),
        }
    }

    fn skip_spaces(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
    }

    fn rest(&self) -> Range<usize> {
        self.at..self.text.len()
    }
}

fn figure(word: &str) -> Result<Figure, String> {
    match word {
        "mean" => Ok(Figure::Mean),
        "max" => Ok(Figure::Max),
        "errors" => Ok(Figure::Errors),
        "achieved" => Ok(Figure::AchievedShare),
        word => {
            let digits = word.strip_prefix('p').filter(|digits| digits.parse::<f64>().is_ok());
            let Some(digits) = digits.filter(|digits| digits.starts_with(|c: char| c.is_ascii_digit()))
            else {
                return Err(format!("{word:?} is not a figure: expected {FIGURES}"));
            };
            match hundredth(digits) {
                q if q > 0.0 && q <= 0.999_999 => Ok(Figure::Quantile(q)),
                _ => Err(format!("{word:?} is not a percentile: expected above p0 and up to p99.9999")),
            }
        }
    }
}

/// A hundredth of the number that `digits` are: by shifting the point, since 99.9 / 100 is not what 0.999 is.
fn hundredth(digits: &str) -> f64 {
    format!("{digits}e-2").parse().unwrap_or(f64::NAN)
}

/// What no run could ever show, or every run would.
fn possible(objective: &Objective) -> Result<(), String> {
    let inside = objective.limit > 0.0 && objective.limit < 1.0;
    match objective.figure {
        Figure::Errors if !inside => {
            Err("no finite run can show a share of errors of 0, and none has more than \
                                          100%: give a share between"
                .into())
        }
        Figure::AchievedShare if !inside => {
            Err("the last answers come after the load has ended: give a share above 0% and below 100%".into())
        }
        _ if objective.limit <= 0.0 => Err("the limit is 0: give a higher one".into()),
        // Where recording ends.
        Figure::Quantile(_) | Figure::Mean | Figure::Max if objective.limit > 3600e9 => {
            Err("times above 1h are not told apart: give a lower limit".into())
        }
        _ => Ok(()),
    }
}
