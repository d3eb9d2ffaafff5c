//! What a sign-off was begun with, and how it goes on: with the same plan and nothing else.

use crate::args::signoff::SignoffArgs;
use crate::folder::Folder;
use crate::plan::Stages;
use crate::{clock, environment, output, secrets};
use anyhow::{Context, Result, bail};
use std::path::Path;
use unblink_artifact::bounded::{self, SEARCH_BYTES_MAX};
use unblink_artifact::signoff::{FILE, SCHEMA, SignoffDocument, SignoffStage, SignoffStatus, StageStatus};

/// The folder, and the document with what has been done. A folder that was made for it goes again once it is empty.
pub(super) fn open(args: &SignoffArgs, stages: &Stages) -> Result<(Folder, SignoffDocument)> {
    if let Some(folder) = &args.resume {
        let document = read(folder)?;
        check(folder, &document, stages, args)?;
        let over = document.stages.iter().filter(|stage| stage.is_over()).count();
        if !args.quiet {
            output::note(format_args!("{over} finished stages taken over from {}", folder.display()));
        }
        return Ok((Folder::named_or_new(Some(folder), "")?, document));
    }
    let folder = Folder::named_or_new(args.output.as_ref(), "unblink-signoff")?;
    output::check_folder(&folder)?;
    std::fs::create_dir_all(&*folder).with_context(|| format!("can't create the folder {:?}", *folder))?;
    let document = begun(args, stages);
    super::write(&folder, &document)?;
    Ok((folder, document))
}

/// Nothing was done, so nothing is to be found: the document goes, and its folder if it `is_new` and the user's.
/// One that has its name from the time goes by itself.
pub(super) fn undo(folder: &Path, is_new: bool) {
    let is_alone = std::fs::read_dir(folder).is_ok_and(|entries| entries.count() == 1);
    if is_alone && std::fs::remove_file(folder.join(FILE)).is_ok() && is_new {
        let _ = std::fs::remove_dir(folder);
    }
}

fn begun(args: &SignoffArgs, stages: &Stages) -> SignoffDocument {
    let all = (1..).zip(&stages.all).map(|(number, stage)| SignoffStage {
        number,
        name: stage.name.clone(),
        kind: stage.kind_name().into(),
        status: StageStatus::Planned,
        why: None,
        rate_asked: stage.rate_text.clone(),
        rate: None,
        folder: None,
        command: Vec::new(),
        verdict: None,
        exit_code: None,
        run: None,
        knee: None,
    });
    SignoffDocument {
        schema: SCHEMA.into(),
        status: SignoffStatus::Running,
        tool: environment::tool(),
        started_at: clock::now(),
        command: secrets::mask_command(environment::arguments()),
        environment: environment::describe(&unblink_engine::limits::raise()),
        plan: args.plan.display().to_string(),
        asked: stages.fingerprint.clone(),
        simulated: args.simulate,
        fail_fast: args.fail_fast,
        verdict: None,
        target: None,
        stages: all.collect(),
    }
}

fn read(folder: &Path) -> Result<SignoffDocument> {
    let path = folder.join(FILE);
    let text = bounded::read_text(&path, SEARCH_BYTES_MAX).with_context(|| {
        format!("{path:?} can't be read: --resume needs the folder that an interrupted sign-off has named")
    })?;
    let document: SignoffDocument =
        serde_json::from_str(&text).with_context(|| format!("{path:?} is not the document of a sign-off"))?;
    if document.schema != SCHEMA {
        bail!("{path:?} is of version {:?}, and this unblink goes on with {SCHEMA:?}", document.schema);
    }
    Ok(document)
}

/// Refuses to go on otherwise. What was measured for another plan is not signed off by this one.
fn check(folder: &Path, document: &SignoffDocument, stages: &Stages, args: &SignoffArgs) -> Result<()> {
    let folder = folder.display();
    if document.asked != stages.fingerprint || document.stages.len() != stages.all.len() {
        bail!(
            "--resume {folder}: that sign-off was begun with another plan than {} is now; give the same, or begin anew",
            args.plan.display()
        );
    }
    if (document.simulated, document.fail_fast) != (args.simulate, args.fail_fast) {
        bail!(
            "--resume {folder}: that sign-off was begun with other flags (--simulate, --fail-fast); give the same ones"
        );
    }
    Ok(())
}
