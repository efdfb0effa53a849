//! Other names for tensors: an ordered list of rules with wildcards.
//!
//! In: rules, names. Out: new names; or an error where two tensors would have one name.
//! Always: each name goes through all rules, in their order; each rule sees what those before it made.
//! Never: loses a tensor that no rule drops.

use crate::{
    archive::Archive,
    error::{Error, Result},
};
use std::collections::BTreeMap;
use unigrad_device::printable;

/// Rules that give tensors other names: `from -> to`, where each `*` of `from` stands for any characters, and those of `to` for the same, in order.
///
/// Each name goes through all rules one after the other. A rule without anything after its arrow drops what it matches.
/// The first `*` takes as little as it can.
///
/// ```
/// use unigrad_nn::Rename;
/// let rules = Rename::parse(["module.* -> *", "layers.*.attn.* -> blocks.*.attention.*", "*.num_batches_tracked ->"])?;
/// assert_eq!(rules.apply("module.layers.3.attn.weight"), Some("blocks.3.attention.weight".to_owned()));
/// assert_eq!(rules.apply("bn.num_batches_tracked"), None);
/// assert_eq!(rules.apply("head.bias").as_deref(), Some("head.bias"));
/// # Ok::<(), unigrad_nn::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rename {
    rules: Vec<Rule>,
}

#[derive(Clone, Debug, PartialEq)]
struct Rule {
    /// What is between the `*`s.
    from: Vec<String>,
    /// The same; `None` drops.
    to: Option<Vec<String>>,
}

impl Rename {
    /// Reads rules, each written `from -> to`.
    ///
    /// # Errors
    /// A rule without an arrow or without a `from`, or with another number of `*` on the right.
    pub fn parse<'a>(rules: impl IntoIterator<Item = &'a str>) -> Result<Rename> {
        let rule = |text: &str| {
            let wrong = |cause: &str| Error::argument(format!("rename rule `{}` {cause}", printable(text)), "write it as `from.* -> to.*`");
            let (from, to) = text.split_once("->").ok_or_else(|| wrong("has no `->`"))?;
            let parts = |side: &str| side.trim().split('*').map(str::to_owned).collect::<Vec<_>>();
            let (from, to) = (from.trim(), to.trim());
            if from.is_empty() {
                return Err(wrong("has nothing before its arrow"));
            }
            let (from, to) = (parts(from), (!to.is_empty()).then(|| parts(to)));
            match &to {
                Some(to) if to.len() != from.len() => {
                    Err(wrong(&format!("has {} `*` on the left, and {} on the right", from.len() - 1, to.len() - 1)))
                }
                _ => Ok(Rule { from, to }),
            }
        };
        Ok(Rename { rules: rules.into_iter().map(rule).collect::<Result<_>>()? })
    }

    /// Takes `prefix` away from names that begin with it.
    pub fn strip(mut self, prefix: &str) -> Rename {
        self.rules.push(Rule { from: vec![prefix.to_owned(), String::new()], to: Some(vec![String::new(); 2]) });
        self
    }

    /// A name's new name; `None` if it is dropped.
    pub fn apply(&self, name: &str) -> Option<String> {
        self.rules.iter().try_fold(name.to_owned(), |name, rule| match matched(&rule.from, &name) {
            None => Some(name),
            Some(stars) => {
                let to = rule.to.as_ref()?;
                // One piece more than there are stars.
                let stars = stars.into_iter().chain([""]);
                Some(to.iter().zip(stars).flat_map(|(piece, star)| [piece.as_str(), star]).collect())
            }
        })
    }
}

/// What the stars between the pieces stand for, if the pieces are all of the name.
fn matched<'a>(pieces: &[String], name: &'a str) -> Option<Vec<&'a str>> {
    let (first, others) = pieces.split_first()?;
    let mut rest = name.strip_prefix(first.as_str())?;
    let Some((last, middle)) = others.split_last() else { return rest.is_empty().then(Vec::new) };
    let mut stars = Vec::with_capacity(others.len());
    for piece in middle {
        let at = rest.find(piece.as_str())?;
        stars.push(&rest[..at]);
        rest = &rest[at + piece.len()..];
    }
    stars.push(rest.strip_suffix(last.as_str())?);
    Some(stars)
}

impl Archive {
    /// Gives the tensors other names; see [`Rename`]. Strings keep theirs.
    ///
    /// # Errors
    /// Two tensors would have one name, or one none at all.
    ///
    /// ```
    /// # use unigrad_nn::{Archive, HostTensor, Rename};
    /// # let tensor = HostTensor { dtype: unigrad_tensor::DType::U8, shape: vec![1], bytes: vec![7] };
    /// let mut archive = Archive::default();
    /// archive.tensors.insert("module.fc.bias".into(), tensor);
    /// let archive = archive.rename(&Rename::parse(["module.* -> *", "fc.* -> head.*"])?)?;
    /// assert!(archive.tensors.contains_key("head.bias"));
    /// # Ok::<(), unigrad_nn::Error>(())
    /// ```
    pub fn rename(self, rules: &Rename) -> Result<Archive> {
        let mut old: BTreeMap<String, String> = BTreeMap::new();
        let mut tensors = BTreeMap::new();
        for (name, tensor) in self.tensors {
            let Some(new) = rules.apply(&name) else { continue };
            if new.is_empty() {
                return Err(Error::argument(format!("renaming leaves {} no name", printable(&name)), "give the rule something to keep"));
            }
            if let Some(other) = old.insert(new.clone(), name.clone()) {
                let cause = format!("renaming gives {} and {} one name, {}", printable(&other), printable(&name), printable(&new));
                return Err(Error::argument(cause, "change the rules, or drop one of them by a rule without anything after its arrow"));
            }
            tensors.insert(new, tensor);
        }
        Ok(Archive { tensors, metadata: self.metadata })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::archive::HostTensor;
    use unigrad_tensor::DType;

    fn apply(rules: &[&str], name: &str) -> Option<String> {
        Rename::parse(rules.iter().copied()).unwrap().apply(name)
    }

    #[test]
    fn rules_match_whole_names_in_order() {
        assert_eq!(apply(&["a -> b"], "a").as_deref(), Some("b"));
        assert_eq!(apply(&["a -> b"], "aa").as_deref(), Some("aa"));
        assert_eq!(apply(&["a* -> b*", "b* -> c*"], "ax").as_deref(), Some("cx"));
        assert_eq!(apply(&["b* -> c*", "a* -> b*"], "ax").as_deref(), Some("bx"));
        assert_eq!(apply(&["*.w.* -> *-*"], "x.w.w.y").as_deref(), Some("x-w.y"));
        assert_eq!(apply(&["* -> m.*"], "").as_deref(), Some("m."));
        assert_eq!(apply(&["a*b -> *"], "ab").as_deref(), Some(""));
        assert_eq!(apply(&["aa*aa -> *"], "aaa").as_deref(), Some("aaa"), "a character counts once");
        assert_eq!(apply(&["ä*ß -> *"], "äöß").as_deref(), Some("ö"));
        assert_eq!(apply(&["a ->", "* -> b*"], "a"), None);
        assert_eq!(Rename::default().strip("m.").strip("n.").apply("m.n.x").as_deref(), Some("x"));
        for wrong in ["a", "-> b", "a* -> b", "a -> b*", "a** -> b*"] {
            let error = Rename::parse([wrong]).unwrap_err().to_string();
            assert!(error.contains(wrong) && error.contains("help: "), "{error}");
        }
    }

    #[test]
    fn collisions_are_refused() {
        let tensor = |byte| HostTensor { dtype: DType::U8, shape: vec![1], bytes: vec![byte] };
        let archive = |names: &[&str]| Archive {
            tensors: names.iter().enumerate().map(|(i, name)| ((*name).to_owned(), tensor(i as u8))).collect(),
            metadata: BTreeMap::new(),
        };
        let rename = |names: &[&str], rules: &[&str]| archive(names).rename(&Rename::parse(rules.iter().copied())?);
        let error = rename(&["a.x", "b.x"], &["a.* -> *", "b.* -> *"]).unwrap_err().to_string();
        assert!(error.contains("a.x and b.x one name, x"), "{error}");
        assert!(rename(&["a.x", "x"], &["a.* -> *"]).unwrap_err().to_string().contains("one name"));
        assert!(rename(&["a."], &["a.* -> *"]).unwrap_err().to_string().contains("no name"));
        // Two that change places do not collide.
        let swapped = rename(&["a", "b"], &["a -> t", "b -> a", "t -> b"]).unwrap();
        assert_eq!(swapped.tensors["a"], tensor(1));
        assert_eq!(swapped.tensors["b"], tensor(0));
    }
}
