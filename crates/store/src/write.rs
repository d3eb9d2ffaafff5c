//! What is written. Each call is one transaction that begins with a write, so that it waits for its turn once.

use crate::filter::nanoseconds;
use jiff::Timestamp;
use sqlx::AnyConnection;
use sqlx::Connection as _;
use unblink_artifact::document::Requested;
use unblink_artifact::harmless;
use unblink_artifact::history::IndexedRun;

pub(crate) async fn put(connection: &mut AnyConnection, runs: &[IndexedRun]) -> Result<(), sqlx::Error> {
    const RUN: &str = "INSERT INTO runs (id, series, started_ns, target, validity, verdict, run) \
         VALUES ($1, $2, $3, $4, $5, $6, $7) \
         ON CONFLICT (id) DO UPDATE SET series = excluded.series, started_ns = excluded.started_ns, \
         target = excluded.target, validity = excluded.validity, verdict = excluded.verdict, run = excluded.run";
    const TAG: &str =
        "INSERT INTO tags (run_id, tag, value) VALUES ($1, $2, $3) ON CONFLICT (run_id, tag) DO NOTHING";
    // Of two that claim a baseline the later has it: what is older makes way, and is not let in.
    const OLDER: &str = "DELETE FROM baselines WHERE name = $1 AND set_at < $2";
    const BASELINE: &str = "INSERT INTO baselines (name, run_id, set_at) SELECT $1, $2, $3 \
         WHERE NOT EXISTS (SELECT 1 FROM baselines WHERE name = $4 AND set_at > $5) \
         ON CONFLICT (name, run_id) DO NOTHING";
    let mut work = connection.begin().await?;
    for run in runs {
        let bare = IndexedRun { tags: Default::default(), baselines: Default::default(), ..run.clone() };
        let text = harmless::json(&bare).map_err(|error| sqlx::Error::Encode(Box::new(error)))?;
        let started: Timestamp =
            run.started_at.parse().map_err(|error| sqlx::Error::Encode(Box::<jiff::Error>::new(error)))?;
        let one = |target: &Requested| harmless::replaced(&format!("{} {}", target.method, target.url));
        let targets: Vec<String> = run.targets.iter().map(one).collect();
        sqlx::query(RUN)
            .bind(run.id.clone())
            .bind(run.series.clone())
            .bind(nanoseconds(started))
            .bind(targets.join("\n"))
            .bind(word(&run.validity.status))
            .bind(run.verdict.as_ref().map_or(String::new(), |verdict| word(&verdict.status)))
            .bind(text)
            .execute(&mut *work)
            .await?;
        for (tag, value) in &run.tags {
            let query = sqlx::query(TAG).bind(run.id.clone()).bind(tag.clone()).bind(value.clone());
            query.execute(&mut *work).await?;
        }
        for (name, set_at) in &run.baselines {
            let (name, set_at) = (name.clone(), set_at.clone());
            sqlx::query(OLDER).bind(name.clone()).bind(set_at.clone()).execute(&mut *work).await?;
            let query = sqlx::query(BASELINE).bind(name.clone()).bind(run.id.clone()).bind(set_at.clone());
            query.bind(name).bind(set_at).execute(&mut *work).await?;
        }
    }
    work.commit().await
}

pub(crate) async fn tag(
    connection: &mut AnyConnection,
    run_id: &str,
    tag: &str,
    value: &str,
) -> Result<(), sqlx::Error> {
    const REMOVE: &str = "DELETE FROM tags WHERE run_id = $1 AND tag = $2";
    const SET: &str = "INSERT INTO tags (run_id, tag, value) VALUES ($1, $2, $3) \
         ON CONFLICT (run_id, tag) DO UPDATE SET value = excluded.value";
    let (run_id, tag) = (run_id.to_string(), tag.to_string());
    let query = match value {
        "" => sqlx::query(REMOVE).bind(run_id).bind(tag),
        value => sqlx::query(SET).bind(run_id).bind(tag).bind(value.to_string()),
    };
    query.execute(connection).await.map(|_| ())
}

pub(crate) async fn set_baseline(
    connection: &mut AnyConnection,
    name: &str,
    run_ids: &[String],
    set_at: &str,
) -> Result<(), sqlx::Error> {
    let mut work = connection.begin().await?;
    sqlx::query("DELETE FROM baselines WHERE name = $1").bind(name.to_string()).execute(&mut *work).await?;
    for run_id in run_ids {
        // A run that is named twice is in it once.
        const ADD: &str = "INSERT INTO baselines (name, run_id, set_at) VALUES ($1, $2, $3) \
             ON CONFLICT (name, run_id) DO NOTHING";
        let query = sqlx::query(ADD).bind(name.to_string()).bind(run_id.clone()).bind(set_at.to_string());
        query.execute(&mut *work).await?;
    }
    work.commit().await
}

/// The word that stands for it in a document.
fn word<T: serde::Serialize>(value: &T) -> String {
    serde_json::to_value(value).ok().and_then(|value| value.as_str().map(str::to_string)).unwrap_or_default()
}
