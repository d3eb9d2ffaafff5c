//! Markdown as far as the checks need it: code blocks, code spans, and the prose without them.

/// A piece of code in a document.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Code {
    /// The line it starts on, from 1.
    pub line: usize,
    /// The text; of a block, one line of it with its continuations (`\` at the end) joined.
    pub text: String,
    /// What kind of code it is.
    pub kind: Kind,
}

/// Where code stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Between backticks in a sentence.
    Span,
    /// In a fenced block for a shell, or a line after a prompt `$ `.
    Command,
    /// In any other fenced block.
    Block,
}

/// A document taken apart.
pub struct Document {
    /// All code in order.
    pub code: Vec<Code>,
    /// The lines with all code blanked out; headings keep theirs.
    pub prose: Vec<String>,
    /// The headings' text, without `#`.
    pub headings: Vec<String>,
}

/// Takes `text` apart.
pub fn parse(text: &str) -> Document {
    let mut document = Document { code: Vec::new(), prose: Vec::new(), headings: Vec::new() };
    let mut fence: Option<Fence> = None;
    for (line, text) in (1..).zip(text.lines()) {
        let trimmed = text.trim_start();
        match &mut fence {
            Some(open) if is_closing(trimmed, &open.mark) => {
                document.code.extend(fence.take().into_iter().flat_map(Fence::commands));
                document.prose.push(String::new());
            }
            Some(open) => {
                open.lines.push((line, text.to_string()));
                document.prose.push(String::new());
            }
            None if trimmed.starts_with("```") || trimmed.starts_with("~~~") => {
                let first = trimmed.chars().next().unwrap_or('`');
                let mark: String = trimmed.chars().take_while(|c| *c == first).collect();
                let language = trimmed[mark.len()..].trim().to_string();
                fence = Some(Fence { mark, language, lines: Vec::new() });
                document.prose.push(String::new());
            }
            None => {
                let hashes = trimmed.chars().take_while(|c| *c == '#').count();
                if (1..=6).contains(&hashes) && trimmed[hashes..].starts_with(' ') {
                    document.headings.push(trimmed[hashes..].trim().to_string());
                }
                document.prose.push(spans(line, text, &mut document.code));
            }
        }
    }
    document.code.extend(fence.into_iter().flat_map(Fence::commands));
    document
}

fn is_closing(line: &str, mark: &str) -> bool {
    line.starts_with(mark) && line.trim_end().chars().all(|c| mark.starts_with(c))
}

struct Fence {
    mark: String,
    language: String,
    lines: Vec<(usize, String)>,
}

impl Fence {
    fn commands(self) -> Vec<Code> {
        let prompt = |text: &str| text.trim_start().strip_prefix("$ ").map(str::to_string);
        // Where some lines carry a prompt, the others are what the commands print.
        let prompted = self.lines.iter().any(|(_, text)| prompt(text).is_some());
        let shell = ["sh", "bash", "shell", "console", "zsh"].contains(&self.language.as_str());
        let mut code: Vec<Code> = Vec::new();
        let mut continues = false;
        for (line, text) in self.lines {
            let more = text.trim_end().ends_with('\\');
            let part = text.trim_end().trim_end_matches('\\');
            if let (true, Some(last)) = (continues, code.last_mut()) {
                last.text.push(' ');
                last.text.push_str(part.trim());
            } else if prompted {
                let kind = Kind::Command;
                code.extend(prompt(part).map(|text| Code { line, text, kind }));
            } else {
                let kind = if shell { Kind::Command } else { Kind::Block };
                code.push(Code { line, text: part.trim().to_string(), kind });
            }
            continues = more && code.last().is_some();
        }
        code
    }
}

/// Collects the code spans of a line and returns the line without them.
fn spans(line: usize, text: &str, code: &mut Vec<Code>) -> String {
    let mut prose = String::new();
    let mut rest = text;
    while let Some(start) = rest.find('`') {
        let ticks = rest[start..].chars().take_while(|c| *c == '`').count();
        let mark = &rest[start..start + ticks];
        let Some(length) = rest[start + ticks..].find(mark) else { break };
        let inside = &rest[start + ticks..start + ticks + length];
        code.push(Code { line, text: inside.trim().to_string(), kind: Kind::Span });
        prose.push_str(&rest[..start]);
        prose.push(' ');
        rest = &rest[start + 2 * ticks + length..];
    }
    prose + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(text: &str) -> Vec<(usize, String, Kind)> {
        parse(text).code.into_iter().map(|code| (code.line, code.text, code.kind)).collect()
    }

    #[test]
    fn spans_and_blocks_are_found_with_their_lines() {
        let text = "a `b` and `` c`d ``\n```sh\ne \\\n  f\ng\n```\n~~~\nh\n~~~\n";
        let expected = [
            (1, "b".to_string(), Kind::Span),
            (1, "c`d".to_string(), Kind::Span),
            (3, "e f".to_string(), Kind::Command),
            (5, "g".to_string(), Kind::Command),
            (8, "h".to_string(), Kind::Block),
        ];
        assert_eq!(code(text), expected);
    }

    #[test]
    fn beside_a_prompt_the_rest_is_output() {
        assert_eq!(code("```\n$ a -b\nc\n```"), [(2, "a -b".to_string(), Kind::Command)]);
    }

    #[test]
    fn prose_and_headings_are_without_blocks() {
        let document = parse("# A\n```\n# b\n[c](d)\n```\n## E f\n[g](h) `[i](j)`");
        assert_eq!(document.headings, ["A", "E f"]);
        assert_eq!(document.prose.join("|"), "# A|||||## E f|[g](h)  ");
    }
}
