//! The invariants of ARCHITECTURE.md, tested.
//!
//! Each check gives a list of offences, one line each with its remedy; an empty list is a tidy workspace. They run as tests
//! (`cargo test -p xtask`) and from `cargo xtask tidy`.

mod extending;
mod prose;

use std::process::ExitCode;

use crate::source::{self, Crate, Line};

/// Every crate, and those it may use (with what these may use). A new crate gets its line here and in ARCHITECTURE.md.
const ROOMS: &[(&str, &[&str])] = &[
    ("unigrad-scalar", &[]),
    ("unigrad-graph", &["unigrad-scalar"]),
    ("unigrad-kernel", &["unigrad-scalar"]),
    ("unigrad-ir", &["unigrad-scalar"]),
    ("unigrad-device", &["unigrad-kernel"]),
    ("unigrad-gpu", &["unigrad-device", "unigrad-ir"]),
    ("unigrad-loader", &[]),
    ("unigrad-nvml", &["unigrad-device"]),
    ("unigrad-plan", &["unigrad-graph", "unigrad-kernel"]),
    ("unigrad-tensor", &["unigrad-plan", "unigrad-device"]),
    ("unigrad-derive", &[]),
    ("unigrad-nn", &["unigrad-tensor", "unigrad-derive"]),
    ("unigrad-data", &["unigrad-nn"]),
    ("unigrad-train", &["unigrad-data"]),
    ("unigrad-bench", &["unigrad-nn"]),
    ("unigrad", &["unigrad-train", "unigrad-bench", DRIVERS]),
    ("unigrad-cli", &["unigrad"]),
    ("unigrad-micrograd", &[]),
    ("unigrad-py", &["unigrad", "unigrad-cli", "unigrad-micrograd"]),
    ("unigrad-testing", &["unigrad"]),
    ("xtask", &["unigrad-scalar"]),
];

/// Stands for every crate under `crates/drivers/`; what these may use.
const DRIVERS: &str = "drivers";
const DRIVERS_USE: &[&str] = &["unigrad-device", "unigrad-gpu", "unigrad-loader", "unigrad-nvml"];

/// Words that name a backend. In code and in messages they belong to its driver.
const BACKENDS: &[&str] = &["cuda", "cudnn", "cublas", "nvrtc", "nccl", "opencl", "metal", "wgpu", "vulkan", "hip", "rocm", "unigrad_cpu"];

/// Where a backend may be named outside its driver: where drivers are registered, devices listed for people, dialects spelled.
const MAY_NAME_BACKENDS: &[&str] = &[
    "crates/drivers/",
    "crates/unigrad/",
    "crates/unigrad-cli/",
    "crates/unigrad-ir/src/render",
    "crates/unigrad-ir/src/target.rs",
    // The languages that a user's kernel can be in.
    "crates/unigrad-py/src/kernel.rs",
    // What DLPack and CUDA's array interface call devices.
    "crates/unigrad-py/src/exchange/",
    // Examples in documentation, which register a driver as programs' own do.
    "crates/unigrad-nn/src/example.rs",
    // Templates in a dialect's own words.
    "crates/unigrad-gpu/src/lower/native/",
    // PyTorch's names of storages, which its files have.
    "crates/unigrad-nn/src/formats/torch/globals.rs",
];

const PANICS: &[&str] = &[".unwrap()", ".expect(", "panic!(", "todo!(", "unimplemented!("];

/// Offences, or why the check could not be made.
type Verdict = Result<Vec<String>, String>;
type Check = fn() -> Verdict;

const CHECKS: &[(&str, Check)] = &[
    ("arrows point down", arrows),
    ("the command is built with the features of the library", features),
    ("a backend is named in its driver only", backend_names),
    ("libraries do not panic", panics),
    ("what guards a result is checked in every build", guards),
    ("the planner has no default for what cannot happen", defaults),
    ("an optimizer's rule has no result for what cannot happen", unchanged),
    ("a forgotten case does not compile", forgotten_cases),
    ("every file says what it is for", headers),
    ("every layer and loss has an example", examples),
    ("a word names one type", one_meaning),
    ("prose calls things by their names", prose::check),
    ("ARCHITECTURE.md maps what exists", map),
    ("docs/extending.md lists every file that asks", extending::check),
];

pub(crate) fn run() -> ExitCode {
    let mut failed = false;
    for (name, check) in CHECKS {
        let offences = check().unwrap_or_else(|error| vec![error]);
        println!("{} {name}", if offences.is_empty() { "ok  " } else { "FAIL" });
        offences.iter().for_each(|offence| println!("     {offence}"));
        failed |= !offences.is_empty();
    }
    if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

fn is_driver(of: &Crate) -> bool {
    of.folder.starts_with("crates/drivers/")
}

fn arrows() -> Verdict {
    let crates = source::crates()?;
    let mut offences = Vec::new();
    for user in &crates {
        let room = ROOMS.iter().find(|(name, _)| *name == user.name).map(|(_, knows)| *knows);
        let Some(room) = room.or(is_driver(user).then_some(DRIVERS_USE)) else {
            offences.push(format!("{} has no place: give it a line in ROOMS (xtask/src/tidy.rs) and in ARCHITECTURE.md", user.name));
            continue;
        };
        for used in &user.uses {
            let stands_for = if crates.iter().any(|c| c.name == *used && is_driver(c)) { DRIVERS } else { used };
            if !reaches(room, stands_for) {
                offences.push(format!("{} uses {used}, which is not below it: move the shared type down, or the caller up", user.name));
            }
        }
    }
    Ok(offences)
}

/// Features of the library that are of no use to a command: they give its Rust interface more types.
const OF_RUST_ALONE: &[&str] = &["ndarray"];

/// What an error says about features (`build with --features ..`) is true where the command is built as well.
fn features() -> Verdict {
    let crates = source::crates()?;
    let of = |name: &str| crates.iter().find(|c| c.name == name).map(|c| &c.features).ok_or(format!("there is no crate {name}"));
    let (library, command) = (of("unigrad")?, of("unigrad-cli")?);
    let lacks = library.iter().filter(|feature| !command.contains(feature) && !OF_RUST_ALONE.contains(&feature.as_str()));
    Ok(lacks.map(|feature| format!("unigrad-cli lacks the feature `{feature}`: give it a line in its Cargo.toml")).collect())
}

/// Whether `goal` is among `rooms` or below one of them.
fn reaches(rooms: &[&str], goal: &str) -> bool {
    let below = |room: &str| ROOMS.iter().find(|(name, _)| *name == room).map_or(DRIVERS_USE, |(_, knows)| *knows);
    rooms.iter().any(|room| *room == goal || reaches(below(room), goal))
}

/// Runs a rule over every line of every source file of every crate under `crates/`, tests and comments apart.
fn library_lines(mut rule: impl FnMut(&str, &[Line], usize) -> Option<String>) -> Verdict {
    let mut offences = Vec::new();
    for (path, text) in library_files()? {
        let lines = source::lines(&text);
        for (number, line) in lines.iter().enumerate() {
            if line.is_test || line.bare.trim().is_empty() {
                continue;
            }
            if let Some(offence) = rule(&path, &lines, number) {
                offences.push(format!("{path}:{}: {offence}", number + 1));
            }
        }
    }
    Ok(offences)
}

/// Path (relative to the root, with `/`) and text of the library sources: not `tests/`, `benches/`, `examples/`, nor `tests.rs`.
fn library_files() -> Result<Vec<(String, String)>, String> {
    Ok(source_files()?.into_iter().filter(|(path, _)| path.starts_with("crates/")).collect())
}

/// As [`library_files`], with xtask's.
fn source_files() -> Result<Vec<(String, String)>, String> {
    let mut files = Vec::new();
    for of in &source::crates()? {
        for path in source::rust_files(&source::root().join(&of.folder).join("src")) {
            let relative = path.strip_prefix(source::root()).unwrap_or(&path).to_string_lossy().replace('\\', "/");
            if relative.ends_with("/tests.rs") || relative.contains("/tests/") {
                continue;
            }
            let text = std::fs::read_to_string(&path).map_err(|error| format!("{relative}: {error}"))?;
            files.push((relative, text));
        }
    }
    Ok(files)
}

fn backend_names() -> Verdict {
    library_lines(|path, lines, number| {
        if MAY_NAME_BACKENDS.iter().any(|allowed| path.starts_with(allowed)) {
            return None;
        }
        let name = backend_named(&lines[number].code)?;
        Some(format!("names the backend `{name}`: ask the device for a property instead, or move this into the driver"))
    })
}

fn backend_named(code: &str) -> Option<&'static str> {
    let code = code.to_lowercase();
    let words: Vec<&str> = code.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
    BACKENDS.iter().copied().find(|name| words.contains(name))
}

fn panics() -> Verdict {
    library_lines(|path, lines, number| {
        if path.starts_with("crates/unigrad-testing/") {
            return None; // it is all test code
        }
        let panic = PANICS.iter().find(|panic| lines[number].bare.contains(*panic))?;
        (!says(lines, number, "INVARIANT:"))
            .then(|| format!("`{panic}` in a library: return an error, or say after `// INVARIANT:` why it cannot happen"))
    })
}

/// Whether this line, or the comment directly above, has the word with a reason after it.
fn says(lines: &[Line], number: usize, word: &str) -> bool {
    let says = |line: &Line| line.comment.split_once(word).is_some_and(|(_, reason)| !reason.trim().is_empty());
    let above = lines[..number].iter().rev().take_while(|line| line.bare.trim().is_empty() && !line.comment.is_empty());
    says(&lines[number]) || above.into_iter().any(says)
}

/// A `debug_assert` is not there in a release build, so it may only repeat a check that is.
fn guards() -> Verdict {
    let mut offences = Vec::new();
    for (path, text) in source_files()? {
        let lines = source::lines(&text);
        let guards = lines.iter().enumerate().filter(|(_, line)| !line.is_test && is_unguarded(line));
        offences.extend(guards.map(|(number, _)| {
            format!(
                "{path}:{}: `debug_assert` is no guard: return an error, or name after `// CHECKED:` the check that release builds make",
                number + 1
            )
        }));
    }
    Ok(offences)
}

fn is_unguarded(line: &Line) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut places = line.bare.match_indices("debug_assert");
    let asserts = places.any(|(at, _)| {
        let name = line.bare[at..].trim_start_matches(is_word);
        name.starts_with('!') && !line.bare[..at].ends_with(is_word)
    });
    let check = line.comment.split_once("CHECKED:").map_or("", |(_, check)| check.trim());
    asserts && check.is_empty()
}

/// Where a default in place of an impossible state would give wrong numbers that go unseen.
const NO_DEFAULTS: &str = "crates/unigrad-plan/src/";
const DEFAULTS: &[&str] = &[".unwrap_or_default()", ".unwrap_or(", ".map_or(0,", ".map_or_default("];

/// What the planner cannot meet is an error that names op and line; a default that is right says why.
fn defaults() -> Verdict {
    library_lines(|path, lines, number| {
        if !path.starts_with(NO_DEFAULTS) {
            return None;
        }
        let default = default_in(&lines[number])?;
        (!says(lines, number, "DEFAULT:")).then(|| {
            format!("`{default}` in the planner: return an error (`internal.rs`), or say after `// DEFAULT:` why the default is right")
        })
    })
}

fn default_in(line: &Line) -> Option<&'static str> {
    DEFAULTS.iter().copied().find(|default| line.bare.contains(default))
}

const OPTIMIZERS: &str = "crates/unigrad-nn/src/optim/";

/// A parameter that stays as it is looks like one that is trained.
fn unchanged() -> Verdict {
    library_lines(|path, lines, number| {
        (path.starts_with(OPTIMIZERS) && gives_back(&lines[number]))
            .then(|| "a rule gives back what it got: return `misfit(self, state, scalars)`, which is an error".to_owned())
    })
}

fn gives_back(line: &Line) -> bool {
    line.bare.contains(".clone(), state.to_vec())")
}

/// Crates that match ops, kernels and instructions; all drivers do.
const WITHOUT_WILDCARDS: &[&str] =
    &["unigrad-scalar", "unigrad-graph", "unigrad-kernel", "unigrad-ir", "unigrad-device", "unigrad-gpu", "unigrad-plan", "unigrad-tensor"];
const NO_WILDCARDS: &str = "warn(clippy::wildcard_enum_match_arm)";

/// A case that is new must be decided upon wherever the enum is matched: clippy refuses an arm that takes whatever is left.
fn forgotten_cases() -> Verdict {
    let mut offences = Vec::new();
    for of in source::crates()?.iter().filter(|of| WITHOUT_WILDCARDS.contains(&of.name.as_str()) || is_driver(of)) {
        let path = format!("{}/src/lib.rs", of.folder);
        let text = std::fs::read_to_string(source::root().join(&path)).map_err(|error| format!("{path}: {error}"))?;
        if !is_linted(&text) {
            offences.push(format!("{path}: say `#![{NO_WILDCARDS}]` for the whole crate"));
        }
    }
    Ok(offences)
}

fn is_linted(text: &str) -> bool {
    source::lines(text).iter().any(|line| line.bare.starts_with("#![") && line.bare.contains(NO_WILDCARDS))
}

fn headers() -> Verdict {
    let bare = library_files()?.into_iter().filter(|(_, text)| !text.trim_start().starts_with("//!"));
    Ok(bare.map(|(path, _)| format!("{path}: begin with `//!`: what goes in, what comes out, what always and never holds")).collect())
}

/// Where layers and losses are.
const WITH_EXAMPLES: &[&str] = &["crates/unigrad-nn/src/layers/", "crates/unigrad-nn/src/losses.rs"];

/// A layer or loss shows its use in its documentation, where tests run it; those that a macro makes have the macro's example.
fn examples() -> Verdict {
    let files = library_files()?.into_iter().filter(|(path, _)| WITH_EXAMPLES.iter().any(|place| path.starts_with(place)));
    let offences = files.flat_map(|(path, text)| {
        let bare: Vec<String> = without_example(&text).into_iter().map(|(line, name)| format!("{path}:{line}: `{name}`")).collect();
        bare.into_iter().map(|place| format!("{place} has no example: show in its documentation how it is made, and what it gives"))
    });
    Ok(offences.collect())
}

/// Public types without an example, by line; settings need none.
fn without_example(text: &str) -> Vec<(usize, &str)> {
    let lines: Vec<&str> = text.lines().collect();
    let types = lines.iter().enumerate().filter_map(|(number, line)| Some((number, line.trim_start().strip_prefix("pub struct ")?)));
    let named = types.map(|(number, rest)| (number, rest.split(|c: char| !c.is_alphanumeric() && c != '$').next().unwrap_or(rest)));
    let layers = named.filter(|(_, name)| !name.ends_with("Options") && !name.ends_with("Masks"));
    let bare = layers.filter(|(number, _)| {
        let mut above = lines[..*number].iter().rev().take_while(|line| !line.trim().is_empty());
        !above.any(|line| line.contains("```") || line.contains("example!("))
    });
    bare.map(|(number, name)| (number + 1, name)).collect()
}

/// Words that once named several things. Each names at most one type now, tests' own included.
const ONE_MEANING: &[&str] = &["Place", "Plan", "Step", "Program", "Shared", "Scratch", "Spread", "Moment", "Later"];

fn one_meaning() -> Verdict {
    let mut files = Vec::new();
    for path in source::rust_files(&source::root().join("crates")).into_iter().chain(source::rust_files(&source::root().join("xtask"))) {
        let name = path.strip_prefix(source::root()).unwrap_or(&path).to_string_lossy().replace('\\', "/");
        files.push((name, std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?));
    }
    Ok(ONE_MEANING.iter().filter_map(|word| several(word, &files)).collect())
}

/// An offence if types of this name are defined in several places.
fn several(word: &str, files: &[(String, String)]) -> Option<String> {
    let mut places = Vec::new();
    for (path, text) in files {
        for (number, line) in text.lines().enumerate() {
            let line = line.trim_start();
            let mut words = line.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty());
            let kind = words.find(|word| !matches!(*word, "pub" | "crate" | "super" | "self" | "in"));
            if !line.starts_with("//") && matches!(kind, Some("struct" | "enum" | "union" | "trait" | "type")) && words.next() == Some(word)
            {
                places.push(format!("{path}:{}", number + 1));
            }
        }
    }
    (places.len() > 1).then(|| format!("`{word}` is defined in {}: give all but one the name of what they are", places.join(", ")))
}

fn map() -> Verdict {
    let root = source::root();
    let page = std::fs::read_to_string(root.join("ARCHITECTURE.md")).map_err(|error| format!("ARCHITECTURE.md: {error}"))?;
    let crates = source::crates()?;
    let mut folders: Vec<String> = crates.iter().map(|of| of.folder.clone()).collect();
    let tops = ["scripts", "assets", "goldens", "examples", "docs", ".ci"];
    folders.extend(tops.iter().filter(|top| root.join(top).is_dir()).map(|top| (*top).to_owned()));
    let mut offences = map_offences(&page, &folders);
    offences.extend(knows_offences(&page, &crates));
    for path in paths_named(&page) {
        if !root.join(path).exists() {
            offences.push(format!("ARCHITECTURE.md names `{path}`, which does not exist"));
        }
    }
    offences.extend(pages(&root)?);
    Ok(offences)
}

/// The other pages: paths and links lead somewhere.
fn pages(root: &std::path::Path) -> Verdict {
    let mut offences = Vec::new();
    let folder = root.join("docs");
    let docs = std::fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let files = docs.flatten().map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|extension| extension == "md"));
    for file in files.chain([root.join("README.md")]) {
        let page = std::fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))?;
        let name = file.strip_prefix(root).unwrap_or(&file).display();
        offences.extend(
            paths_named(&page)
                .iter()
                .filter(|path| !root.join(path).exists())
                .map(|path| format!("{name} names `{path}`, which does not exist")),
        );
        let beside = file.parent().unwrap_or(root);
        let links = page.split("](").skip(1).filter_map(|rest| rest.split(')').next());
        let files = links.filter(|link| !link.contains("://") && !link.starts_with('#'));
        offences
            .extend(files.filter(|link| !beside.join(link).exists()).map(|link| format!("{name} links to {link}, which does not exist")));
    }
    Ok(offences)
}

fn map_offences(page: &str, folders: &[String]) -> Vec<String> {
    let named = paths_named(page);
    let is_named = |folder: &String| named.iter().any(|path| path.trim_end_matches('/') == folder);
    folders.iter().filter(|folder| !is_named(folder)).map(|folder| format!("ARCHITECTURE.md does not name `{folder}`")).collect()
}

/// How the page's table calls a crate.
fn on_page(name: &str) -> &str {
    if name == "unigrad" { "facade" } else { name.strip_prefix("unigrad-").unwrap_or(name) }
}

/// The last column of the page's table against [`ROOMS`]. A driver's are the crates that it uses, without those below others of them.
fn knows_offences(page: &str, crates: &[Crate]) -> Vec<String> {
    let mut offences = Vec::new();
    for of in crates {
        let uses: Vec<&str> = of.uses.iter().map(String::as_str).collect();
        let highest = || uses.iter().copied().filter(|used| !uses.iter().any(|other| other != used && reaches(&[other], used))).collect();
        let room = ROOMS.iter().find(|(name, _)| *name == of.name).map(|(_, knows)| knows.to_vec());
        let mut knows: Vec<&str> = room.unwrap_or_else(highest).into_iter().map(on_page).collect();
        knows.sort_unstable();
        knows.dedup(); // One that is declared for several systems.
        match known_on_page(page, &of.name) {
            None => offences.push(format!("ARCHITECTURE.md has no row for the crate `{}` in its map", of.name)),
            Some(said) if said != knows => offences.push(format!(
                "ARCHITECTURE.md: `{}` knows {} there, and {} in fact: change the page, or ROOMS (xtask/src/tidy.rs)",
                of.name,
                listed(&said),
                listed(&knows)
            )),
            Some(_) => {}
        }
    }
    offences
}

fn listed(names: &[&str]) -> String {
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

/// What a crate knows by its row of the table, in order of names.
fn known_on_page<'a>(page: &'a str, name: &str) -> Option<Vec<&'a str>> {
    let rows = page.lines().map(|line| line.trim_matches('|').split('|').map(str::trim).collect::<Vec<_>>());
    let row = rows.into_iter().find(|row| row.len() == 4 && row[1].trim_matches('`') == name && row[1].starts_with('`'))?;
    let mut knows: Vec<&str> = row[3].split(',').map(str::trim).filter(|known| *known != "–").collect();
    knows.sort_unstable();
    Some(knows)
}

/// What stands in backticks and is a path from the root: it begins with one of the folders there.
fn paths_named(page: &str) -> Vec<&str> {
    let tops = ["crates/", "xtask", "scripts", "assets", "goldens", "examples", "docs", ".ci", ".cargo"];
    let prose = page.split("```").step_by(2);
    let spans = prose.flat_map(|part| part.split('`').skip(1).step_by(2));
    spans.filter(|span| tops.iter().any(|top| span.starts_with(top)) && !span.contains([' ', '*', '{', '<', ':'])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_tidy(check: Check) {
        let offences = check().unwrap_or_else(|error| vec![error]);
        assert!(offences.is_empty(), "\n{}\n", offences.join("\n"));
    }

    #[test]
    fn arrows_point_down() {
        assert_tidy(arrows);
    }

    #[test]
    fn the_command_has_the_features_of_the_library() {
        assert_tidy(features);
    }

    #[test]
    fn backends_are_named_in_their_drivers_only() {
        assert_tidy(backend_names);
    }

    #[test]
    fn libraries_do_not_panic() {
        assert_tidy(panics);
    }

    #[test]
    fn layers_and_losses_have_examples() {
        assert_tidy(examples);
        let text = "/// A map.\n/// ```\n/// Map;\n/// ```\npub struct Map;\n\n/// None.\n#[derive(Clone)]\npub struct Bare(u8);\n\n\
                    pub struct MapOptions;\n\n#[doc = example!($name)]\npub struct $name;\n\n#[doc = $doc]\npub struct $name {}\n";
        assert_eq!(without_example(text), [(9, "Bare"), (17, "$name")]);
    }

    #[test]
    fn what_guards_a_result_is_checked_in_every_build() {
        assert_tidy(guards);
    }

    #[test]
    fn a_debug_assertion_names_the_check_of_release_builds() {
        let unguarded = |line: &str| source::lines(line).iter().any(is_unguarded);
        for bad in [
            "debug_assert!(a < b);",
            "_ => debug_assert_eq!(a, b),",
            "std::debug_assert_ne!(a, b); // never equal",
            "debug_assert!(a); // CHECKED:",
            "let s = \"CHECKED: no\"; debug_assert!(a);",
        ] {
            assert!(unguarded(bad), "{bad}");
        }
        for good in [
            "debug_assert!(a < b); // CHECKED: `bind` compares the lengths",
            "// debug_assert!(a)",
            "let s = \"debug_assert!(a)\";",
            "my_debug_assert!(a);",
            "assert!(a);",
            "#[cfg(debug_assertions)]",
        ] {
            assert!(!unguarded(good), "{good}");
        }
        let source = "#[cfg(test)]\nmod tests {\n    fn a() { debug_assert!(b); }\n}";
        assert!(source::lines(source).iter().filter(|line| is_unguarded(line)).all(|line| line.is_test));
    }

    #[test]
    fn the_planner_has_no_default_for_what_cannot_happen() {
        assert_tidy(defaults);
    }

    #[test]
    fn defaults_are_seen_in_code_only() {
        let found = |line: &str| source::lines(line).iter().find_map(default_in);
        assert_eq!(found("let x = y.unwrap_or(0);"), Some(".unwrap_or("));
        assert_eq!(found("    .unwrap_or_default();"), Some(".unwrap_or_default()"));
        assert_eq!(found("y.map_or(0, |x| x)"), Some(".map_or(0,"));
        for good in ["// y.unwrap_or(0)", "\".unwrap_or(\"", "y.unwrap_or_else(|| fail())", "y.ok_or(0)?", "y.is_none_or(|x| x > 0)"] {
            assert_eq!(found(good), None, "{good}");
        }
    }

    #[test]
    fn an_optimizers_rule_has_no_result_for_what_cannot_happen() {
        assert_tidy(unchanged);
        let found = |line: &str| source::lines(line).iter().any(gives_back);
        assert!(
            found("let [rate] = scalars else { return (value.clone(), state.to_vec()) };") && !found("// (value.clone(), state.to_vec())")
        );
    }

    #[test]
    fn a_forgotten_case_does_not_compile() {
        assert_tidy(forgotten_cases);
        for good in
            ["//! Ops.\n\n#![warn(clippy::wildcard_enum_match_arm)]\n", "#![cfg_attr(not(test), warn(clippy::wildcard_enum_match_arm))]"]
        {
            assert!(is_linted(good), "{good}");
        }
        for bad in ["mod a;", "// #![warn(clippy::wildcard_enum_match_arm)]", "#[warn(clippy::wildcard_enum_match_arm)]\nmod a;"] {
            assert!(!is_linted(bad), "{bad}");
        }
    }

    #[test]
    fn every_file_says_what_it_is_for() {
        assert_tidy(headers);
    }

    #[test]
    fn a_word_names_one_type() {
        assert_tidy(one_meaning);
        let file = |path: &str, text: &str| (path.to_owned(), text.to_owned());
        let a = file("a.rs", "pub struct Plan {\n// struct Plan\nfn f(x: Plan) {}");
        assert_eq!(several("Plan", std::slice::from_ref(&a)), None);
        assert_eq!(several("Plan", &[a.clone(), file("b.rs", "struct Plans;\nenum RowPlan {}")]), None);
        let found = several("Plan", &[a, file("b.rs", "\n    pub(super) type Plan = u8;")]).unwrap();
        assert!(found.contains("a.rs:1, b.rs:2"), "{found}");
    }

    #[test]
    fn prose_calls_things_by_their_names() {
        assert_tidy(prose::check);
    }

    #[test]
    fn the_map_names_what_exists() {
        assert_tidy(map);
    }

    #[test]
    fn lists_for_extending_are_whole() {
        assert_tidy(extending::check);
    }

    #[test]
    fn what_crates_know_is_on_the_map() {
        let of = |name: &str, uses: &[&str]| Crate {
            name: name.to_owned(),
            folder: String::new(),
            uses: uses.iter().map(|used| (*used).to_owned()).collect(),
            features: Vec::new(),
        };
        let crates = [
            of("unigrad-plan", &[]),
            of("unigrad-derive", &[]),
            of("unigrad", &[]),
            of("unigrad-new", &["unigrad-gpu", "unigrad-ir", "unigrad-scalar", "unigrad-nvml"]),
        ];
        let page = "| `a` | `unigrad-plan` | plans | kernel, graph |\n| `b` | `unigrad-derive` | macros | – |\n\
                    | `c` | `unigrad` | all | bench, drivers, train |\n| `d` | `unigrad-new` | a driver | gpu, nvml |\n";
        assert_eq!(knows_offences(page, &crates), [""; 0]);
        let page = page.replace("kernel, graph", "kernel").replace("gpu, nvml", "gpu, ir, nvml").replace("| – |", "| scalar |");
        let offences = knows_offences(&page, &crates);
        assert_eq!(offences.len(), 3, "{offences:?}");
        assert!(offences[0].contains("`unigrad-plan` knows kernel there, and graph, kernel in fact"), "{offences:?}");
        assert!(offences[1].contains("`unigrad-derive` knows scalar there, and none in fact"), "{offences:?}");
        assert!(offences[2].contains("`unigrad-new` knows gpu, ir, nvml there, and gpu, nvml in fact"), "{offences:?}");
        assert_eq!(knows_offences("", &crates[..1]), ["ARCHITECTURE.md has no row for the crate `unigrad-plan` in its map"]);
    }

    #[test]
    fn rooms_are_listed_from_below() {
        for (at, (name, knows)) in ROOMS.iter().enumerate() {
            for known in *knows {
                let place = ROOMS.iter().position(|(room, _)| room == known);
                assert!(*known == DRIVERS || place.is_some_and(|place| place < at), "{name} knows {known}, which is not above it in ROOMS");
            }
        }
    }

    #[test]
    fn a_lower_room_does_not_reach_a_higher_one() {
        assert!(reaches(&["unigrad"], "unigrad-scalar") && reaches(&["unigrad"], DRIVERS));
        assert!(!reaches(&["unigrad-nn"], DRIVERS) && !reaches(&["unigrad-plan"], "unigrad-device"));
    }

    #[test]
    fn backend_words_are_whole_words() {
        assert_eq!(backend_named("Metal::new(1)"), Some("metal"));
        assert_eq!(backend_named("let relationship = membership;"), None);
        assert_eq!(backend_named("match name { \"cuda\" => 0, _ => 1 }"), Some("cuda"));
    }

    #[test]
    fn invariants_excuse_the_line_below() {
        let lines =
            source::lines("a.unwrap();\n// INVARIANT: filled above,\n// and never emptied.\nb.unwrap();\nc.unwrap(); // INVARIANT: so");
        assert_eq!([0, 3, 4].map(|number| says(&lines, number, "INVARIANT:")), [false, true, true]);
        let lines = source::lines("a.unwrap(); // INVARIANT:");
        assert!(!says(&lines, 0, "INVARIANT:"));
    }

    #[test]
    fn the_map_is_read_from_backticks() {
        let page = "`crates/a` and `crates/b/src/c.rs`; `crates/*` no, `x` no.\n```\n`crates/z`\n```\n`xtask`";
        assert_eq!(paths_named(page), ["crates/a", "crates/b/src/c.rs", "xtask"]);
        assert_eq!(map_offences(page, &["crates/a".to_owned(), "crates/d".to_owned()]), ["ARCHITECTURE.md does not name `crates/d`"]);
    }
}
