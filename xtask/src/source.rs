//! The workspace as text: where it is, its crates, and Rust sources read line by line.
//!
//! `lines` tells code from comments and library from test code with a small lexer: enough for rules about words in a file,
//! not a parser. It knows nested comments, all string forms, character literals against lifetimes, and `#[cfg(test)]` items.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The cargo that runs this program, or the one on the path.
pub(crate) fn cargo() -> String {
    std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned())
}

/// What cargo says with `--message-format=json`, message by message.
pub(crate) fn messages(output: &[u8]) -> Vec<serde_json::Value> {
    String::from_utf8_lossy(output).lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// The folder of the workspace's Cargo.toml.
pub(crate) fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_owned()
}

/// A crate of the workspace.
#[derive(Debug)]
pub(crate) struct Crate {
    pub(crate) name: String,
    /// Relative to the root, with `/`.
    pub(crate) folder: String,
    /// Workspace crates in its normal and build dependencies, whatever feature or target they are for.
    pub(crate) uses: Vec<String>,
    /// Names of its features.
    pub(crate) features: Vec<String>,
}

/// All crates of the workspace, by name. Needs no network: nothing is resolved.
pub(crate) fn crates() -> Result<Vec<Crate>, String> {
    let output = Command::new(cargo())
        .current_dir(root())
        .args(["metadata", "--no-deps", "--format-version", "1", "--offline"])
        .output()
        .map_err(|error| format!("cannot run cargo metadata: {error}"))?;
    if !output.status.success() {
        return Err(format!("cargo metadata: {}", String::from_utf8_lossy(&output.stderr)));
    }
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).map_err(|error| format!("cargo metadata: {error}"))?;
    let packages = metadata["packages"].as_array().ok_or("cargo metadata: no packages")?;
    let mut crates: Vec<Crate> = packages.iter().filter_map(read_package).collect();
    crates.sort_by(|a, b| a.name.cmp(&b.name));
    if crates.len() == packages.len() { Ok(crates) } else { Err("cargo metadata: a package outside the workspace's folder".to_owned()) }
}

fn read_package(package: &serde_json::Value) -> Option<Crate> {
    let manifest = Path::new(package["manifest_path"].as_str()?);
    let folder = manifest.parent()?.strip_prefix(root()).ok()?.to_str()?.replace('\\', "/");
    let dependencies = package["dependencies"].as_array()?;
    // Only a workspace crate is declared by path. Tests may look up (`dev`): the crate itself does not.
    let uses = dependencies.iter().filter(|dependency| dependency["path"].is_string() && dependency["kind"].as_str() != Some("dev"));
    let uses = uses.filter_map(|dependency| dependency["name"].as_str().map(str::to_owned)).collect();
    let features = package["features"].as_object()?.keys().cloned().collect();
    Some(Crate { name: package["name"].as_str()?.to_owned(), folder, uses, features })
}

/// The Rust files under a folder, in order of their names.
pub(crate) fn rust_files(folder: &Path) -> Vec<PathBuf> {
    files(folder, &["rs"])
}

/// The files under a folder whose names end so, in order of their names.
pub(crate) fn files(folder: &Path, extensions: &[&str]) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|own| extensions.iter().any(|extension| own == *extension)) {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}

/// One line of a Rust source, taken apart.
#[derive(Debug, Default, Clone)]
pub(crate) struct Line {
    /// Without comments; strings with their contents.
    pub(crate) code: String,
    /// Without comments; strings emptied.
    pub(crate) bare: String,
    /// What is in strings, an escape as a space; a string ends with one.
    pub(crate) text: String,
    /// The text of comments, doc comments too.
    pub(crate) comment: String,
    /// Inside an item under `#[cfg(test)]`.
    pub(crate) is_test: bool,
}

pub(crate) fn lines(source: &str) -> Vec<Line> {
    let mut lines = split(source);
    mark_tests(&mut lines);
    lines
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    Code,
    LineComment,
    BlockComment { depth: u32 },
    Text { raw_hashes: Option<usize> },
}

fn split(source: &str) -> Vec<Line> {
    let text: Vec<char> = source.chars().collect();
    let mut lines = vec![Line::default()];
    let mut state = State::Code;
    let mut at = 0;
    while at < text.len() {
        let c = text[at];
        let next = text.get(at + 1).copied();
        let index = lines.len() - 1;
        let line = &mut lines[index];
        if c == '\n' {
            if state == State::LineComment {
                state = State::Code;
            }
            lines.push(Line::default());
            at += 1;
            continue;
        }
        let mut width = 1;
        match state {
            State::Code => match (c, next) {
                ('/', Some('/')) => state = State::LineComment,
                ('/', Some('*')) => {
                    state = State::BlockComment { depth: 1 };
                    width = 2;
                }
                _ => {
                    if let Some((hashes, opening)) = string_start(&text, at) {
                        state = State::Text { raw_hashes: hashes };
                        width = opening;
                        line.bare.push('"');
                    } else if let Some(literal) = char_literal(&text, at) {
                        width = literal;
                        line.bare.push_str("' '");
                    } else {
                        line.bare.push(c);
                    }
                    line.code.extend(&text[at..at + width]);
                }
            },
            State::LineComment => line.comment.push(c),
            State::BlockComment { depth } => match (c, next) {
                ('/', Some('*')) => {
                    state = State::BlockComment { depth: depth + 1 };
                    width = 2;
                }
                ('*', Some('/')) => {
                    state = if depth == 1 { State::Code } else { State::BlockComment { depth: depth - 1 } };
                    width = 2;
                }
                _ => line.comment.push(c),
            },
            State::Text { raw_hashes } => {
                if c == '\\' && raw_hashes.is_none() {
                    line.text.push(' ');
                    // Not over a line's end: `\` there continues the string on the next line.
                    width = if next == Some('\n') { 1 } else { 2.min(text.len() - at) };
                } else if c == '"' && text[at + 1..].iter().take_while(|c| **c == '#').count() >= raw_hashes.unwrap_or(0) {
                    width = 1 + raw_hashes.unwrap_or(0);
                    state = State::Code;
                    line.bare.push('"');
                    line.text.push(' ');
                } else {
                    line.text.push(c);
                }
                line.code.extend(&text[at..at + width]);
            }
        }
        at += width;
    }
    lines
}

/// The hashes of a raw string that begins here (`None` inside for a plain one), and the length of its opening.
fn string_start(text: &[char], at: usize) -> Option<(Option<usize>, usize)> {
    if text[at] == '"' {
        return Some((None, 1));
    }
    let is_word = |c: &char| c.is_alphanumeric() || *c == '_';
    if at > 0 && is_word(&text[at - 1]) {
        return None;
    }
    let mut end = at;
    if matches!(text[end], 'b' | 'c') {
        end += 1;
    }
    if text.get(end) == Some(&'"') {
        return Some((None, end + 1 - at));
    }
    if text.get(end) != Some(&'r') {
        return None;
    }
    let hashes = text[end + 1..].iter().take_while(|c| **c == '#').count();
    (text.get(end + 1 + hashes) == Some(&'"')).then_some((Some(hashes), end + 2 + hashes - at))
}

/// The length of the character literal that begins here, if it is one and not a lifetime.
fn char_literal(text: &[char], at: usize) -> Option<usize> {
    if text[at] != '\'' {
        return None;
    }
    match (text.get(at + 1)?, text.get(at + 2)?) {
        ('\\', _) => text[at + 3..].iter().take(10).position(|c| *c == '\'').map(|end| end + 4),
        (_, '\'') => Some(3),
        _ => None,
    }
}

/// Marks what `#[cfg(test)]` stands on: to the closing brace of the item, or to its semicolon.
fn mark_tests(lines: &mut [Line]) {
    let mut at = 0;
    while at < lines.len() {
        if !lines[at].bare.trim_start().starts_with("#[cfg(test)]") {
            at += 1;
            continue;
        }
        let (mut depth, mut opened, mut brackets) = (0_i64, false, 0_i64);
        'item: while at < lines.len() {
            lines[at].is_test = true;
            for c in lines[at].bare.chars() {
                match c {
                    '{' => (depth, opened) = (depth + 1, true),
                    '}' => depth -= 1,
                    '(' | '[' => brackets += 1,
                    ')' | ']' => brackets -= 1,
                    _ => {}
                }
                if (opened && depth == 0) || (c == ';' && !opened && brackets == 0) {
                    break 'item;
                }
            }
            at += 1;
        }
        at += 1;
    }
}

/// A source as `rustfmt` lays it out, by the settings of the workspace.
pub(crate) fn formatted(text: &str) -> Result<String, String> {
    let mut command = Command::new("rustfmt");
    command.args(["--edition", "2024", "--config-path"]).arg(root()).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().map_err(|error| format!("rustfmt: {error}"))?;
    if let Some(mut input) = child.stdin.take() {
        input.write_all(text.as_bytes()).map_err(|error| format!("rustfmt: {error}"))?;
    }
    let output = child.wait_with_output().map_err(|error| format!("rustfmt: {error}"))?;
    match output.status.success() {
        true => String::from_utf8(output.stdout).map_err(|error| format!("rustfmt: {error}")),
        false => Err("rustfmt refuses the text".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_strings_are_not_bare_code() {
        let lines = lines("let a = \"x // y\"; // z\n/* one /* two */ three */ b('\"', 'c', '\\n', &'l d);\nr#\"raw \" { \"#; e");
        assert_eq!(lines[0].bare, "let a = \"\"; ");
        assert_eq!(lines[0].code, "let a = \"x // y\"; ");
        assert_eq!(lines[0].comment, "/ z");
        assert_eq!([lines[0].text.as_str(), &lines[1].text, &lines[2].text], ["x // y ", "", "raw \" {  "]);
        assert_eq!(lines[1].bare, " b(' ', ' ', ' ', &'l d);");
        assert_eq!(lines[2].bare, "\"\"; e");
    }

    #[test]
    fn strings_over_several_lines_stay_strings() {
        let lines = lines("a(\"one \\\n two { \\\" \\\\\"); b");
        assert_eq!((lines[0].bare.as_str(), lines[1].bare.as_str()), ("a(\"", "\"); b"));
        assert_eq!((lines[0].text.as_str(), lines[1].text.as_str()), ("one  ", " two {     "));
    }

    #[test]
    fn test_items_are_marked_to_their_end() {
        let source =
            "fn a() {}\n#[cfg(test)]\nuse x::[y; 2];\nfn b() {}\n#[cfg(test)]\nmod tests {\n    fn c() { let s = \"}\"; }\n}\nfn d() {}";
        let marked: Vec<bool> = lines(source).iter().map(|line| line.is_test).collect();
        assert_eq!(marked, [false, true, true, false, true, true, true, true, false]);
    }
}
