//! Where the level of a series changed, and what it was before and after.

use unblink_analysis::change_points::change_points;

/// A change of the level of values on a scale on which a change by a tenth is the same step everywhere.
pub(super) struct Change {
    /// Place of the first value at the new level, from 0.
    pub(super) at: usize,
    /// Geometric mean from the change before to this one.
    pub(super) before: f64,
    /// That from this one to the next change.
    pub(super) after: f64,
    /// after / before − 1.
    pub(super) change: f64,
    /// How often values in random order show a change as clear as this.
    pub(super) p_value: f64,
}

/// The changes of `values`, which are above 0, oldest first.
pub(super) fn changes(values: impl Iterator<Item = f64>) -> Vec<Change> {
    let logarithms: Vec<f64> = values.map(f64::ln).collect();
    let found = change_points(&logarithms);
    let level =
        |from: usize, to: usize| (logarithms[from..to].iter().sum::<f64>() / (to - from) as f64).exp();
    let edges: Vec<usize> =
        [0].into_iter().chain(found.iter().map(|point| point.at)).chain([logarithms.len()]).collect();
    found
        .iter()
        .zip(edges.windows(3))
        .map(|(point, edges)| {
            let (before, after) = (level(edges[0], edges[1]), level(edges[1], edges[2]));
            Change { at: point.at, before, after, change: after / before - 1.0, p_value: point.p_value }
        })
        .collect()
}
