//! What is said to people: lines on standard error, and texts that a terminal may show.
//!
//! In: text, of which a part may come from a file or a driver. Out: a line.
//! Always: control characters are spelled, so that data cannot command a terminal. A stream that is closed or full is no error: its reader
//! decides what it is worth, and a computation does not end for a remark.

use std::{
    borrow::Cow,
    fmt::{self, Write as _},
    io::Write as _,
};

/// The text with its control characters, line feeds and tabs apart, as `\u001b`: as JSON spells them, so that JSON stays JSON.
///
/// ```
/// assert_eq!(unigrad_device::printable("a\tred\u{1b}[31m\n"), "a\tred\\u001b[31m\n");
/// ```
pub fn printable(text: &str) -> Cow<'_, str> {
    let commands = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
    if !text.contains(commands) {
        return Cow::Borrowed(text);
    }
    let mut spelled = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if commands(c) {
            // A String takes everything.
            let _ = write!(spelled, "\\u{:04x}", u32::from(c));
        } else {
            spelled.push(c);
        }
    }
    Cow::Owned(spelled)
}

/// Says a line on standard error, if it is open.
pub fn tell(line: fmt::Arguments<'_>) {
    let line = line.to_string();
    let _ = writeln!(std::io::stderr(), "{}", printable(&line));
}

#[cfg(test)]
mod tests {
    use super::printable;

    #[test]
    fn no_control_character_is_left() {
        let all: String = ('\0'..='\u{2ff}').collect();
        let spelled = printable(&all);
        assert!(spelled.chars().all(|c| !c.is_control() || c == '\n' || c == '\t'));
        assert!(spelled.contains("\\u0000\\u0001") && spelled.contains("\\u000d") && spelled.contains("~\\u007f\\u0080"), "{spelled}");
        let json = format!("\"{}\"", printable("\u{9b}31m"));
        assert_eq!(serde_json::from_str::<String>(&json).unwrap(), "\u{9b}31m");
        assert!(matches!(printable("plain ä\n"), std::borrow::Cow::Borrowed(_)));
    }
}
