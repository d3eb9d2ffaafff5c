//! How the codecs list what can be wrong with an answer.

/// Declares the variants, their codes, their sentences and the list of all in one place, so that none can be missing from
/// `ALL`.
macro_rules! violations {
    (
        $(#[$about:meta])*
        $name:ident;
        $($variant:ident, $code:literal, $sentence:literal;)*
    ) => {
        $(#[$about])*
        #[derive(thiserror::Error, Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum $name {
            $(
                #[doc = concat!("`", $code, "`: ", $sentence, ".")]
                #[error($sentence)]
                $variant,
            )*
        }

        impl $name {
            /// All variants, for documents and tests.
            pub const ALL: &'static [$name] = &[$($name::$variant,)*];

            /// Their codes, in the same order.
            pub const CODES: &'static [&'static str] = &[$($code,)*];

            /// Its place in these lists.
            pub(crate) const fn number(self) -> u16 {
                self as u16
            }

            /// A stable snake_case name, for machine-readable output.
            pub const fn code(self) -> &'static str {
                Self::CODES[self as usize]
            }
        }
    };
}

pub(crate) use violations;

/// Holds that codes are distinct and snake_case, and that each variant has a plain sentence.
#[cfg(test)]
pub(crate) fn assert_plain(codes: &[&str], all: &[impl std::fmt::Display]) {
    for code in codes {
        let is_plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_';
        assert!(code.bytes().all(is_plain), "{code}");
    }
    let mut distinct = codes.to_vec();
    distinct.sort_unstable();
    distinct.dedup();
    assert_eq!(distinct.len(), all.len());
    for violation in all {
        let sentence = violation.to_string();
        assert!(!sentence.is_empty() && !sentence.ends_with('.'), "{sentence}");
    }
}
