//! Where a value comes from: an expression, compiled.

use crate::decimal::decimal;
use crate::draws::{Drawing, Drawn};
use crate::error::SourceError;
use crate::expression::arguments::nearest;
use crate::expression::{Call, Expression, parse};
use crate::feeder::{self, Feeder, Open};
use crate::keys::{self, Keys};
use crate::sizes::{self, Size};
use crate::weighted::Weighted;
use crate::ycsb::{self, Ycsb};
use crate::{error::Fault, expression::arguments::Arguments};
use std::sync::Arc;

const HISTOGRAM: (&str, &str) = ("histogram", "histogram(file), with lines of `value,weight`");

/// A compiled expression. A draw is a pure function of the seed and what it is drawn for; it takes no lock, and allocates
/// nothing.
#[derive(Clone, PartialEq, Debug)]
pub struct Source {
    kind: Kind,
}

/// What files hold is large, and the same in each copy of a source.
#[derive(Clone, PartialEq, Debug)]
enum Kind {
    Keys(Keys),
    Size(Size),
    Weighted(Arc<Weighted>),
    Ycsb(Ycsb),
    Rows(Arc<Feeder>),
}

/// What of a [`Drawing`] a source looks at, besides the key.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Needs {
    /// [`Drawing::ordinal`]
    pub ordinal: bool,
    /// [`Drawing::inserted`]
    pub inserted: bool,
    /// Of these only what is expected up to the time at which every insert has ended.
    pub ended: bool,
}

impl Source {
    /// Compiles an expression such as `zipf(1M)`. Files are opened by `open`, from the name that the expression has, and read
    /// to their end.
    ///
    /// # Errors
    /// The expression can't be used, or one of its files can't.
    pub fn parse(text: &str, open: &mut Open<'_>) -> Result<Source, SourceError> {
        let kind = match parse(text)? {
            Expression::List(values) => Kind::Rows(Arc::new(Feeder::of_values(&values, 0..text.len())?)),
            Expression::Call(call) => kind(&call, open)?,
        };
        Ok(Source { kind })
    }

    /// The number, or the number of a row from 0, that `drawing` gets. `seed` is the value's own
    /// ([`Draws::seed_of`](crate::Draws::seed_of)). None where rows are taken once and this arrival finds none left.
    #[inline]
    pub fn draw(&self, seed: u64, drawing: &Drawing) -> Option<u64> {
        self.draw_placed(seed, drawing).map(|drawn| drawn.value)
    }

    /// The same with its place among all that may be drawn.
    #[inline]
    pub(crate) fn draw_placed(&self, seed: u64, drawing: &Drawing) -> Option<Drawn> {
        let by_size = |value| Drawn { value, place: value };
        match &self.kind {
            Kind::Keys(keys) => Some(keys.draw(seed, drawing)),
            Kind::Size(size) => Some(by_size(size.draw(seed, drawing))),
            Kind::Weighted(weighted) => Some(by_size(weighted.draw(seed, drawing))),
            Kind::Ycsb(ycsb) => {
                ycsb.draw(seed, drawing).map(|value| Drawn { value, place: ycsb.rank(value, drawing) })
            }
            Kind::Rows(feeder) => feeder.draw(seed, drawing).map(|value| Drawn { value, place: 0 }),
        }
    }

    /// Appends what was drawn: a number in decimal digits, or the field of a row. Without a column it is the row's first
    /// field, so a caller refuses that where [`columns`](Source::columns) has several. Allocates only for `out`.
    ///
    /// # Panics
    /// `drawn` or `column` is not of this source.
    #[inline]
    pub fn write(&self, drawn: u64, column: Option<u32>, out: &mut Vec<u8>) {
        match &self.kind {
            Kind::Rows(feeder) => out.extend_from_slice(feeder.field(drawn, column.unwrap_or(0))),
            _ => decimal(drawn, out),
        }
    }

    /// The names of a file's columns; none of a list or of numbers.
    pub fn columns(&self) -> &[String] {
        match &self.kind {
            Kind::Rows(feeder) => feeder.columns(),
            _ => &[],
        }
    }

    /// The column of this name.
    ///
    /// # Errors
    /// There is none: the text names the file, its line, and the columns that there are.
    pub fn column(&self, name: &str) -> Result<u32, String> {
        match (self.columns().iter().zip(0..).find(|(column, _)| *column == name), &self.kind) {
            (Some((_, at)), _) => Ok(at),
            (None, Kind::Rows(feeder)) => Err(feeder.lacks(name)),
            (None, _) => Err(format!("this value is a number, and has no column `{name}`")),
        }
    }

    /// What the caller has to know before it draws.
    pub fn needs(&self) -> Needs {
        match &self.kind {
            Kind::Keys(keys) => Needs {
                ordinal: keys.needs_ordinal(),
                inserted: keys.needs_inserted(),
                ended: keys.needs_ended(),
            },
            Kind::Ycsb(ycsb) => Needs {
                ordinal: ycsb.needs_ordinal(),
                inserted: ycsb.needs_inserted(),
                ended: ycsb.needs_ended(),
            },
            Kind::Rows(feeder) => Needs { ordinal: feeder.needs_ordinal(), ..Needs::default() },
            Kind::Size(_) | Kind::Weighted(_) => Needs::default(),
        }
    }

    /// Whether records that are inserted are numbered by it, each behind the one before.
    pub(crate) fn numbers_inserts(&self) -> bool {
        matches!(&self.kind, Kind::Ycsb(ycsb) if ycsb.needs_ordinal())
    }

    /// Whether numbers are drawn, not rows.
    pub fn is_number(&self) -> bool {
        !matches!(self.kind, Kind::Rows(_))
    }

    /// Whether keys are drawn, some of which may be more popular than others; other numbers are sizes.
    pub fn is_key(&self) -> bool {
        matches!(self.kind, Kind::Keys(_) | Kind::Ycsb(_))
    }

    /// The law in words: `zipf over 1 000 keys, exponent 0.99`.
    pub fn describe(&self) -> String {
        match &self.kind {
            Kind::Keys(keys) => keys.describe(),
            Kind::Size(size) => size.describe(),
            Kind::Weighted(weighted) => weighted.describe(),
            Kind::Ycsb(ycsb) => ycsb.describe(),
            Kind::Rows(feeder) => feeder.describe(),
        }
    }

    /// How many different values there are, where that is known and bounded.
    pub fn distinct(&self) -> Option<u64> {
        match &self.kind {
            Kind::Keys(keys) => keys.keys(),
            Kind::Size(size) => size.values(),
            Kind::Weighted(weighted) => Some(weighted.values()),
            Kind::Ycsb(ycsb) => ycsb.keys(),
            Kind::Rows(feeder) => Some(feeder.rows()),
        }
    }

    /// The expected share of the draws, from 0 to 1, that the `top` most frequent values get together. None where the law has
    /// no closed form for it. Where inserts move the law, as it is at the start.
    pub fn share_of_top(&self, top: u64) -> Option<f64> {
        match &self.kind {
            Kind::Keys(keys) => keys.share_of_top(top),
            Kind::Size(size) => size.share_of_top(top),
            Kind::Weighted(weighted) => Some(weighted.share_of_top(top)),
            Kind::Ycsb(ycsb) => ycsb.share_of_top(top),
            Kind::Rows(feeder) => feeder.share_of_top(top),
        }
    }
}

fn kind(call: &Call, open: &mut Open<'_>) -> Result<Kind, SourceError> {
    let name = call.name.text.as_str();
    let usage = |functions: &[(&str, &'static str)]| {
        functions.iter().find(|(known, _)| *known == name).map(|(_, usage)| *usage)
    };
    if let Some(usage) = usage(&keys::FUNCTIONS) {
        return Keys::parse(call, usage).map(Kind::Keys);
    }
    if let Some(usage) = usage(&sizes::FUNCTIONS) {
        return Size::parse(call, usage).map(Kind::Size);
    }
    if let Some(usage) = usage(&ycsb::FUNCTIONS) {
        return Ycsb::parse(call, usage).map(Kind::Ycsb);
    }
    if let Some(usage) = usage(&feeder::FUNCTIONS) {
        return Feeder::parse(call, usage, open).map(Arc::new).map(Kind::Rows);
    }
    if let Some(usage) = usage(&[HISTOGRAM]) {
        return histogram(call, usage, open).map(Arc::new).map(Kind::Weighted);
    }
    Err(unknown(call))
}

fn histogram(call: &Call, usage: &str, open: &mut Open<'_>) -> Result<Weighted, SourceError> {
    let given = Arguments::of(call, &["file"], usage)?;
    let file = given.needed("file", given.text("file")?)?;
    let reader = open(file).map_err(|error| Fault::of_file(format!("can't be opened: {error}")));
    let read = reader.and_then(|reader| Weighted::read(file, reader));
    read.map_err(|fault| fault.in_file(file, given.range("file")))
}

fn unknown(call: &Call) -> SourceError {
    let functions =
        [&keys::FUNCTIONS[..], &sizes::FUNCTIONS, &[HISTOGRAM], &feeder::FUNCTIONS, &ycsb::FUNCTIONS];
    let names: Vec<&str> = functions.concat().iter().map(|(name, _)| *name).collect();
    let name = &call.name;
    let message = match nearest(&name.text, &names) {
        Some(near) => format!("there is no function `{}`, did you mean `{near}`?", name.text),
        None => format!("there is no function `{}`; there are {}", name.text, names.join(", ")),
    };
    SourceError::at(name.range.clone(), message)
}
