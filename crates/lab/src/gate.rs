//! Stretches of time that a scenario names: pauses, one or several at equal distances.

/// A pause, or several at equal distances: shut in `[first + k·period, first + k·period + duration)` for k < count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gate {
    /// When the gate shuts for the first time, in ns on the event clock.
    pub first_at_ns: u64,
    /// How long it stays shut each time, in ns.
    pub duration_ns: u64,
    /// From one shutting to the next, in ns. Without meaning when `count` is 1.
    pub period_ns: u64,
    /// How often it shuts.
    pub count: u32,
}

impl Gate {
    /// One pause.
    pub fn once(at_ns: u64, duration_ns: u64) -> Self {
        Self { first_at_ns: at_ns, duration_ns, period_ns: 0, count: 1 }
    }

    /// Its pauses in order, each from when it shuts to when it opens.
    pub fn stretches(&self) -> impl Iterator<Item = (u64, u64)> {
        let Gate { first_at_ns, duration_ns, period_ns, count } = *self;
        (0..u64::from(count)).map(move |nth| {
            let from_ns = first_at_ns + nth * period_ns;
            (from_ns, from_ns + duration_ns)
        })
    }

    /// All its times by `by` over `of`.
    pub(crate) fn scaled(self, by: u64, of: u64) -> Gate {
        let scale = |ns: u64| scaled(ns, by, of);
        Gate {
            first_at_ns: scale(self.first_at_ns),
            duration_ns: scale(self.duration_ns).max(1),
            period_ns: scale(self.period_ns),
            count: self.count,
        }
    }

    /// When the pause that covers `at_ns` ends, in ns on the event clock.
    pub(crate) fn end_ns(&self, at_ns: u64) -> Option<u64> {
        let since_first_ns = at_ns.checked_sub(self.first_at_ns)?;
        let nth = if self.count > 1 {
            since_first_ns.checked_div(self.period_ns).unwrap_or(0).min(u64::from(self.count) - 1)
        } else {
            0
        };
        let shut_ns = self.first_at_ns + nth * self.period_ns;
        (at_ns - shut_ns < self.duration_ns).then(|| shut_ns + self.duration_ns)
    }
}

/// `ns · by / of`; times of a scenario and lengths of runs are far below 2⁶⁴ ns.
pub(crate) fn scaled(ns: u64, by: u64, of: u64) -> u64 {
    (u128::from(ns) * u128::from(by) / u128::from(of)) as u64
}
