//! What is made from the sources, so that it is true: the table of methods, the Python stub, the pages of methods and of settings.
//!
//! In: sources. Out: files, and whether they are what the sources say.

use crate::{python, registry, source, stub};
use std::{
    fmt::Write,
    fs,
    process::{Command, ExitCode},
};

/// A file, and what makes its text.
type Made = (&'static str, fn() -> Result<String, String>);

const FILES: &[Made] = &[
    ("crates/unigrad-tensor/src/registry/methods.rs", registry::table),
    ("crates/unigrad-tensor/src/registry/ops.pyi", stub::stub),
    ("crates/unigrad-py/src/tensor/ops.rs", python),
    ("docs/methods.md", methods),
    ("docs/settings.md", settings),
];

/// `cargo xtask generate`
pub(crate) fn generate() -> ExitCode {
    for (path, make) in FILES {
        let written = make().and_then(|text| fs::write(source::root().join(path), text).map_err(|error| error.to_string()));
        if let Err(error) = written {
            eprintln!("error: {path}: {error}");
            return ExitCode::FAILURE;
        }
    }
    stubs()
}

/// The package's stubs, which its test makes from the library that cargo builds.
fn stubs() -> ExitCode {
    let mut command = Command::new("cargo");
    command.current_dir(source::root()).args(["test", "--quiet", "--workspace", "--test", "python", "--", "--write-stubs"]);
    match command.status() {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: cargo: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The native methods of Python's tensors, as `rustfmt` lays them out.
fn python() -> Result<String, String> {
    source::formatted(&python::ops()?)
}

fn methods() -> Result<String, String> {
    let mut page =
        "# Methods of `Tensor`\n\nMade from the sources by `cargo xtask generate`. The whole documentation: `cargo doc --open`.\n\n\
        | method | what it is |\n|---|---|\n"
            .to_owned();
    for method in registry::methods()? {
        let _ = writeln!(page, "| `{}` | {} |", method.signature.replace('|', "\\|"), first_sentence(&method.doc));
    }
    Ok(page)
}

/// The first sentence, on one line, with links as their texts.
fn first_sentence(doc: &str) -> String {
    let paragraph: Vec<&str> = doc.lines().take_while(|line| !line.is_empty()).collect();
    let text = paragraph.join(" ");
    let end = text.find(". ").map_or(text.len(), |at| at + 1);
    let text = text[..end].replace("[`Tensor::", "`").replace("[`UnaryOp::", "`").replace("`]", "`").replace('|', "\\|");
    // A link to a page of the documentation, `[text](path)`, is its text.
    let mut plain = String::new();
    let mut rest = text.as_str();
    while let Some((before, link)) = rest.split_once("](") {
        let (kept, word) = before.rsplit_once('[').unwrap_or((before, ""));
        plain.push_str(kept);
        plain.push_str(word);
        rest = link.split_once(')').map_or("", |(_, after)| after);
    }
    plain + rest
}

/// The table at the head of the settings' source.
fn settings() -> Result<String, String> {
    let path = source::root().join("crates/unigrad-device/src/config.rs");
    let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let table: Vec<String> = text
        .lines()
        .map_while(|line| line.strip_prefix("//!"))
        .filter_map(|line| line.trim().strip_prefix('|'))
        .map(|row| format!("|{}", row.replace("[`Config::", "`Config::").replace("[`crate::", "`").replace("`]", "`")))
        .collect();
    if table.len() < 3 {
        return Err(format!("{}: no table of settings in its header", path.display()));
    }
    Ok(format!(
        "# Settings\n\nMade from `crates/unigrad-device/src/config.rs` by `cargo xtask generate`. What a program sets with `Config::apply` counts, then the\n\
         environment, then the default. A value that is ill-formed is an error when the first device is opened.\n\n{}\n",
        table.join("\n")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_made_from_the_sources_is_up_to_date() {
        for (path, make) in FILES {
            let there = fs::read_to_string(source::root().join(path)).unwrap_or_default();
            assert!(there == make().unwrap(), "{path} is old: run `cargo xtask generate`");
        }
    }

    #[test]
    fn a_page_has_the_first_sentence_without_links() {
        let doc = "Sum over axes (`()`: all), as [`Tensor::mean`] has it. [Off by at most](crate::accuracy) so much.\n\nMore.";
        assert_eq!(first_sentence(doc), "Sum over axes (`()`: all), as `mean` has it.");
        assert_eq!(first_sentence("[Off](a::b) by `|x|`"), "Off by `\\|x\\|`");
    }
}
