//! Rust source as tokens and comments: enough to search without being fooled by strings and comments.

/// One token: an identifier, a literal, or punctuation (`::` is one token, all else one character).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Token {
    /// The text; every string or character literal reads `""`.
    pub text: String,
    /// Counted from 1.
    pub line: usize,
    /// Whether it stands in an item under `#[cfg(test)]`.
    pub in_test: bool,
}

/// One line of a comment, without its place in the code.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Comment {
    /// The text with its `//`, `/*` or neither.
    pub text: String,
    /// Counted from 1.
    pub line: usize,
}

/// One `.rs` file.
pub struct Source {
    /// Path from the root of the repository.
    pub path: String,
    /// The text by lines.
    pub lines: Vec<String>,
    /// All tokens in order.
    pub tokens: Vec<Token>,
    /// All comments in order, a block comment line by line.
    pub comments: Vec<Comment>,
    /// Whether the whole file is test, example or benchmark code.
    pub is_test: bool,
    /// Names in `#[cfg(test)] mod name;`.
    pub test_modules: Vec<String>,
}

impl Source {
    /// Reads `text` as Rust.
    pub fn new(path: String, text: &str) -> Source {
        let (mut tokens, comments) = lex(text);
        let (test_modules, whole) = mark_tests(&mut tokens);
        let outside = ["tests", "examples", "benches", "fuzz"];
        let is_test = whole || path.split('/').any(|part| outside.contains(&part));
        let lines = text.lines().map(str::to_string).collect();
        Source { path, lines, tokens, comments, is_test, test_modules }
    }

    /// The directory name of the crate under `crates/` that the file belongs to.
    pub fn crate_name(&self) -> Option<&str> {
        self.path.strip_prefix("crates/")?.split('/').next()
    }

    /// The tokens that ship: none of a test file, none under `#[cfg(test)]`.
    pub fn shipped(&self) -> Vec<&Token> {
        self.tokens.iter().filter(|token| !self.is_test && !token.in_test).collect()
    }
}

/// Whether `tokens` from `at` on read `pattern`.
pub fn reads(tokens: &[&Token], at: usize, pattern: &[&str]) -> bool {
    pattern.iter().enumerate().all(|(i, text)| tokens.get(at + i).is_some_and(|token| token.text == *text))
}

fn lex(text: &str) -> (Vec<Token>, Vec<Comment>) {
    let mut lexer = Lexer { chars: text.chars().collect(), at: 0, line: 1, tokens: vec![], comments: vec![] };
    while lexer.at < lexer.chars.len() {
        lexer.step();
    }
    (lexer.tokens, lexer.comments)
}

struct Lexer {
    chars: Vec<char>,
    at: usize,
    line: usize,
    tokens: Vec<Token>,
    comments: Vec<Comment>,
}

impl Lexer {
    fn peek(&self, ahead: usize) -> char {
        self.chars.get(self.at + ahead).copied().unwrap_or('\0')
    }

    fn bump(&mut self) -> char {
        let c = self.peek(0);
        self.at += 1;
        if c == '\n' {
            self.line += 1;
        }
        c
    }

    fn push(&mut self, text: String, line: usize) {
        self.tokens.push(Token { text, line, in_test: false });
    }

    fn step(&mut self) {
        let line = self.line;
        match self.peek(0) {
            '/' if self.peek(1) == '/' => self.line_comment(),
            '/' if self.peek(1) == '*' => self.block_comment(),
            '"' => self.string(0, true),
            '\'' => self.quote(),
            ':' if self.peek(1) == ':' => {
                self.at += 2;
                self.push("::".to_string(), line);
            }
            c if is_word(c) => self.word(),
            c => {
                self.bump();
                if !c.is_whitespace() {
                    self.push(c.to_string(), line);
                }
            }
        }
    }

    fn line_comment(&mut self) {
        let line = self.line;
        let mut text = String::new();
        while self.at < self.chars.len() && self.peek(0) != '\n' {
            text.push(self.bump());
        }
        self.comments.push(Comment { text, line });
    }

    fn block_comment(&mut self) {
        let mut depth = 0;
        let mut text = String::new();
        while self.at < self.chars.len() {
            match (self.peek(0), self.peek(1)) {
                ('/', '*') => depth += 1,
                ('*', '/') => depth -= 1,
                ('\n', _) => {
                    self.comments.push(Comment { text: std::mem::take(&mut text), line: self.line });
                    self.bump();
                    continue;
                }
                _ => {
                    text.push(self.bump());
                    continue;
                }
            }
            text.extend([self.bump(), self.bump()]);
            if depth == 0 {
                break;
            }
        }
        self.comments.push(Comment { text, line: self.line });
    }

    /// A string from its opening quote on; a raw one closes at a quote and `hashes` hashes.
    fn string(&mut self, hashes: usize, escapes: bool) {
        let line = self.line;
        self.bump();
        while self.at < self.chars.len() {
            match self.bump() {
                '\\' if escapes => {
                    self.bump();
                }
                '"' if (0..hashes).all(|i| self.peek(i) == '#') => {
                    self.at += hashes;
                    break;
                }
                _ => {}
            }
        }
        self.push("\"\"".to_string(), line);
    }

    /// A character literal or a lifetime.
    fn quote(&mut self) {
        let line = self.line;
        if self.peek(1) != '\\' && self.peek(2) != '\'' {
            self.at += 1;
            return self.push("'".to_string(), line);
        }
        self.bump();
        if self.bump() == '\\' {
            self.bump();
        }
        while self.at < self.chars.len() && self.bump() != '\'' {}
        self.push("\"\"".to_string(), line);
    }

    fn word(&mut self) {
        let line = self.line;
        let start = self.at;
        while is_word(self.peek(0)) {
            self.at += 1;
        }
        let word: String = self.chars[start..self.at].iter().collect();
        let hashes = (0..).take_while(|&i| self.peek(i) == '#').count();
        match word.as_str() {
            "r" | "br" | "cr" if self.peek(hashes) == '"' => {
                self.at += hashes;
                self.string(hashes, false);
            }
            "b" | "c" if self.peek(0) == '"' => self.string(0, true),
            "b" if self.peek(0) == '\'' => self.quote(),
            _ => self.push(word, line),
        }
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Marks what stands under `#[cfg(test)]`; returns the modules it declares, and whether it is all of it.
fn mark_tests(tokens: &mut [Token]) -> (Vec<String>, bool) {
    let mut modules = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let inner = text(tokens, at + 1) == "!";
        let open = at + 1 + usize::from(inner);
        if text(tokens, at) != "#" || text(tokens, open) != "[" {
            at += 1;
            continue;
        }
        let close = matching(tokens, open);
        let says = |word: &str| tokens[open..close].iter().any(|token| token.text == word);
        let for_tests = text(tokens, open + 1) == "cfg" && says("test") && !says("not");
        if for_tests && inner {
            return (modules, true);
        }
        if !for_tests {
            at = close;
            continue;
        }
        let (end, module) = item_end(tokens, close + 1);
        modules.extend(module);
        for token in &mut tokens[at..end] {
            token.in_test = true;
        }
        at = end;
    }
    (modules, false)
}

/// One past the item that starts at `at`, and its name if it is `mod name;`.
fn item_end(tokens: &[Token], mut at: usize) -> (usize, Option<String>) {
    const KEYWORDS: &[&str] = &[
        "const", "enum", "extern", "fn", "impl", "mod", "static", "struct", "trait", "type", "unsafe", "use",
    ];
    let keyword = (at..tokens.len()).find(|&at| KEYWORDS.contains(&text(tokens, at))).unwrap_or(at);
    // A statement ends at its semicolon, whatever braces it holds; any other item may end with a block.
    let statement = match text(tokens, keyword) {
        "const" => !["fn", "unsafe", "async", "extern"].contains(&text(tokens, keyword + 1)),
        word => ["static", "type", "use"].contains(&word),
    };
    let mut module = None;
    while at < tokens.len() {
        match text(tokens, at) {
            "mod" => module = tokens.get(at + 1).map(|token| token.text.clone()),
            "(" | "[" => at = matching(tokens, at),
            "{" if statement => at = matching(tokens, at),
            "{" => return (matching(tokens, at) + 1, None),
            ";" => return (at + 1, module),
            _ => {}
        }
        at += 1;
    }
    (tokens.len(), None)
}

/// The bracket that closes the one at `open`, or the last token.
fn matching(tokens: &[Token], open: usize) -> usize {
    let mut depth = 0;
    for (at, token) in tokens.iter().enumerate().skip(open) {
        match token.text.as_str() {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at;
        }
    }
    tokens.len() - 1
}

fn text(tokens: &[Token], at: usize) -> &str {
    tokens.get(at).map_or("", |token| token.text.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shipped(code: &str) -> Vec<String> {
        let source = Source::new("crates/a/src/lib.rs".to_string(), code);
        source.shipped().iter().map(|token| token.text.clone()).collect()
    }

    #[test]
    fn strings_and_comments_are_not_code() {
        let code = r##"a "b \" b" r#"c " c"# b"d" 'e' '\'' '\u{1F}' b'f' // g
            /* h /* i */ j */ k"##;
        assert_eq!(shipped(code).join(" "), r#"a "" "" "" "" "" "" "" k"#);
    }

    #[test]
    fn lifetimes_are_not_characters() {
        assert_eq!(shipped("fn f<'a>(x: &'a str) {}").join(" "), "fn f < ' a > ( x : & ' a str ) { }");
    }

    #[test]
    fn lines_are_counted_through_strings_and_comments() {
        let source = Source::new(String::new(), "\"a\nb\"\n/* c\n d */ e");
        assert_eq!(source.tokens.last().map(|token| token.line), Some(4));
        assert_eq!(source.comments.iter().map(|c| c.line).collect::<Vec<_>>(), [3, 4]);
    }

    #[test]
    fn what_is_compiled_for_tests_does_not_ship() {
        assert_eq!(shipped("a #[cfg(test)] #[x(y)] mod t { b } c").join(" "), "a c");
        assert_eq!(shipped("#[cfg(test)] use a::{b, c}; d").join(" "), "d");
        assert_eq!(
            shipped("#[cfg(not(test))] fn a() {}").join(" "),
            "# [ cfg ( not ( test ) ) ] fn a ( ) { }"
        );
        assert_eq!(shipped("#![cfg(test)] a"), [""; 0]);
        assert_eq!(shipped("#[cfg(test)] const A: B = B { c: 1 }; d").join(" "), "d");
        assert_eq!(shipped("#[cfg(test)] const fn a() { b } c").join(" "), "c");
        assert_eq!(shipped("#[cfg(test)] fn a(x: [u8; 2]) { b } c").join(" "), "c");
    }
}
