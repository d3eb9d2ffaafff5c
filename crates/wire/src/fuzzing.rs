//! Invariants of the parser, checked for any input. Shared by the fuzz target, the replay of its corpus
//! and the property tests; not part of the API.
