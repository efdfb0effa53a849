//! What lists of reachable names share: a name that is exported and in no list fails.

use std::collections::{BTreeMap, BTreeSet};

/// How a name is said in a file, or why it cannot be.
pub(crate) enum How {
    /// Text of a file; for layers, an input and layers.
    Said(&'static str),
    /// A part of what another name's text says.
    Part,
    Not(&'static str),
}
use How::{Not, Said};

/// The names that a module file exports.
pub(crate) fn exported(text: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for part in text.split("pub use ").skip(1) {
        let list = part.split(';').next().unwrap();
        let list = list.rsplit("::").next().unwrap().trim_matches(|c: char| c == '{' || c == '}' || c.is_whitespace());
        names.extend(list.split(',').map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()));
    }
    names
}

/// Fails for a name that is in one list and not in the other; gives what is said.
pub(crate) fn said(what: &str, exported: &BTreeSet<String>, table: &[(&'static str, How)]) -> BTreeMap<&'static str, &'static str> {
    let known: BTreeSet<String> = table.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(known.len(), table.len(), "{what}: a name stands twice");
    let missing: Vec<&String> = exported.difference(&known).collect();
    let gone: Vec<&String> = known.difference(exported).collect();
    assert!(missing.is_empty(), "{what}: make {missing:?} reachable from configuration files, or say here why not");
    assert!(gone.is_empty(), "{what}: {gone:?} are not exported any more");
    assert!(table.iter().all(|(_, how)| !matches!(how, Not(why) if why.len() < 10)));
    table.iter().filter_map(|(name, how)| if let Said(text) = how { Some((*name, *text)) } else { None }).collect()
}
