//! Words of texts: a thing is no person.
//!
//! In: comments, strings and functions' names of Rust sources, tests' own included; Python sources; the pages. Out: an offence for each line with a
//! pronoun for people, but where the people stand before it (`people, whom ..`).
//! Never: looks at other names of a program, at what a string is formatted with, or at code on a page.

use super::Verdict;
use crate::source::{self, Line};
use std::path::{Path, PathBuf};

/// Pronouns for people. A thing is named, or is `that`, `which`, `nothing`.
const OF_PEOPLE: &[&str] = &["who", "whom", "whoever", "nobody", "somebody", "anybody", "everybody"];

/// Before a pronoun, these make it right.
const PEOPLE: &[&str] = &["people", "person", "user", "users", "reader", "readers", "author", "authors"];

/// Where the words themselves are data.
const ABOUT_WORDS: &str = "xtask/src/tidy/prose.rs";

pub(super) fn check() -> Verdict {
    let root = source::root();
    let mut offences = Vec::new();
    for path in ["crates", "xtask"].iter().flat_map(|folder| source::rust_files(&root.join(folder))) {
        let (name, text) = read(&root, &path)?;
        for (number, line) in source::lines(&text).iter().enumerate() {
            offences.extend(in_rust(&name, line).map(|found| format!("{name}:{}: {found}: name the thing or the person", number + 1)));
        }
    }
    let python = ["crates/unigrad-py", "scripts", "benchmarks"].iter().flat_map(|folder| source::files(&root.join(folder), &["py", "pyi"]));
    for path in python {
        let (name, text) = read(&root, &path)?;
        offences.extend(in_lines(&name, text.lines()));
    }
    for path in pages(&root)? {
        let (name, text) = read(&root, &path)?;
        offences.extend(in_lines(&name, without_code(&text).iter().map(String::as_str)));
    }
    Ok(offences)
}

/// A file's name from the root, and its text.
fn read(root: &Path, path: &Path) -> Result<(String, String), String> {
    let name = path.strip_prefix(root).unwrap_or(path).to_string_lossy().replace('\\', "/");
    let text = std::fs::read_to_string(path).map_err(|error| format!("{name}: {error}"))?;
    Ok((name, text))
}

/// The pages at the root and those of `docs`.
fn pages(root: &Path) -> Result<Vec<PathBuf>, String> {
    let top = std::fs::read_dir(root).map_err(|error| format!("{}: {error}", root.display()))?;
    let top = top.flatten().map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|extension| extension == "md"));
    let mut pages: Vec<PathBuf> = top.chain(source::files(&root.join("docs"), &["md"])).collect();
    pages.sort();
    Ok(pages)
}

/// What is wrong with a line of a Rust source.
fn in_rust(path: &str, line: &Line) -> Option<String> {
    let in_comment = || of_people(&line.comment).map(|word| format!("\"{word}\" in a comment"));
    let in_string =
        || of_people(&without_arguments(&line.text)).filter(|_| path != ABOUT_WORDS).map(|word| format!("\"{word}\" in a text"));
    let in_name = || in_name(&line.bare).map(|word| format!("\"{word}\" in a function's name"));
    in_comment().or_else(in_string).or_else(in_name)
}

fn in_lines<'a>(name: &str, lines: impl Iterator<Item = &'a str>) -> Vec<String> {
    let wrong = lines.enumerate().filter_map(|(number, line)| Some((number, of_people(line)?)));
    wrong.map(|(number, word)| format!("{name}:{}: \"{word}\": name the thing or the person", number + 1)).collect()
}

/// The first pronoun for people that has none before it.
fn of_people(text: &str) -> Option<&'static str> {
    let text = text.to_lowercase();
    let words: Vec<&str> = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let found = |(at, word): (usize, &&str)| {
        let pronoun = *OF_PEOPLE.iter().find(|pronoun| *pronoun == word)?;
        let of_people = pronoun.starts_with("who") && at > 0 && PEOPLE.contains(&words[at - 1]);
        (!of_people).then_some(pronoun)
    };
    words.iter().enumerate().find_map(found)
}

/// The pronoun in the name of a function that the line defines; a name has no apostrophes.
fn in_name(bare: &str) -> Option<&'static str> {
    let mut words = bare.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty());
    words.find(|word| *word == "fn")?;
    let name = words.next()?.to_lowercase();
    name.split('_').find_map(|word| OF_PEOPLE.iter().copied().find(|pronoun| word == *pronoun || word.strip_suffix('s') == Some(pronoun)))
}

/// A string without the names that it is formatted with.
fn without_arguments(text: &str) -> String {
    let mut rest = text;
    let mut words = String::new();
    while let Some((before, after)) = rest.split_once('{') {
        words.push_str(before);
        match after.split_once('}') {
            Some((argument, after)) if !argument.contains(char::is_whitespace) => rest = after,
            _ => {
                words.push(' ');
                rest = after;
            }
        }
    }
    words + rest
}

/// The lines of a page, each without code.
fn without_code(page: &str) -> Vec<String> {
    let mut in_block = false;
    let prose = |line: &str| {
        let is_fence = line.trim_start().starts_with("```");
        in_block ^= is_fence;
        if in_block || is_fence { String::new() } else { line.split('`').step_by(2).collect::<Vec<_>>().join(" ") }
    };
    page.lines().map(prose).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pronouns_are_whole_words_without_people_before_them() {
        assert_eq!(of_people("// A failure has nobody to go to."), Some("nobody"));
        assert_eq!(of_people("// Whose whole is known, whoever asks"), Some("whoever"));
        assert_eq!(of_people("// Users who ask, and tests who ask"), Some("who"));
        for good in ["// The whole, whose parts", "// For users who ask", "// people, whom it tells"] {
            assert_eq!(of_people(good), None, "{good}");
        }
    }

    #[test]
    fn rust_is_read_for_comments_strings_and_names() {
        let found = |text: &str| source::lines(text).iter().find_map(|line| in_rust("a.rs", line));
        for (bad, what) in [
            ("f(); // for who asks", "\"who\" in a comment"),
            ("error(\"nobody \\\n asks\")", "\"nobody\" in a text"),
            ("error(\"it is there,\\nwho asks\")", "\"who\" in a text"),
            ("pub(crate) fn a_page_is_nobodys() {", "\"nobody\" in a function's name"),
            ("#[test] fn who_waits<T>() {", "\"who\" in a function's name"),
            ("write(f, \"{a} who {b}\")", "\"who\" in a text"),
        ] {
            assert_eq!(found(bad).as_deref(), Some(what), "{bad}");
        }
        for good in ["let who = 1;", "write(f, \"{who:?} and {}\", who)", "fn whole() {", "fn of(who: &str) {", "\"{\" + \"}\""] {
            assert_eq!(found(good), None, "{good}");
        }
    }

    #[test]
    fn pages_are_read_without_their_code() {
        let page = "A `who` and a thread\n```\nwho();\n```\nwho waits\n";
        assert_eq!(in_lines("a.md", without_code(page).iter().map(String::as_str)), ["a.md:5: \"who\": name the thing or the person"]);
    }

    #[test]
    fn the_pages_are_found() {
        let names: Vec<String> = pages(&source::root()).unwrap().iter().map(|path| read(&source::root(), path).unwrap().0).collect();
        for page in ["README.md", "ARCHITECTURE.md", "CHANGELOG.md", "docs/extending.md", "docs/methods.md"] {
            assert!(names.iter().any(|name| name == page), "{page}");
        }
    }
}
