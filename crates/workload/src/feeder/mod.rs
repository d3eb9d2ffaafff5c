//! Rows of files and lists: who is asked for, with all that belongs together.

mod csv;
mod jsonl;
mod table;

use std::io::{self, Read};

use unblink_core::random::mixed;
use unblink_core::shuffle::Shuffle;

use crate::draws::{Drawing, Draws};
use crate::error::{Fault, SourceError};
use crate::expression::arguments::{Arguments, nearest};
use crate::expression::number::grouped;
use crate::expression::{Call, Text, Value};
use crate::lines::Lines;
use table::{Table, listed};

/// Keeps the orders of a value's rows apart from its draws.
const ORDER: u64 = 0x6f72_6465_7200_0000;

/// The functions of this module, and how each is written.
pub(crate) const FUNCTIONS: [(&str, &str); 3] = [
    ("csv", "csv(file, order): csv(users.csv, shuffled)"),
    ("jsonl", "jsonl(file, order): jsonl(users.jsonl, random)"),
    ("list", "list(file, order), or list([\"a\", \"b\"], order)"),
];

/// How an expression's files are opened.
pub(crate) type Open<'a> = dyn FnMut(&str) -> io::Result<Box<dyn Read>> + 'a;

/// Rows and the order in which arrivals take them.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Feeder {
    /// As the expression has it; "the list" for values that stand in it.
    name: String,
    table: Table,
    order: Order,
    shuffle: Shuffle,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Order {
    Sequential,
    Shuffled,
    Random,
    Once,
}

const ORDERS: [(&str, Order); 4] = [
    ("sequential", Order::Sequential),
    ("shuffled", Order::Shuffled),
    ("random", Order::Random),
    ("once", Order::Once),
];

impl Feeder {
    /// Reads a call of one of [`FUNCTIONS`], and its file.
    pub(crate) fn parse(call: &Call, usage: &str, open: &mut Open<'_>) -> Result<Feeder, SourceError> {
        let given = Arguments::of(call, &["file", "order"], usage)?;
        let order = order(&given)?;
        let is_list = call.name.text == "list";
        if let (true, Some(Value::List(values, _))) = (is_list, given.value("file")) {
            return Feeder::of_list(values, order, given.range("file"));
        }
        let file = given.needed("file", given.text("file")?)?;
        let read = match call.name.text.as_str() {
            "csv" => csv::read,
            "jsonl" => jsonl::read,
            _ => read_list,
        };
        let table =
            open(file).map_err(|error| Fault::of_file(format!("can't be opened: {error}"))).and_then(read);
        let table = table.map_err(|fault| fault.in_file(file, given.range("file")))?;
        Ok(Feeder::of(file, table, order))
    }

    /// Of `["a", "b"]`, one value after another.
    pub(crate) fn of_values(values: &[Text], range: std::ops::Range<usize>) -> Result<Feeder, SourceError> {
        Feeder::of_list(values, Order::Sequential, range)
    }

    fn of_list(values: &[Text], order: Order, range: std::ops::Range<usize>) -> Result<Feeder, SourceError> {
        let mut table = Table::new(Vec::new());
        for value in values {
            table.push(value.text.as_bytes()).map_err(|message| SourceError::at(range.clone(), message))?;
        }
        let table = table.finished("the list is empty: there is nothing to draw");
        let table = table.map_err(|fault| SourceError::at(range, fault.message))?;
        Ok(Feeder::of("the list", table, order))
    }

    fn of(name: &str, table: Table, order: Order) -> Feeder {
        Feeder { name: name.to_string(), shuffle: Shuffle::of(table.rows()), table, order }
    }

    /// The number of a row, from 0; none when each has been taken once.
    #[inline]
    pub(crate) fn draw(&self, seed: u64, drawing: &Drawing) -> Option<u64> {
        let (rows, ordinal) = (self.table.rows(), drawing.ordinal);
        match self.order {
            Order::Sequential => Some(ordinal % rows),
            Order::Shuffled => {
                let pass = mixed(mixed(seed ^ ORDER) ^ (ordinal / rows));
                Some(self.shuffle.at(pass, ordinal % rows))
            }
            Order::Random => Some(Draws::new(seed, drawing.key).below(rows)),
            Order::Once => (ordinal < rows).then_some(ordinal),
        }
    }

    pub(crate) fn needs_ordinal(&self) -> bool {
        self.order != Order::Random
    }

    #[inline]
    pub(crate) fn field(&self, row: u64, column: u32) -> &[u8] {
        self.table.field(row, column)
    }

    pub(crate) fn columns(&self) -> &[String] {
        self.table.columns()
    }

    pub(crate) fn rows(&self) -> u64 {
        self.table.rows()
    }

    /// Why there is no column of this name.
    pub(crate) fn lacks(&self, column: &str) -> String {
        if self.columns().is_empty() {
            return format!("{} has no columns: its rows are single values", self.name);
        }
        let names: Vec<&str> = self.columns().iter().map(String::as_str).collect();
        let rather = rather(column, &names);
        format!("{}:1: no column is called `{column}`{rather} {}", self.name, listed(self.columns()))
    }

    pub(crate) fn describe(&self) -> String {
        let order = match self.order {
            Order::Sequential => "one after another",
            Order::Shuffled => "in a new random order in each pass",
            Order::Random => "each at random",
            Order::Once => "each once",
        };
        format!("{} rows of {}, {order}", grouped(self.rows()), self.name)
    }

    /// The share of the arrivals that the `top` most frequent rows get; none where each is taken once.
    pub(crate) fn share_of_top(&self, top: u64) -> Option<f64> {
        let rows = self.rows();
        (self.order != Order::Once).then(|| top.min(rows) as f64 / rows as f64)
    }
}

fn order(given: &Arguments<'_>) -> Result<Order, SourceError> {
    let Some(word) = given.text("order")? else { return Ok(Order::Sequential) };
    ORDERS.iter().find(|(name, _)| *name == word).map(|(_, order)| *order).ok_or_else(|| {
        let names = ORDERS.map(|(name, _)| name);
        let message = format!("there is no order `{word}`{} {}", rather(word, &names), names.join(", "));
        given.refused("order", message)
    })
}

/// What was probably meant, and how the names that there are begin.
fn rather(word: &str, names: &[&str]) -> String {
    match nearest(word, names) {
        Some(near) => format!(", did you mean `{near}`? There are"),
        None => "; there are".to_string(),
    }
}

/// One value per line; blank lines are left out.
fn read_list(reader: Box<dyn Read + '_>) -> Result<Table, Fault> {
    let mut lines = Lines::of(reader);
    let mut table = Table::new(Vec::new());
    while let Some((line, text)) = lines.next()? {
        table.push(text.as_bytes()).map_err(|message| Fault::at(line, message))?;
    }
    table.finished("has no lines; write a value in each")
}
