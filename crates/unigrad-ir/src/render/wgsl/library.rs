//! The functions that programs call, of which each text gets those it needs.

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
    file.split("\n\n").skip(1).filter_map(|text| {
        let start = text.find("fn ")? + 3;
        let name = text[start..].split('(').next()?;
        Some((name, text.trim_end()))
    })
}

fn names(text: &str) -> impl Iterator<Item = &str> {
    let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    code.flat_map(|line| line.split(|c: char| !c.is_ascii_alphanumeric() && c != '_'))
}

/// The functions that `code` calls, and those that they call.
pub(super) fn functions_used(code: &str, native64: bool) -> String {
    let files = FILES.into_iter().chain([if native64 { NATIVE64 } else { EMULATED64 }]);
    let all: Vec<(&str, &str)> = files.flat_map(functions).collect();
    let mut used = vec![false; all.len()];
    let mut open = vec![code];
    while let Some(text) = open.pop() {
        for name in names(text) {
            if let Some(at) = all.iter().position(|(n, _)| *n == name).filter(|at| !used[*at]) {
                used[at] = true;
                open.push(all[at].1);
            }
        }
    }
    all.iter().zip(used).filter(|(_, used)| *used).map(|((_, text), _)| format!("{text}\n\n")).collect()
}
