//! What `done(summary, latency, requests)` is told.

use mlua::{Lua, MetaMethod, Result, Table, UserData, UserDataFields, UserDataMethods};

/// What came of a run, in the units of wrk: microseconds, and counts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figures {
    /// How long the load went on, in microseconds.
    pub duration_us: u64,
    /// Whole answers.
    pub requests: u64,
    /// Bytes that were received.
    pub bytes: u64,
    /// Connections that could not be opened.
    pub connect_errors: u64,
    /// Answers that broke off, or were none.
    pub read_errors: u64,
    /// Requests that could not be written.
    pub write_errors: u64,
    /// Statuses that count as failed.
    pub status_errors: u64,
    /// Arrivals that timed out.
    pub timeouts: u64,
    /// Response times, in microseconds.
    pub latency: Spread,
    /// Answers per second, of each second.
    pub requests_per_s: Spread,
}

/// How values lie.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Spread {
    /// The smallest.
    pub min: f64,
    /// The largest.
    pub max: f64,
    /// Their mean.
    pub mean: f64,
    /// Their standard deviation.
    pub stdev: f64,
    /// Percents, rising, and the value below which so many of them lie.
    pub percentiles: Vec<(f64, f64)>,
    /// The different values, rising, and how often each came.
    pub values: Vec<(f64, u64)>,
}

impl Spread {
    /// The value of the lowest known percentile that is no lower than `percent`: what is said is never too good.
    fn percentile(&self, percent: f64) -> f64 {
        let found = self.percentiles.iter().find(|(known, _)| *known >= percent - 1e-9);
        found.map_or(self.max, |(_, value)| *value)
    }

    /// The value with this number, from 1, and how often it came; beyond the last one nothing did.
    fn at(&self, number: f64) -> (f64, u64) {
        let whole = (1.0..=self.values.len() as f64).contains(&number).then(|| number as usize - 1);
        whole.map_or((0.0, 0), |number| self.values[number])
    }
}

/// How values lie, as scripts of wrk ask for it: `min`, `max`, `mean`, `stdev`, `percentile(p)` as a method, the number of different
/// values as the length, and in a call the i-th of these with how often it came.
impl UserData for Spread {
    fn add_fields<F: UserDataFields<Self>>(fields: &mut F) {
        fields.add_field_method_get("min", |_, spread| Ok(spread.min));
        fields.add_field_method_get("max", |_, spread| Ok(spread.max));
        fields.add_field_method_get("mean", |_, spread| Ok(spread.mean));
        fields.add_field_method_get("stdev", |_, spread| Ok(spread.stdev));
    }

    fn add_methods<M: UserDataMethods<Self>>(methods: &mut M) {
        methods.add_method("percentile", |_, spread, percent: f64| Ok(spread.percentile(percent)));
        methods.add_meta_method(MetaMethod::Len, |_, spread, ()| Ok(spread.values.len() as f64));
        methods.add_meta_method(MetaMethod::Call, |_, spread, number: f64| {
            let (value, count) = spread.at(number);
            Ok((value, count as f64))
        });
    }
}

/// The first argument of `done`.
pub(super) fn summary(figures: &Figures, lua: &Lua) -> Result<Table> {
    let errors = lua.create_table()?;
    for (name, count) in [
        ("connect", figures.connect_errors),
        ("read", figures.read_errors),
        ("write", figures.write_errors),
        ("status", figures.status_errors),
        ("timeout", figures.timeouts),
    ] {
        errors.set(name, count as f64)?;
    }
    let summary = lua.create_table()?;
    summary.set("duration", figures.duration_us as f64)?;
    summary.set("requests", figures.requests as f64)?;
    summary.set("bytes", figures.bytes as f64)?;
    summary.set("errors", errors)?;
    Ok(summary)
}
