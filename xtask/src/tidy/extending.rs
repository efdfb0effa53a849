//! The lists of files in docs/extending.md against the sources.
//!
//! In: the page, and the sources of libraries without tests. Out: an offence for each file that asks which kernel, op or dtype it has, and is not in
//! the section about a new one.
//! Always: what a file asks is read from its code: it names one case of the enum that is like a new one, or all of them. A list may have more
//! files than are found so.

use super::{Verdict, library_files, paths_named};
use crate::source;

const PAGE: &str = "docs/extending.md";

/// What a section is about.
struct Section {
    title: &'static str,
    /// The enum that gets a case.
    of: &'static str,
    /// Where it is defined.
    at: &'static str,
    cases: Cases,
}

/// The files that a section lists, by the cases that they name.
enum Cases {
    /// No match has an arm for the rest, so where this case is named, a new one will be.
    One(&'static str),
    /// Dtypes come in families, and many a file is about one of them; where each is named, a new one will be.
    Every,
}

const SECTIONS: &[Section] = &[
    Section { title: "A kernel in the library", of: "Kernel", at: "crates/unigrad-kernel/src/lib.rs", cases: Cases::One("Scan") },
    Section { title: "An op that is a node of its own", of: "Op", at: "crates/unigrad-graph/src/op.rs", cases: Cases::One("Scan") },
    Section { title: "A dtype", of: "DType", at: "crates/unigrad-scalar/src/dtype.rs", cases: Cases::Every },
];

pub(super) fn check() -> Verdict {
    let page = std::fs::read_to_string(source::root().join(PAGE)).map_err(|error| format!("{PAGE}: {error}"))?;
    let code: Vec<(String, String)> = library_files()?.into_iter().map(|(path, text)| (path, code(&text))).collect();
    let mut offences = Vec::new();
    for section in SECTIONS {
        offences.extend(missing(section, &page, &asking(section, &code)?)?);
    }
    Ok(offences)
}

/// Without comments, texts and tests.
fn code(text: &str) -> String {
    let lines = source::lines(text);
    lines.iter().filter(|line| !line.is_test).map(|line| format!("{}\n", line.bare)).collect()
}

/// The files that ask which case there is.
fn asking<'a>(section: &Section, code: &'a [(String, String)]) -> Result<Vec<&'a str>, String> {
    let Section { of, at, cases, .. } = section;
    let all = code.iter().find(|(path, _)| path == at).and_then(|(_, text)| variants(text, of));
    let all = all.ok_or(format!("{at} has no enum `{of}`: say in xtask/src/tidy/extending.rs where it is"))?;
    let wanted = match cases {
        Cases::One(case) if all.contains(case) => vec![*case],
        Cases::One(case) => return Err(format!("`{of}` has no case `{case}`: say another one in xtask/src/tidy/extending.rs")),
        Cases::Every => all,
    };
    let asks = |text: &str| wanted.iter().all(|case| names(text, of, case));
    Ok(code.iter().filter(|(_, text)| asks(text)).map(|(path, _)| path.as_str()).collect())
}

/// An offence for each of the files that the section lacks.
fn missing(section: &Section, page: &str, asking: &[&str]) -> Verdict {
    let Section { title, of, .. } = section;
    let listed = paths_named(part(page, title).ok_or(format!("{PAGE} has no section \"{title}\""))?);
    let lacks = asking.iter().filter(|path| !listed.contains(path));
    Ok(lacks.map(|path| format!("{PAGE} does not name `{path}`, which asks for the `{of}`, in its section \"{title}\"")).collect())
}

/// A page's section, to the next one.
fn part<'a>(page: &'a str, title: &str) -> Option<&'a str> {
    let parts = page.split("\n## ").skip(1);
    parts.filter_map(|part| part.split_once('\n')).find(|(heading, _)| heading.trim() == title).map(|(_, text)| text)
}

/// The cases of an enum that a source defines, as `rustfmt` lays it out.
fn variants<'a>(code: &'a str, of: &str) -> Option<Vec<&'a str>> {
    let (_, body) = code.split_once(&format!("pub enum {of} {{\n"))?;
    let (body, _) = body.split_once("\n}")?;
    let cases = body.lines().filter_map(|line| line.strip_prefix("    ")).filter(|line| line.starts_with(|c: char| c.is_uppercase()));
    Some(cases.filter_map(|line| line.split(|c: char| !c.is_alphanumeric()).next()).collect())
}

/// Whether code has `of::case` as whole words.
fn names(code: &str, of: &str, case: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let path = format!("{of}::{case}");
    code.match_indices(&path).any(|(at, _)| !code[..at].ends_with(is_word) && !code[at + path.len()..].starts_with(is_word))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENUM: &str =
        "pub enum Kind {\n    // Comments are gone here.\n    Map(Map),\n    Sum {\n        Axis: usize,\n    },\n    Sort,\n}\n";

    fn section(cases: Cases) -> Section {
        Section { title: "A kind", of: "Kind", at: "crates/k/src/lib.rs", cases }
    }

    fn sources() -> Vec<(String, String)> {
        let all = "match k { Kind::Map(_) | Kind::Sum { .. } => 0, Kind::Sort => 1 }";
        let texts = [
            ("lib", ENUM),
            ("all", all),
            ("one", "matches!(k, Kind::Sort)"),
            ("others", "MyKind::Sort; Kind::Sorted; k::Sort; // Kind::Sort\n\"Kind::Sort\""),
            ("tested", "#[cfg(test)]\nmod tests {\n    fn f() { Kind::Sort }\n}\n"),
        ];
        texts.iter().map(|(name, text)| (format!("crates/k/src/{name}.rs"), code(text))).collect()
    }

    #[test]
    fn cases_are_read_from_the_enum() {
        assert_eq!(variants(&code(ENUM), "Kind").unwrap(), ["Map", "Sum", "Sort"]);
        assert_eq!(variants(&code(ENUM), "Kin"), None);
    }

    #[test]
    fn a_file_that_is_missing_from_its_section_is_an_offence() {
        let page = "# Page\n\n`crates/k/src/one.rs`\n\n## A kind\n\nIn `crates/k/src/all.rs`.\n\n## Another\n\n`crates/k/src/one.rs`\n";
        let lacks = |cases, page: &str| {
            let section = section(cases);
            missing(&section, page, &asking(&section, &sources()).unwrap()).unwrap()
        };
        let expected = "docs/extending.md does not name `crates/k/src/one.rs`, which asks for the `Kind`, in its section \"A kind\"";
        assert_eq!(lacks(Cases::One("Sort"), page), [expected]);
        assert_eq!(lacks(Cases::Every, page), [""; 0]);
        let offences = lacks(Cases::Every, &page.replace("all.rs", "one.rs"));
        assert!(offences.len() == 1 && offences[0].contains("`crates/k/src/all.rs`"), "{offences:?}");
    }

    #[test]
    fn a_rule_that_has_nothing_to_look_at_fails() {
        assert!(asking(&section(Cases::One("Product")), &sources()).is_err());
        assert!(asking(&section(Cases::Every), &sources()[1..]).is_err());
        assert!(missing(&section(Cases::Every), "\n## A kind of\n\n", &[]).is_err());
    }

    /// The page as it is, without one file of a list at a time.
    #[test]
    fn no_file_can_be_left_out_of_the_page() {
        let page = std::fs::read_to_string(source::root().join(PAGE)).unwrap();
        let sources: Vec<(String, String)> = library_files().unwrap().into_iter().map(|(path, text)| (path, code(&text))).collect();
        for section in SECTIONS {
            let files = asking(section, &sources).unwrap();
            assert!(files.len() > 10, "{}: {files:?}", section.title);
            for path in &files {
                let found = missing(section, &page.replace(&format!("`{path}`"), "it"), &files).unwrap();
                assert!(found.len() == 1 && found[0].contains(path), "{}: {found:?}", section.title);
            }
        }
    }
}
