//! The functions that programs call, of which each text gets those it needs.

use unigrad_scalar::UnaryOp;

/// The files of functions, in the order they appear in a text.
const FILES: [&str; 5] = [
    include_str!("library/float32.wgsl"),
    include_str!("library/half.wgsl"),
    include_str!("library/int32.wgsl"),
    include_str!("library/float64.wgsl"),
    include_str!("library/transcendental64.wgsl"),
];
const NATIVE64: &str = include_str!("library/native64.wgsl");
const EMULATED64: &str = include_str!("library/emulated64.wgsl");

/// The functions of a file: name and text, with the comment above.
fn functions(file: &str) -> impl Iterator<Item = (&str, &str)> {
    // The first paragraph is the file's own comment.
    file.split("\n\n").skip(1).filter_map(named)
}

/// The name of the function in a text, and the text.
fn named(text: &str) -> Option<(&str, &str)> {
    let start = text.find("fn ")? + 3;
    let name = text[start..].split('(').next()?;
    Some((name, text.trim_end()))
}

fn names(text: &str) -> impl Iterator<Item = &str> {
    let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    code.flat_map(|line| line.split(|c: char| !c.is_ascii_alphanumeric() && c != '_'))
}

/// The functions that `code` calls, and those that they call: from the files, from the rows of the table of functions, or made by `composed`, which
/// is asked for names that are in neither.
pub(super) fn functions_used<E>(code: &str, native64: bool, composed: impl Fn(&str) -> Option<Result<String, E>>) -> Result<String, E> {
    let files = FILES.into_iter().chain([if native64 { NATIVE64 } else { EMULATED64 }]);
    let rows = UnaryOp::ALL.iter().filter_map(|op| op.wgsl()).filter_map(named);
    let all: Vec<(&str, &str)> = files.flat_map(functions).chain(rows).collect();
    let mut used = vec![false; all.len()];
    let mut made: Vec<(String, String)> = Vec::new();
    let mut open = vec![code.to_owned()];
    while let Some(text) = open.pop() {
        for name in names(&text) {
            if let Some(at) = all.iter().position(|(n, _)| *n == name) {
                if !std::mem::replace(&mut used[at], true) {
                    open.push(all[at].1.to_owned());
                }
            } else if !made.iter().any(|(n, _)| n == name)
                && let Some(text) = composed(name)
            {
                let text = text?;
                open.push(text.clone());
                made.push((name.to_owned(), text));
            }
        }
    }
    let listed = all.iter().zip(used).filter(|(_, used)| *used).map(|((_, text), _)| *text);
    Ok(listed.chain(made.iter().map(|(_, text)| text.as_str())).map(|text| format!("{text}\n\n")).collect())
}
