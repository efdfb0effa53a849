//! The text form's words.
//!
//! A comment goes from a `;` at a line's beginning or after a space to the line's end; the `;` of `[f32; 4]` follows its type at once.

use super::ParseError;

/// A word and where it stands.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) line: usize,
    pub(super) column: usize,
}

#[derive(Clone, PartialEq, Debug)]
pub(super) enum Kind {
    /// Letters, digits and `_`; also `16x16x16`.
    Word(String),
    /// `%name`, without the sign.
    Value(String),
    /// A number, with its sign; also `inf`, `-inf` and `nan`.
    Number(String),
    /// In quotes; escapes are resolved.
    Quoted(String),
    /// A sign: one character, or `..`, or `->`.
    Sign(&'static str),
    End,
}

impl Kind {
    /// For messages.
    pub(super) fn show(&self) -> String {
        match self {
            Kind::Word(word) | Kind::Number(word) => format!("`{word}`"),
            Kind::Value(name) => format!("`%{name}`"),
            Kind::Quoted(text) => format!("{text:?}"),
            Kind::Sign(sign) => format!("`{sign}`"),
            Kind::End => "the end".to_owned(),
        }
    }
}

const SIGNS: [&str; 16] = ["..", "->", "(", ")", "[", "]", "{", "}", "<", ">", ",", ":", ";", "=", "*", "."];

/// All words of a text, `End` last.
pub(super) fn tokens(text: &str) -> Result<Vec<Token>, ParseError> {
    let mut tokens = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let mut at = 0;
        while let Some(c) = line[at..].chars().next() {
            let before = line[..at].chars().next_back();
            if c.is_whitespace() {
                at += c.len_utf8();
                continue;
            }
            if c == ';' && before.is_none_or(char::is_whitespace) {
                break;
            }
            let place = (number + 1, line[..at].chars().count() + 1);
            let (kind, len) = token(&line[at..]).ok_or_else(|| {
                ParseError::new(place, format!("`{c}` means nothing here"), "see the text form of a program that was printed")
            })?;
            tokens.push(Token { kind, line: place.0, column: place.1 });
            at += len;
        }
    }
    tokens.push(Token { kind: Kind::End, line: text.lines().count().max(1), column: 1 });
    Ok(tokens)
}

/// The first word, and its bytes.
fn token(rest: &str) -> Option<(Kind, usize)> {
    let run = |from: usize| rest[from..].find(|c: char| !c.is_ascii_alphanumeric() && c != '_').map_or(rest.len(), |n| from + n);
    let first = rest.chars().next()?;
    match first {
        '"' => quoted(rest),
        '%' => {
            let end = run(1);
            (end > 1).then(|| (Kind::Value(rest[1..end].to_owned()), end))
        }
        'a'..='z' | 'A'..='Z' | '_' => {
            let word = rest[..run(0)].to_owned();
            let len = word.len();
            Some(if word == "inf" || word == "nan" { (Kind::Number(word), len) } else { (Kind::Word(word), len) })
        }
        '0'..='9' => Some(number(rest, 0)),
        '-' if rest[1..].starts_with(|c: char| c.is_ascii_digit()) => Some(number(rest, 1)),
        '-' if rest[1..].starts_with("inf") => Some((Kind::Number("-inf".to_owned()), 4)),
        _ => SIGNS.iter().find(|sign| rest.starts_with(**sign)).map(|sign| (Kind::Sign(sign), sign.len())),
    }
}

fn number(rest: &str, from: usize) -> (Kind, usize) {
    let digits = |at: usize| rest[at..].find(|c: char| !c.is_ascii_digit()).map_or(rest.len(), |n| at + n);
    let mut end = digits(from);
    let alphanumeric = |at: usize| rest[at..].find(|c: char| !c.is_ascii_alphanumeric()).map_or(rest.len(), |n| at + n);
    if rest[end..].starts_with('x') {
        end = alphanumeric(end);
        let word = rest[..end].to_owned();
        return if word.starts_with("0x") { (Kind::Number(word), end) } else { (Kind::Word(word), end) };
    }
    if rest[end..].starts_with('.') && rest[end + 1..].starts_with(|c: char| c.is_ascii_digit()) {
        end = digits(end + 1);
    }
    if rest[end..].starts_with('e') {
        let sign = usize::from(rest[end + 1..].starts_with(['-', '+']));
        if rest[end + 1 + sign..].starts_with(|c: char| c.is_ascii_digit()) {
            end = digits(end + 1 + sign);
        }
    }
    (Kind::Number(rest[..end].to_owned()), end)
}

/// A text in quotes, as `{:?}` writes it.
fn quoted(rest: &str) -> Option<(Kind, usize)> {
    let mut text = String::new();
    let mut chars = rest.char_indices().skip(1);
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Some((Kind::Quoted(text), at + 1)),
            '\\' => match chars.next()?.1 {
                'n' => text.push('\n'),
                't' => text.push('\t'),
                'r' => text.push('\r'),
                '0' => text.push('\0'),
                'u' => {
                    let digits: String = chars.by_ref().map(|(_, c)| c).skip(1).take_while(|c| *c != '}').collect();
                    text.push(char::from_u32(u32::from_str_radix(&digits, 16).ok()?)?);
                }
                other => text.push(other),
            },
            other => text.push(other),
        }
    }
    None
}
