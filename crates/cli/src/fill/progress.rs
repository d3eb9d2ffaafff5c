//! How far a fill is, in a file.

use crate::args::fill::FillArgs;
use crate::secrets;
use crate::ycsb::workload::Workload;
use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// What is being written, and how much of it is.
#[derive(Serialize, Deserialize, Clone, PartialEq, Eq, Debug)]
pub(super) struct Progress {
    schema: String,
    /// Of the store, without secrets.
    url: String,
    /// The socket in place of the address.
    #[serde(default)]
    unix_socket: Option<PathBuf>,
    /// Of PostgreSQL: what the URL leaves out, the environment says.
    #[serde(default)]
    database: Option<String>,
    table: String,
    records: u64,
    fields: u32,
    field_length: u32,
    is_ordered: bool,
    digits: u8,
    seed: u64,
    /// The first so many records are there.
    pub(super) written: u64,
}

const SCHEMA: &str = "unblink/fill/1";

impl Progress {
    /// Of a fill that begins. `database` is what the environment or the user's name says where the URL may not.
    pub(super) fn new(
        args: &FillArgs,
        database: Option<String>,
        workload: &Workload,
        records: u64,
    ) -> Progress {
        let socket = args.unix_socket.as_deref();
        Progress {
            schema: SCHEMA.into(),
            url: secrets::mask_url(&args.url),
            // Relative to another folder it would be another one.
            unix_socket: socket.map(|path| std::path::absolute(path).unwrap_or_else(|_| path.into())),
            database,
            table: workload.table.clone(),
            records,
            fields: workload.fields,
            field_length: workload.field_length,
            is_ordered: workload.names.is_ordered,
            digits: workload.names.digits,
            seed: args.seed,
            written: 0,
        }
    }

    /// The same, as far as the one that was interrupted had come.
    pub(super) fn resumed(self, path: &Path) -> Result<Progress> {
        let shown = path.display();
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => bail!(
                "--resume: there is no file {shown}, so that nothing was interrupted: leave --resume out, or name the file by \
                 --progress"
            ),
            Err(error) => return Err(error).with_context(|| format!("--resume: {shown} can't be read")),
        };
        let before: Progress = serde_json::from_str(&text)
            .with_context(|| format!("--resume: {shown} is not the progress file of a fill"))?;
        if !self.is_the_same(&before) || before.written > self.records {
            bail!(
                "--resume: {shown} belongs to a fill with another store, workload or seed ({}): repeat the original command, or \
                 name this one's file (--progress FILE)",
                before.in_words()
            );
        }
        Ok(before)
    }

    /// Another store, workload or seed would have other records; how far it has come is no matter.
    fn is_the_same(&self, before: &Progress) -> bool {
        *before == Progress { written: before.written, ..self.clone() }
    }

    fn in_words(&self) -> String {
        format!("{} records of {}, seed {}", self.records, self.store(), self.seed)
    }

    /// Which store it is, in words.
    fn store(&self) -> String {
        let socket = self.unix_socket.as_ref().map(|path| format!(" by {}", path.display()));
        let database = self.database.as_ref().map(|name| format!(", database {name}"));
        format!("{}{}{}", self.url, socket.unwrap_or_default(), database.unwrap_or_default())
    }

    /// One that was interrupted would be forgotten.
    pub(super) fn refuse_another(&self, path: &Path) -> Result<()> {
        if !path.exists() {
            return Ok(());
        }
        let shown = path.display();
        let before = std::fs::read_to_string(path).ok();
        let before = before.and_then(|text| serde_json::from_str::<Progress>(&text).ok());
        match before {
            Some(before) if !self.is_the_same(&before) => bail!(
                "{shown} is left from an interrupted fill of another store, workload or seed ({}): keep the progress of this \
                 one elsewhere (--progress FILE), or delete the file if that fill is given up",
                before.in_words()
            ),
            _ => bail!(
                "{shown} is left from an interrupted fill: continue with --resume, or delete it to start over"
            ),
        }
    }

    /// Writes it whole or not at all.
    pub(super) fn write(&self, path: &Path) -> Result<()> {
        let beside = path.with_extension("json.new");
        let text = crate::output::to_json(self)? + "\n";
        std::fs::write(&beside, text)
            .and_then(|()| std::fs::rename(&beside, path))
            .with_context(|| format!("can't write {}", path.display()))
    }
}
