//! A command line in a document, read as a shell would, as far as finding `unblink` in it needs.

/// The arguments of every call of `unblink` in `line`, without the program itself.
pub fn calls(line: &str) -> Vec<Vec<String>> {
    commands(line).into_iter().filter_map(|words| arguments(&words)).collect()
}

/// Splits at `|`, `&`, `;` outside quotes; drops comments.
fn commands(line: &str) -> Vec<Vec<String>> {
    let (mut all, mut words) = (Vec::new(), Vec::new());
    let (mut word, mut started) = (String::new(), false);
    let mut quote = None;
    let end_word = |word: &mut String, started: &mut bool, words: &mut Vec<String>| {
        if std::mem::take(started) {
            words.push(std::mem::take(word));
        }
    };
    for c in line.chars() {
        match (quote, c) {
            (Some(open), _) if c == open => quote = None,
            (Some(_), _) => word.push(c),
            (None, '\'' | '"') => (quote, started) = (Some(c), true),
            (None, '#') if !started => break,
            (None, '|' | '&' | ';') => {
                end_word(&mut word, &mut started, &mut words);
                all.push(std::mem::take(&mut words));
            }
            (None, _) if c.is_whitespace() => end_word(&mut word, &mut started, &mut words),
            // The brackets of a synopsis: `[-d DURATION]`.
            (None, '[' | ']' | '(' | ')') => {}
            (None, _) => {
                word.push(c);
                started = true;
            }
        }
    }
    end_word(&mut word, &mut started, &mut words);
    all.push(words);
    all
}

fn arguments(words: &[String]) -> Option<Vec<String>> {
    let assigns = |word: &&String| word.split_once('=').is_some_and(|(name, _)| is_variable(name));
    let before =
        |word: &&String| assigns(word) || ["$", "sudo", "time", "nice", "env"].contains(&word.as_str());
    let skipped = words.iter().take_while(before).count();
    let (program, rest) = words[skipped..].split_first()?;
    let rest = match program.rsplit('/').next()? {
        "unblink" => rest,
        "cargo"
            if rest
                .windows(2)
                .any(|pair| pair[1] == "unblink" && ["-p", "--package"].contains(&pair[0].as_str())) =>
        {
            let dashes = rest.iter().position(|word| word == "--")?;
            &rest[dashes + 1..]
        }
        _ => return None,
    };
    // What follows a bare `--` belongs to another program.
    Some(rest.iter().take_while(|word| *word != "--").cloned().collect())
}

fn is_variable(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(line: &str) -> Vec<String> {
        calls(line).iter().map(|words| words.join(" ")).collect()
    }

    #[test]
    fn calls_are_found_wherever_they_stand() {
        assert_eq!(joined("unblink run URL -R 5 # --no"), ["run URL -R 5"]);
        assert_eq!(joined("NO_COLOR=1 ./target/release/unblink demo"), ["demo"]);
        assert_eq!(joined("cd x && unblink report d | jq --arg a"), ["report d"]);
        assert_eq!(joined("cargo run --release -p unblink -- demo --full"), ["demo --full"]);
        assert_eq!(joined("unblink run URL [-d DURATION]"), ["run URL -d DURATION"]);
        assert_eq!(joined("unblink lab -- wrk --latency"), ["lab"]);
    }

    #[test]
    fn quotes_hold_together_and_other_tools_are_left_alone() {
        assert_eq!(calls("unblink run -H 'X: --a | b'"), [["run", "-H", "X: --a | b"]]);
        assert_eq!(joined("wrk2 -R1000 --latency URL; cargo test --workspace"), [""; 0]);
        assert_eq!(joined("cd unblink"), [""; 0]);
    }
}
