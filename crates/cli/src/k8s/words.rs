//! The words of a run among those of `unblink k8s render`, which a pod is given.

use crate::args::k8s::ClusterArgs;
use crate::args::run::RunArgs;
use clap::{Args, Command};

/// Flags of a run that stand for something else here, and are written anew for the pod.
const REPLACED: [&str; 7] = ["agents", "bus", "bus-ca", "fleet", "nats-server", "nkey", "output"];

/// The words without what is for the cluster alone.
pub(super) fn of_run(words: &[String]) -> Vec<String> {
    let cluster = ClusterArgs::augment_args(Command::new("cluster"));
    let takes_value = |flag: &str| {
        let own = cluster.get_arguments().find(|arg| arg.get_long() == Some(flag));
        own.map(|arg| arg.get_action().takes_values()).or(REPLACED.contains(&flag).then_some(true))
    };
    let run = RunArgs::augment_args(Command::new("run"));
    let (mut left, mut words) = (Vec::new(), words.iter());
    while let Some(word) = words.next() {
        let (flag, has_value) = match (word.strip_prefix("--"), output_in(&run, word)) {
            (Some(flag), _) => flag.split_once('=').map_or((flag, false), |(flag, _)| (flag, true)),
            (None, Some((before, value))) => {
                left.extend((before.len() > 1).then(|| before.to_string()));
                ("output", !value.is_empty())
            }
            (None, None) => ("", false),
        };
        match takes_value(flag) {
            None => left.push(word.clone()),
            Some(true) if !has_value => drop(words.next()),
            Some(_) => {}
        }
    }
    left
}

/// What stands before and behind `o` in a word of short flags, such as `-qo DIR`.
fn output_in<'a>(run: &Command, word: &'a str) -> Option<(&'a str, &'a str)> {
    let takes_value = |short: char| {
        let own = run.get_arguments().find(|arg| arg.get_short() == Some(short));
        own.is_some_and(|arg| arg.get_action().takes_values() && !arg.is_require_equals_set())
    };
    let flags = word.strip_prefix('-').filter(|flags| !flags.starts_with('-'))?;
    let (at, _) = flags.char_indices().find(|&(_, short)| short == 'o' || takes_value(short))?;
    let behind = flags[at..].strip_prefix('o')?;
    Some((&word[..=at], behind))
}

/// As an argument of a container, in which a cluster fills in $(NAME).
pub(super) fn escaped(word: &str) -> String {
    word.replace('$', "$$")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_for_the_cluster_is_left_out() {
        let words = |text: &str| text.split(' ').map(str::to_string).collect::<Vec<_>>();
        for (all, own) in [
            ("plan.toml --agents 20", "plan.toml"),
            ("--agents=20 plan.toml -R 5 --cpu 2 -d 3s", "plan.toml -R 5 -d 3s"),
            ("http://h/ --name a --create-namespace --calibrate -R 5", "http://h/ -R 5"),
            ("http://h/ --bus-storage 2Gi -R 5 --bus-within 1m", "http://h/ -R 5 --bus-within 1m"),
            ("http://h/ -o d -od -o=d --output d --output=d -R 5", "http://h/ -R 5"),
            ("http://h/ -qo d -R 5", "http://h/ -q -R 5"),
            ("http://h/ -kqod -R 5 -Hox:y", "http://h/ -kq -R 5 -Hox:y"),
            (
                "http://h/ --max-rate 5k --bus x --fleet=y --bus-within 1m",
                "http://h/ --max-rate 5k --bus-within 1m",
            ),
        ] {
            assert_eq!(of_run(&words(all)), words(own), "{all}");
        }
    }
}
