//! Counts by name in the line of an interval: the names are those of the fields.

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde::ser::{Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use unblink_core::record::Counted;

/// An object of counts. Reading it, those that are not there are 0, and those that are not known are passed over.
#[derive(Clone, Copy, Default, PartialEq)]
pub(super) struct ByName<T>(pub(super) T);

impl<T: Counted + PartialEq> ByName<T> {
    /// Nothing was counted: what is not there is not written.
    pub(super) fn is_empty(&self) -> bool {
        *self == ByName::default()
    }
}

impl<T: Counted> Serialize for ByName<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let counts = self.0.counts().into_iter().enumerate();
        let written = counts.filter(|(place, (_, n))| *place < T::WRITTEN || *n > 0);
        serializer.collect_map(written.map(|(_, count)| count))
    }
}

impl<'de, T: Counted> Deserialize<'de> for ByName<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Counts<T>(PhantomData<T>);

        impl<'de, T: Counted> Visitor<'de> for Counts<T> {
            type Value = ByName<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of counts")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<ByName<T>, A::Error> {
                let mut counts = T::default();
                while let Some(name) = map.next_key::<Cow<'_, str>>()? {
                    let place = T::NAMES.iter().position(|known| *known == name);
                    match place.and_then(|place| counts.counts_mut().nth(place)) {
                        Some(count) => *count = map.next_value()?,
                        None => drop(map.next_value::<IgnoredAny>()?),
                    }
                }
                Ok(ByName(counts))
            }
        }

        deserializer.deserialize_map(Counts(PhantomData))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use unblink_core::record::LagCauses;

    #[test]
    fn what_is_written_is_read() {
        let lag = LagCauses { connecting: 3, held_ns: 5, ..LagCauses::default() };
        let text = serde_json::to_string(&ByName(lag)).expect("counts");
        let written = r#"{"no_connection":0,"no_connection_ns":0,"connecting":3,"connecting_ns":0,"generator_ns":0,"held_ns":5}"#;
        assert_eq!(text, written);
        let read: ByName<LagCauses> = serde_json::from_str(&text).expect("counts");
        assert_eq!(read.0, lag);
        let later = r#"{"connecting":3,"of_later_builds":{"a":[1]},"held_ns":5}"#;
        assert_eq!(serde_json::from_str::<ByName<LagCauses>>(later).expect("counts").0, lag);
        assert!(serde_json::from_str::<ByName<LagCauses>>(r#"{"connecting":-3}"#).is_err());
    }
}
