//! Texts as files, so that a change of the compiler shows what it changes: `UPDATE_SNAPSHOTS=1` rewrites them.
//!
//! In: a text that is the same on every machine. Out: the first line that differs from the file, and how to accept it.

use std::path::Path;

/// Compares a text with `tests/snapshots/<name>.txt` of this crate, or writes it there where the environment asks for that.
pub fn compare(name: &str, text: &str) -> Result<(), String> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots").join(format!("{name}.txt"));
    // A file that is not there yet is as an empty one.
    let before = std::fs::read_to_string(&file).unwrap_or_default().replace("\r\n", "\n");
    if before == text {
        return Ok(());
    }
    if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
        let written = file.parent().map_or(Ok(()), std::fs::create_dir_all).and_then(|()| std::fs::write(&file, text));
        return written.map_err(|error| format!("{}: {error}", file.display()));
    }
    let same = before.lines().zip(text.lines()).take_while(|(a, b)| a == b).count();
    let line = |text: &str| text.lines().nth(same).unwrap_or("(end)").to_owned();
    let help = "read the change, then UPDATE_SNAPSHOTS=1 cargo test --workspace --test plan_texts";
    Err(format!("{}:{}\n  was {}\n  is  {}\n help: {help}", file.display(), same + 1, line(&before), line(text)))
}
