//! Rows of a JSON Lines file: an object in each line, with the columns that the first one has.

use std::fmt;
use std::io::Read;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::table::{Table, distinct, listed};
use crate::error::Fault;
use crate::lines::Lines;

/// Reads all rows. A text is what it stands for; all else (numbers, lists, `null`) stays as it is written. Members that the
/// first object does not have are left out, and so are blank lines.
///
/// # Errors
/// No rows, a line that is no object, an object that lacks a column or has it twice, bytes that are not UTF-8.
pub(super) fn read(reader: Box<dyn Read + '_>) -> Result<Table, Fault> {
    let mut lines = Lines::of(reader);
    let mut table: Option<Table> = None;
    while let Some((line, text)) = lines.next()? {
        let Object(members) = serde_json::from_str(text).map_err(|error| not_an_object(line, &error))?;
        let names: Vec<String> = members.iter().map(|(name, _)| name.clone()).collect();
        distinct(&names, line)?;
        if names.is_empty() && table.is_none() {
            return Err(Fault::at(line, "the first object is empty; its members name the columns"));
        }
        let table = table.get_or_insert_with(|| Table::new(names));
        for column in 0..table.columns().len() {
            let name = &table.columns()[column];
            // Most objects have the same order as the first.
            let same = members.get(column).filter(|member| member.0 == *name);
            let Some((_, value)) = same.or_else(|| members.iter().find(|member| member.0 == *name)) else {
                let columns = listed(table.columns());
                let message = format!("`{name}` is missing; the first object has {columns}");
                return Err(Fault::at(line, message));
            };
            let written = value.get();
            let pushed = if written.starts_with('"') {
                let text: String = serde_json::from_str(written)
                    .map_err(|_| Fault::at(line, format!("`{name}`: this stands for no text")))?;
                table.push(text.as_bytes())
            } else {
                table.push(written.as_bytes())
            };
            pushed.map_err(|message| Fault::at(line, message))?;
        }
    }
    let without_rows = "has no lines; write an object in each";
    table.ok_or_else(|| Fault::of_file(without_rows))?.finished(without_rows)
}

fn not_an_object(line: u64, error: &serde_json::Error) -> Fault {
    Fault::at(line, format!("this is not a JSON object (column {}); write one in each line", error.column()))
}

/// Members in the order of the text.
struct Object<'a>(Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for Object<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;

        impl<'de> Visitor<'de> for Members {
            type Value = Object<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Object<'de>, A::Error> {
                let mut members = Vec::new();
                while let Some((name, value)) = map.next_entry::<String, &RawValue>()? {
                    members.push((name, value));
                }
                Ok(Object(members))
            }
        }

        deserializer.deserialize_map(Members)
    }
}
