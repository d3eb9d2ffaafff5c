//! Names in a message.

/// Names that are listed; of more, the number is said.
const LISTED_MAX: usize = 5;

/// `GET /a, GET /b` or, of many, `GET /a, GET /b, GET /c, GET /d, GET /e and 251 more`.
pub fn few<T: AsRef<str>>(names: &[T]) -> String {
    // One more takes no more room than to say so.
    let listed = if names.len() == LISTED_MAX + 1 { names.len() } else { LISTED_MAX.min(names.len()) };
    let list: Vec<&str> = names[..listed].iter().map(AsRef::as_ref).collect();
    match names.len() - listed {
        0 => list.join(", "),
        more => format!("{} and {more} more", list.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::few;

    #[test]
    fn a_handful_is_listed() {
        assert_eq!(few(&["a"]), "a");
        assert_eq!(few(&["a", "b", "c", "d", "e", "f"]), "a, b, c, d, e, f");
        let many: Vec<String> = (0..256).map(|i| format!("n{i}")).collect();
        assert_eq!(few(&many), "n0, n1, n2, n3, n4 and 251 more");
    }
}
