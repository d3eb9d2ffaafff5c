//! Text that fits a terminal: cleaned, measured in cells, cut and wrapped.

use crate::format;
use std::collections::HashMap;
use unblink_artifact::harmless;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// A table's first column is cut where the terminal is narrow, but not below this.
pub(super) const NAME_MIN: usize = 12;

/// Text from a document for a terminal: ordinary spaces, and nothing that could move the cursor, change
/// colours or turn the reading direction.
pub(crate) fn clean(text: &str) -> String {
    harmless::replaced(&format::plain(text))
}

/// Cells of a terminal that a text takes: two for a letter of East Asia.
pub(super) fn cells(text: &str) -> usize {
    text.width()
}

/// How many characters of `text` stand in so many cells.
pub(super) fn within(text: &str, room: usize) -> usize {
    let mut used = 0;
    let fits = |c: &char| {
        used += c.width().unwrap_or(0);
        used <= room
    };
    text.chars().take_while(fits).count()
}

/// How many characters of `text`, `room` at most, can stand without a figure being cut: `1 2…` would be another one.
pub(super) fn whole_figures(text: &str, room: usize) -> usize {
    let all: Vec<char> = text.chars().collect();
    let is = |i: Option<usize>, of: fn(char) -> bool| i.and_then(|i| all.get(i)).is_some_and(|&c| of(c));
    let digit = |c: char| c.is_ascii_digit();
    let part = |c: char| c.is_ascii_digit() || c == '.';
    let space = |c: char| c == ' ';
    // Between these two characters: within digits, or at the space between thousands.
    let is_inside = |i: usize| {
        let (before, after) = (i.checked_sub(1), Some(i));
        (is(before, part) && is(after, part))
            || (is(before, digit) && is(after, space) && is(Some(i + 1), digit))
            || (is(i.checked_sub(2), digit) && is(before, space) && is(after, digit))
    };
    (0..=room.min(all.len())).rev().find(|&i| !is_inside(i)).unwrap_or(0)
}

pub(super) fn cut(text: &str, width: usize) -> String {
    if cells(text) <= width {
        return text.into();
    }
    let room = within(text, width.saturating_sub(1));
    let mut cut: String = text.chars().take(whole_figures(text, room)).collect();
    cut.push('…');
    cut
}

/// Different names would be the same, cut at their ends.
pub(super) fn begin_alike(names: impl Iterator<Item = String>, width: usize) -> bool {
    let mut seen: HashMap<String, String> = HashMap::new();
    names.filter(|name| cells(name) > width).any(|name| {
        let before = seen.insert(cut(&name, width), name.clone());
        before.is_some_and(|before| before != name)
    })
}

/// Addresses and paths in the middle, and all names of a table that are alike before that: those that begin alike often differ in
/// how they end.
pub(super) fn cut_name(text: &str, width: usize, in_middle: bool) -> String {
    let all: Vec<char> = text.chars().collect();
    if cells(text) <= width || width < NAME_MIN || !(in_middle || text.contains('/')) {
        return cut(text, width);
    }
    let room = width - 1;
    let head = whole_figures(text, within(text, room - room / 2));
    // No figure begins within the name but where it does.
    let is_inside = |i: usize| i < all.len() && all[i].is_ascii_digit() && all[i - 1].is_ascii_digit();
    let backwards: String = all.iter().rev().collect();
    let tail = all.len() - within(&backwards, room / 2);
    let from = (tail..).find(|&i| !is_inside(i)).unwrap_or(all.len());
    all[..head].iter().chain(&['…']).chain(&all[from..]).collect()
}

/// Breaks at ordinary spaces; a word that is too long for a line is broken anywhere.
pub(super) fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    let text = format::hold_figures(text);
    for word in text.split([' ', '\n', '\t']).filter(|word| !word.is_empty()) {
        let mut word = clean(word);
        if !line.is_empty() && cells(&line) + 1 + cells(&word) > width {
            lines.push(std::mem::take(&mut line));
        }
        if !line.is_empty() {
            line.push(' ');
        }
        while cells(&word) > width {
            let room = within(&word, width).max(1);
            let head: String = word.chars().take(room).collect();
            word = word.chars().skip(room).collect();
            lines.push(head);
        }
        line.push_str(&word);
    }
    if !line.is_empty() {
        lines.push(line);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrapping_keeps_figures_together_and_breaks_long_words() {
        assert_eq!(wrap("waited 10\u{a0}ms longer", 12), ["waited 10 ms", "longer"]);
        assert_eq!(wrap("ab abcdefgh", 4), ["ab", "abcd", "efgh"]);
        assert_eq!(wrap("them (4.78 %) waited", 11), ["them", "(4.78 %)", "waited"]);
        assert!(wrap("", 4).is_empty());
    }

    #[test]
    fn no_figure_is_cut() {
        for (text, room, left) in [
            ("sent 12 345 of them", 9, "sent "),
            ("sent 12 345 of them", 7, "sent "),
            ("sent 12 345 of them", 12, "sent 12 345 "),
            ("took 10.25 ms", 7, "took "),
            ("no figure here", 5, "no fi"),
        ] {
            let kept: String = text.chars().take(whole_figures(text, room)).collect();
            assert_eq!(kept, left, "{text} in {room}");
        }
    }

    #[test]
    fn names_that_differ_in_their_ends_are_told_apart() {
        let names = ["https://shop.example.internal:8443", "https://shop.example.internal:9443"];
        assert_eq!(
            names.map(|name| cut_name(name, 22, false)),
            ["https://sho…ernal:8443", "https://sho…ernal:9443"]
        );
        assert_eq!(cut_name("https://shop.example.internal:12345", 13, false), "https:…:12345");
        assert_eq!(cut_name("https://shop.example.internal/1234567", 13, false), "https:…");
        assert_eq!(cut_name("short", 13, false), "short");
        assert_eq!(cut_name("p50 by interval", 13, false), "p50 by inter…");
    }
}
