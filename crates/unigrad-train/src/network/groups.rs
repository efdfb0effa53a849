//! Parameters with settings of their own: patterns of names, and what is different for them.
//!
//! In: sections `[[groups]]` of a file, an optimizer's settings, the names of a model's parameters. Out: for each group the optimizer with its own settings,
//! and its parameters. Always: a parameter belongs to the first group that names it; what a group does not say is as for all others. A pattern that names
//! nothing, a setting that the optimizer does not have and a group without a parameter are errors, those of files with their line.

use super::optimizer::OptimizerSpec;
use serde::{
    Deserialize, Deserializer,
    de::{self, MapAccess, Visitor},
};
use std::fmt;
use toml::{Spanned, Value};
use unigrad_nn::{Error, Result};
use unigrad_tensor::Tensor;

/// Parameters with settings of their own. In files: `[[groups]]`, with `parameters`, `frozen`, and any setting of the optimizer.
///
/// ```
/// use unigrad_train::network::RunConfig;
/// let config = RunConfig::parse(r#"
/// data = "digits"
/// [network]
/// layers = ["flatten", { dense = { units = 32 } }, "relu", { dense = { units = 10 }, name = "head" }]
/// [optimizer.adamw]
/// lr = 1e-3
/// [[groups]]
/// parameters = ["head"]
/// lr = 1e-2
/// [[groups]]
/// parameters = ["*.bias"]
/// weight_decay = 0.0
/// "#, "digits.toml")?;
/// assert_eq!(config.train.groups[0].optimizer.as_ref().map(|optimizer| optimizer.lr()), Some(1e-2));
/// # Ok::<(), unigrad_tensor::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ParameterGroup {
    /// Names of parameters (`0.weight`), of layers (`head`: all parameters of it), or patterns, in which `*` stands for anything and `?` for a character.
    pub parameters: Vec<String>,
    /// Whether they stay as they are.
    pub frozen: bool,
    /// The run's optimizer with other settings; `None`: with the same.
    pub optimizer: Option<OptimizerSpec>,
}

/// Whether a pattern names a parameter. Looks at each pair of characters at most once.
fn names(pattern: &str, name: &str) -> bool {
    if name.strip_prefix(pattern).is_some_and(|rest| rest.is_empty() || rest.starts_with('.')) {
        return true;
    }
    let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    let (mut p, mut n) = (0, 0);
    // The last star, and what it stands for so far.
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        match (pattern.get(p), star) {
            (Some('*'), _) => {
                star = Some((p, n));
                p += 1;
            }
            (Some(c), _) if *c == '?' || *c == name[n] => (p, n) = (p + 1, n + 1),
            (_, Some((at, until))) => {
                star = Some((at, until + 1));
                (p, n) = (at + 1, until + 1);
            }
            _ => return false,
        }
    }
    pattern[p..].iter().all(|c| *c == '*')
}

impl ParameterGroup {
    fn has(&self, name: &str) -> bool {
        self.parameters.iter().any(|pattern| names(pattern, name))
    }

    /// The first pattern that names none of these.
    pub(super) fn unmatched(&self, all: &[String]) -> Option<usize> {
        self.parameters.iter().position(|pattern| !all.iter().any(|name| names(pattern, name)))
    }
}

/// What there is to name, for an error.
pub(super) fn known(all: &[String]) -> String {
    const SHOWN: usize = 12;
    let more = if all.len() > SHOWN { ", ..." } else { "" };
    format!("name some of {}{more}; `*` stands for anything", all.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", "))
}

/// Optimizers' settings and the parameters that they are for: first the run's own, then those of each group that is not frozen.
pub(super) fn split(
    base: &OptimizerSpec,
    groups: &[ParameterGroup],
    parameters: Vec<(String, Tensor)>,
) -> Result<Vec<(OptimizerSpec, Vec<Tensor>)>> {
    let all: Vec<String> = parameters.iter().map(|(name, _)| name.clone()).collect();
    let mut members: Vec<(OptimizerSpec, Vec<Tensor>)> = vec![(base.clone(), Vec::new())];
    for group in groups {
        if group.parameters.is_empty() {
            return Err(Error::argument("a group that names no parameter", known(&all)));
        }
        if let Some(at) = group.unmatched(&all) {
            return Err(Error::argument(format!("`{}` of a group names no parameter of the network", group.parameters[at]), known(&all)));
        }
        let own = group.optimizer.clone().unwrap_or_else(|| base.clone());
        if std::mem::discriminant(&own) != std::mem::discriminant(base) {
            return Err(Error::argument(
                "a group has another optimizer than the run",
                "give it other settings of the same one; another rule is an optimizer of its own, in a program",
            ));
        }
        if group.frozen && own != *base {
            return Err(Error::argument("a group is frozen and has settings of the optimizer", "leave one of them out"));
        }
        members.push((own, Vec::new()));
    }
    let mut counts = vec![0; groups.len()];
    for (name, parameter) in parameters {
        let group = groups.iter().position(|group| group.has(&name));
        if let Some(at) = group {
            counts[at] += 1;
        }
        if parameter.is_variable() && !group.is_some_and(|at| groups[at].frozen) {
            members[group.map_or(0, |at| at + 1)].1.push(parameter);
        }
    }
    if let Some(at) = counts.iter().position(|count| *count == 0) {
        let cause =
            format!("no parameter is left for the group of `{}`: groups before it have them all", groups[at].parameters.join("`, `"));
        return Err(Error::argument(cause, "put it before them: a parameter belongs to the first group that names it"));
    }
    members.retain(|(_, parameters)| !parameters.is_empty());
    Ok(members)
}

/// A section `[[groups]]` as it is written, with places.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct GroupSection {
    parameters: Vec<Spanned<String>>,
    frozen: bool,
    settings: Vec<(Spanned<String>, Spanned<Value>)>,
}

impl<'de> Deserialize<'de> for GroupSection {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<GroupSection, D::Error> {
        struct Section;
        impl<'de> Visitor<'de> for Section {
            type Value = GroupSection;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a table with `parameters`, and settings of the optimizer or `frozen`")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<GroupSection, A::Error> {
                let (mut parameters, mut frozen, mut settings) = (None, false, Vec::new());
                while let Some(key) = map.next_key::<Spanned<String>>()? {
                    match key.get_ref().as_str() {
                        "parameters" => parameters = Some(map.next_value()?),
                        "frozen" => frozen = map.next_value()?,
                        _ => settings.push((key, map.next_value()?)),
                    }
                }
                let parameters = parameters.ok_or_else(|| de::Error::missing_field("parameters"))?;
                Ok(GroupSection { parameters, frozen, settings })
            }
        }
        deserializer.deserialize_map(Section)
    }
}

/// What is wrong, and where it begins in the text.
pub(super) struct Misplaced(pub(super) usize, pub(super) String);

impl GroupSection {
    /// The group that it describes, of a run's optimizer.
    pub(super) fn group(&self, base: &OptimizerSpec) -> std::result::Result<ParameterGroup, Misplaced> {
        let parameters = self.parameters.iter().map(|name| name.get_ref().clone()).collect();
        let (mut own, internal) = (None::<OptimizerSpec>, |e: serde_json::Error| Misplaced(0, e.to_string()));
        for (key, value) in &self.settings {
            if self.frozen {
                return Err(Misplaced(key.span().start, format!("`{}` of a group that is `frozen` has no effect", key.get_ref())));
            }
            let mut spec = serde_json::to_value(own.as_ref().unwrap_or(base)).map_err(internal)?;
            let value_json = serde_json::to_value(value.get_ref()).map_err(|e| Misplaced(value.span().start, e.to_string()))?;
            if let Some(settings) = spec.as_object_mut().and_then(|rules| rules.values_mut().next()).and_then(|own| own.as_object_mut()) {
                settings.insert(key.get_ref().clone(), value_json);
            }
            own = Some(serde_json::from_value(spec).map_err(|e| {
                let message = e.to_string();
                // What does not exist is wrong by its name, what has another type by its value.
                let place = if message.starts_with("unknown field") { key.span().start } else { value.span().start };
                Misplaced(place, message)
            })?);
        }
        Ok(ParameterGroup { parameters, frozen: self.frozen, optimizer: own })
    }

    /// Where a pattern stands.
    pub(super) fn place(&self, pattern: usize) -> usize {
        self.parameters.get(pattern).map_or(0, |name| name.span().start)
    }
}

#[cfg(test)]
mod tests {
    use super::names;

    #[test]
    fn patterns_name_what_they_say() {
        for (pattern, name, wanted) in [
            ("0.weight", "0.weight", true),
            ("0", "0.weight", true),
            ("0", "01.weight", false),
            ("head", "head.norm.bias", true),
            ("*.bias", "0.bias", true),
            ("*.bias", "0.bias_hh", false),
            ("*bias*", "0.bias_hh", true),
            ("*", "anything", true),
            ("", "0.weight", false),
            ("?.weight", "0.weight", true),
            ("?.weight", "10.weight", false),
            ("*a*b*c", "xaybzc", true),
            ("*a*b*c", "xaybz", false),
            ("a*a", "a", false),
            ("**", "", true),
        ] {
            assert_eq!(names(pattern, name), wanted, "{pattern} {name}");
        }
        // As long as it takes, but no longer.
        assert!(!names(&"*a".repeat(500), &"a".repeat(400)));
    }
}
