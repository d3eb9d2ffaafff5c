//! A field that there is not, and what was probably meant.

use super::fields::{self, Field, TOP};
use super::lists::{List, REQUESTS};
use super::source::Wrong;
use super::tree::{Key, Node, Value};

/// There is no field of this name among `own`, but maybe elsewhere.
pub(super) fn unknown<'a>(whole: &str, key: &Key, own: impl Iterator<Item = &'a str> + Clone) -> Wrong {
    let name = key.name.as_str();
    let message = format!("{whole} has no {name:?}");
    // Several lists have some of the names, and a request is what is meant most often.
    let of_request = || fields::of(REQUESTS).find(|field| field.name == name);
    let of_list = |field: &Field| List::called(&field.section).is_some();
    match fields::named(name).map(|field| of_request().filter(|_| of_list(field)).unwrap_or(field)) {
        Some(other) => Wrong { help: belongs(other), ..Wrong::new(key.at.clone(), message) },
        None => {
            let list = own.clone().collect::<Vec<_>>().join(", ");
            Wrong::new(key.at.clone(), format!("{message}; there are {list}")).or_rather(name, own)
        }
    }
}

/// Where a field stands.
fn belongs(field: &Field) -> Option<String> {
    Some(match field.section.as_str() {
        TOP => "it belongs above all sections".to_string(),
        list if List::called(list).is_some() => format!("it belongs into [[{list}]]"),
        section if field.key() != field.name => format!("it is called {} in [{section}]", field.key()),
        section => format!("it belongs into [{section}]"),
    })
}

/// What stands in a section's place and is none. A list is easily meant for another one: `[[request]]` for `[[requests]]`.
pub(super) fn not_a_section(name: &str, node: &Node) -> String {
    let list = List::called(&format!("{name}s")).map(|list| list.name);
    match (&node.value, list) {
        (Value::List(_), Some(list)) => {
            format!("[{name}] is a section, of which there is one: write [{name}], or [[{list}]] for a list")
        }
        (Value::List(_), None) => format!("[{name}] is a section, of which there is one: write [{name}]"),
        _ => "a section is a table of fields".to_string(),
    }
}
