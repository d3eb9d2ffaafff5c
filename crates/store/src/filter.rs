//! Which runs are asked for.

use jiff::Timestamp;

/// Which runs are asked for; everything that is given must fit.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// The beginning of its name.
    pub id: Option<String>,
    /// Of one load on one target.
    pub series: Option<String>,
    /// In a URL of its targets, in letters of any size.
    pub target: Option<String>,
    /// Keys, each with its value or any.
    pub tags: Vec<(String, Option<String>)>,
    /// In the baseline of this name.
    pub baseline: Option<String>,
    /// Not older.
    pub since: Option<Timestamp>,
    /// `valid`, `degraded` or `invalid`.
    pub validity: Option<String>,
    /// `pass`, `fail` or `inconclusive`.
    pub verdict: Option<String>,
    /// The newest this many.
    pub limit: Option<u32>,
}

impl Filter {
    /// A query for `column` of the runs with numbered places, and what is bound to them. One row more than the limit:
    /// are there more?
    pub(crate) fn query(&self, column: &'static str) -> (String, Vec<String>) {
        let mut conditions = Vec::new();
        let mut values = Vec::new();
        let mut place = |value: String| {
            values.push(value);
            format!("${}", values.len())
        };
        if let Some(id) = &self.id {
            conditions.push(format!("id LIKE {} ESCAPE '!'", place(escaped(id) + "%")));
        }
        if let Some(target) = &self.target {
            let pattern = format!("%{}%", escaped(&target.to_lowercase()));
            conditions.push(format!("LOWER(target) LIKE {} ESCAPE '!'", place(pattern)));
        }
        for (column, value) in
            [("series", &self.series), ("validity", &self.validity), ("verdict", &self.verdict)]
        {
            if let Some(value) = value {
                conditions.push(format!("{column} = {}", place(value.clone())));
            }
        }
        for (tag, value) in &self.tags {
            let value = value.as_ref().map(|value| format!(" AND value = {}", place(value.clone())));
            conditions.push(format!(
                "id IN (SELECT run_id FROM tags WHERE tag = {}{})",
                place(tag.clone()),
                value.unwrap_or_default()
            ));
        }
        if let Some(name) = &self.baseline {
            let name = place(name.clone());
            conditions.push(format!("id IN (SELECT run_id FROM baselines WHERE name = {name})"));
        }
        if let Some(since) = self.since {
            // A number that was counted here, not a text that was given.
            conditions.push(format!("started_ns >= {}", nanoseconds(since)));
        }
        let mut sql = format!("SELECT {column} FROM runs");
        if !conditions.is_empty() {
            sql += &format!(" WHERE {}", conditions.join(" AND "));
        }
        sql += " ORDER BY started_ns DESC, id";
        if let Some(limit) = self.limit {
            sql += &format!(" LIMIT {}", u64::from(limit) + 1);
        }
        (sql, values)
    }
}

/// After 1970; times that far away are none of a run.
pub(crate) fn nanoseconds(at: Timestamp) -> i64 {
    i64::try_from(at.as_nanosecond()).unwrap_or(i64::MAX)
}

/// For LIKE, with `!` before what would stand for anything.
fn escaped(text: &str) -> String {
    text.chars().flat_map(|c| ['!', c].into_iter().skip(usize::from(!matches!(c, '!' | '%' | '_')))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_given_is_bound() {
        let filter = Filter {
            target: Some("50%_'".into()),
            tags: vec![("a'".into(), Some("b'".into())), ("c".into(), None)],
            limit: Some(3),
            ..Filter::default()
        };
        let (sql, values) = filter.query("run");
        assert_eq!(values, ["%50!%!_'%", "b'", "a'", "c"]);
        assert!(sql.contains("LIMIT 4") && sql.contains("$4") && !sql.contains("b'"), "{sql}");
    }
}
