//! One step on the way to a value.

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Step {
    /// `.name` or `['name']`: a member of an object.
    Member(String),
    /// `[0]`: an element of an array.
    Element(usize),
    /// `[*]` or `.*`: every one of either.
    Each,
}
