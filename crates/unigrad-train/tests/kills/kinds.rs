//! What the library has that a run can be made of, read from its sources, so that nothing new is forgotten.
//!
//! In: the sources of optimizers, schedules, samplers and callbacks. Out: kinds, and how each looks in a row of the table.

use super::table::SOURCES;
use std::path::{Path, PathBuf};

pub(crate) struct Kind {
    pub(crate) name: String,
    /// The file that has it.
    pub(crate) place: String,
    /// Any of these in a row's text, which has no spaces.
    pub(crate) patterns: Vec<String>,
}

impl Kind {
    fn new(name: &str, place: &Path, patterns: &[&str]) -> Kind {
        let place = place.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Kind { name: name.to_owned(), place, patterns: patterns.iter().map(|pattern| (*pattern).to_owned()).collect() }
    }

    /// Whether a row has it: as a word of its own.
    pub(crate) fn stands_in(&self, text: &str) -> bool {
        self.patterns.iter().any(|pattern| {
            let begins = text.match_indices(pattern.as_str());
            begins.into_iter().any(|(at, _)| {
                let before = text[..at].chars().next_back();
                pattern.starts_with('.') || before.is_none_or(|c| !c.is_alphanumeric() && c != '_')
            })
        })
    }
}

/// A row's text with that of the source it names, without spaces.
pub(crate) fn whole_text(row: &str) -> String {
    let words: Vec<&str> = row.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
    let sources = SOURCES.iter().filter(|(name, _)| words.contains(name)).map(|(_, text)| *text);
    std::iter::once(row).chain(sources).flat_map(|text| text.chars().chain(['|'])).filter(|c| !c.is_whitespace()).collect()
}

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The files of a folder and of those in it, with their text.
fn files(folder: &str) -> Vec<(PathBuf, String)> {
    let (mut found, mut left) = (Vec::new(), vec![crates().join(folder)]);
    while let Some(next) = left.pop() {
        for entry in std::fs::read_dir(&next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                left.push(path);
            } else if path.extension().is_some_and(|end| end == "rs") && path.file_stem().is_some_and(|stem| stem != "tests") {
                let text = std::fs::read_to_string(&path).unwrap();
                found.push((path, text));
            }
        }
    }
    found.sort();
    found
}

/// The words of a crate's face.
fn exported(of: &str) -> Vec<String> {
    let text = std::fs::read_to_string(crates().join(of).join("src/lib.rs")).unwrap();
    let code: String = text.lines().filter(|line| !line.trim_start().starts_with("//")).flat_map(|line| [line, "\n"]).collect();
    code.split(|c: char| !c.is_alphanumeric() && c != '_').map(str::to_owned).collect()
}

/// The word that a text begins with.
fn word(text: &str) -> &str {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default()
}

/// Public functions in a file: name, text up to the body, and the last line before them that begins an `impl`.
fn functions(text: &str) -> Vec<(&str, String, &str)> {
    let (mut found, mut of) = (Vec::new(), "");
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if line.starts_with("impl") {
            of = line.trim_end();
        }
        if let Some(rest) = line.trim_start().strip_prefix("pub fn ") {
            let signature = text[at..].split('{').next().unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ");
            found.push((word(rest), signature, of));
        }
        at += line.len();
    }
    found
}

/// What a line `impl<..> Trait for Type<..>` says that the trait is implemented for.
fn implementor<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    let (head, tail) = line.strip_prefix("impl")?.split_once(" for ")?;
    let is_it = head.trim_end().rsplit(['>', ' ']).find(|part| !part.is_empty()).is_some_and(|last| last == name);
    // `Collate<Sample>`, whose argument is no matter.
    let is_it = is_it || head.split([' ', '>']).any(|part| part.split('<').next() == Some(name) && part.contains('<'));
    // A reference or a pointer to any of them is no kind of its own.
    is_it.then(|| word(tail)).filter(|name| !name.is_empty())
}

pub(crate) fn all() -> Vec<Kind> {
    let mut kinds = Vec::new();
    optimizers(&mut kinds);
    schedules(&mut kinds);
    batches(&mut kinds);
    callbacks(&mut kinds);
    kinds
}

fn optimizers(kinds: &mut Vec<Kind>) {
    let public = exported("unigrad-nn");
    for (path, text) in files("unigrad-nn/src/optim") {
        for line in text.lines() {
            let Some((name, _)) = line.strip_prefix("pub type ").and_then(|rest| rest.split_once(" = Optimizer<")) else { continue };
            if public.iter().any(|word| word == name) {
                kinds.push(Kind::new(name, &path, &[&format!("{name}::new(")]));
            }
        }
        for (name, signature, of) in functions(&text) {
            let owner = word(of.trim_start_matches("impl<R: Rule> ").trim_start_matches("impl "));
            // By constructor too: not every optimizer is a type of its own.
            // In a macro there is no owner; the types that it is for are optimizers by their line above.
            let is_new = name == "new"
                && !owner.is_empty()
                && signature.contains("parameters: Vec<Tensor>")
                && public.iter().any(|word| word == owner);
            if is_new && !kinds.iter().any(|kind| kind.name == owner) {
                kinds.push(Kind::new(owner, &path, &[&format!("{owner}::new(")]));
            }
            // What surrounds an optimizer, or changes what its steps are made of.
            let takes_self = signature.contains("(self") || signature.contains("(mut self");
            let gives = ["-> Self", "-> Result<Self>", "-> Result<Optimizer<", "-> Sam<"].iter().any(|gives| signature.contains(gives));
            if of == "impl<R: Rule> Optimizer<R> {" && takes_self && gives {
                kinds.push(Kind::new(name, &path, &[&format!(".{name}(")]));
            }
            if owner == "AveragedModel" && signature.contains("-> Result<AveragedModel>") && !signature.contains("self") {
                kinds.push(Kind::new(&format!("AveragedModel::{name}"), &path, &[&format!("AveragedModel::{name}(")]));
            }
            // What has a state to resume from.
            if name == "load_state_dict" && signature.contains("&mut self") {
                match owner {
                    "Optimizer" => kinds.push(Kind::new("Optimizer::with_rule", &path, &["Optimizer::with_rule("])),
                    "Sam" => kinds.push(Kind::new("Sam", &path, &[".sam("])),
                    "GradScaler" => kinds.push(Kind::new("GradScaler", &path, &["Precision::F16", "GradScaler::new("])),
                    other => kinds.push(Kind::new(other, &path, &[&format!("{other}::")])),
                }
            }
        }
    }
}

fn schedules(kinds: &mut Vec<Kind>) {
    for (path, text) in files("unigrad-nn/src/schedule") {
        for (name, signature, of) in functions(&text) {
            if of == "impl Schedule {" && signature.ends_with("-> Schedule") {
                let pattern = if signature.contains("self") { format!(".{name}(") } else { format!("Schedule::{name}(") };
                kinds.push(Kind::new(&format!("Schedule::{name}"), &path, &[&pattern]));
            }
        }
        if text.contains("pub struct Plateau") {
            kinds.push(Kind::new("Plateau", &path, &["Plateau::new("]));
        }
    }
}

fn batches(kinds: &mut Vec<Kind>) {
    let public = exported("unigrad-data");
    for (path, text) in files("unigrad-data/src") {
        for line in text.lines() {
            let found = ["Sampler", "BatchSampler", "Source", "Collate"].iter().find_map(|name| implementor(line, name));
            let Some(name) = found.filter(|name| public.iter().any(|word| word == name)) else { continue };
            if kinds.iter().any(|kind| kind.name == name) {
                continue;
            }
            kinds.push(match name {
                "Sequential" => Kind::new(name, &path, &["Sequential("]),
                "MapBatches" => Kind::new(name, &path, &[".map_batches("]),
                "Stack" => Kind::new(name, &path, &[".collate(Stack)"]),
                other => Kind::new(other, &path, &[&format!("{other}::")]),
            });
        }
        for (name, signature, of) in functions(&text) {
            if of.contains("Loader<D, C> {") && of.starts_with("impl") && signature.contains("self") && !signature.contains("&self") {
                kinds.push(Kind::new(&format!("Loader::{name}"), &path, &[&format!(".{name}(")]));
            }
        }
    }
}

/// Those that keep something in checkpoints.
fn callbacks(kinds: &mut Vec<Kind>) {
    let public = exported("unigrad-train");
    for (path, text) in files("unigrad-train/src/callbacks") {
        let names = text.lines().filter_map(|line| implementor(line, "Callback"));
        let kept = text.contains("fn save(&self");
        for name in names.filter(|name| kept && public.iter().any(|word| word == name)) {
            kinds.push(Kind::new(name, &path, &[&format!("{name}::new(")]));
        }
    }
}
