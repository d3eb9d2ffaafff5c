//! Whether a transaction found or changed something, as the server says of its statements.

use super::fault::Fault;

/// What statements have said. Of several the last one in this order holds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(super) enum Found {
    /// Nothing.
    #[default]
    Untold,
    /// It was done, and it has no rows to count, such as CREATE TABLE or SET.
    Uncounted,
    /// No row.
    Nothing,
    /// A row, at least.
    Rows,
}

impl Found {
    /// By the tag with which a statement is complete: `UPDATE 0`, `INSERT 0 1`, `CREATE TABLE`.
    pub(super) fn by_tag(tag: &[u8]) -> Result<Found, Fault> {
        let tag = tag.strip_suffix(b"\0").ok_or(Fault::BadMessage)?;
        let last = tag.rsplit(|&byte| byte == b' ').next().unwrap_or_default();
        Ok(match last {
            b"0" => Found::Nothing,
            [b'0'..=b'9', ..] => Found::Rows,
            _ => Found::Uncounted,
        })
    }

    /// Another statement, or a row, of the same transaction.
    #[inline]
    pub(super) fn add(&mut self, other: Found) {
        *self = other.max(*self);
    }

    /// What has no rows to count speaks for a transaction only if nothing else does: beside an update that misses, `SET LOCAL` finds
    /// nothing.
    #[inline]
    pub(super) fn is_something(self) -> bool {
        matches!(self, Found::Uncounted | Found::Rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_something(tags: &[&str]) -> bool {
        let mut found = Found::default();
        for tag in tags {
            found.add(Found::by_tag(format!("{tag}\0").as_bytes()).unwrap());
        }
        found.is_something()
    }

    #[test]
    fn what_counts_no_rows_speaks_only_where_nothing_else_does() {
        for (tags, expected) in [
            (&[][..], false),
            (&["UPDATE 0"], false),
            (&["UPDATE 0", "SET"], false),
            (&["SET", "UPDATE 0"], false),
            (&["DO", "DELETE 0", "CREATE TABLE", "SELECT 0"], false),
            (&["UPDATE 10"], true),
            (&["SET", "UPDATE 1"], true),
            (&["INSERT 0 1", "UPDATE 0"], true),
            (&["INSERT 0 0"], false),
            (&["CREATE TABLE"], true),
            (&["SET", "DO"], true),
            (&["BEGIN"], true),
        ] {
            assert_eq!(is_something(tags), expected, "{tags:?}");
        }
        assert_eq!(Found::by_tag(b"SELECT 1"), Err(Fault::BadMessage));
    }
}
