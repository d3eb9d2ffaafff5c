//! A value that is drawn from another one, which can't be: what is said of it.

/// What the name of another value, or its own, in the expression of `failing` means. `all` are names and expressions; it is asked
/// once the expression can't be read.
pub(crate) fn explained(failing: &str, all: &[(&str, &str)]) -> Option<String> {
    let first = named(failing, all).next()?;
    let mut way = vec![failing, first];
    // Each name is gone through once at the most.
    while way.len() <= all.len()
        && way.last() != Some(&failing)
        && let Some(next) =
            named(way[way.len() - 1], all).find(|next| *next == failing || !way.contains(next))
    {
        way.push(next);
    }
    if way.last() == Some(&failing) {
        return Some(format!(
            "this goes in a circle: {}. A value is drawn from what stands in its own line, and from no other value",
            way.join(", which is drawn from ").replacen(", which is", " is", 1)
        ));
    }
    Some(format!(
        "`{first}` is another value, and a value is drawn from what stands in its own line alone; a request may have both, as in \
         {{{{{failing}}}}} and {{{{{first}}}}}"
    ))
}

/// The values that stand in the expression of `name`, without what stands in quotes.
fn named<'a>(name: &str, all: &'a [(&'a str, &'a str)]) -> impl Iterator<Item = &'a str> {
    let text = all.iter().find(|(one, _)| *one == name).map_or("", |(_, text)| *text);
    let outside = text.split(['\'', '"']).step_by(2);
    let words = outside.flat_map(|part| part.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '-'));
    let known = words.filter_map(|word| all.iter().find(|(one, _)| *one == word).map(|(one, _)| *one));
    known.collect::<Vec<_>>().into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn circles_are_told_from_values_that_name_another() {
        let all =
            [("a", "uniform(b)"), ("b", "zipf(c)"), ("c", "{{a}}"), ("d", "uniform(d)"), ("e", "uniform(a)")];
        let said = |name| explained(name, &all).unwrap_or_default();
        assert!(
            said("a")
                .contains("in a circle: a is drawn from b, which is drawn from c, which is drawn from a."),
            "{}",
            said("a")
        );
        assert!(said("d").contains("in a circle: d is drawn from d."), "{}", said("d"));
        assert!(said("e").starts_with("`a` is another value"), "{}", said("e"));
        assert_eq!(explained("x", &[("x", "zipf(0)"), ("y", "uniform(9)")]), None);
        assert_eq!(explained("x", &[("x", "list('y', 3"), ("y", "uniform(9)")]), None);
    }
}
