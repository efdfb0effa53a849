//! Nested dictionaries and lists, as tensors and texts with dotted names.
//!
//! In: the value of a pickle. Out: tensors by name, and everything else that it says, as text by name.
//! Always: each tensor has one name, and names differ; the walk is iterative, and bounded in depth, steps and length of names, so that a value
//! that contains itself, or shares parts a thousand times, ends in an error.
//! Never: leaves out a value.

use super::values::{Bytes, Loaded, Node, Stored, Value, View};
use crate::{
    error::{Error, Result},
    formats::{UNNAMED, source::Source},
};
use std::collections::{BTreeMap, btree_map::Entry};
use unigrad_device::printable;
use unigrad_tensor::DType;

const MAX_DEPTH: usize = 64;
/// Values that are looked at, beside those that are there: some are shared.
const STEPS: usize = 1 << 16;
/// Bytes of names and texts, beside those that are there.
const NAMES: usize = 8 << 20;

pub(super) struct Flat {
    pub(super) tensors: BTreeMap<String, View>,
    pub(super) texts: BTreeMap<String, String>,
    /// With those of bytes that were no tensors before.
    pub(super) storages: Vec<Stored>,
}

struct Walk<'a> {
    loaded: &'a Loaded,
    source: &'a Source,
    steps: usize,
    names: usize,
    flat: Flat,
}

pub(super) fn flatten(loaded: &Loaded, source: &Source) -> Result<Flat> {
    let flat = Flat { tensors: BTreeMap::new(), texts: BTreeMap::new(), storages: loaded.storages.clone() };
    let mut walk = Walk { loaded, source, steps: STEPS + 2 * loaded.pickle.len(), names: NAMES + loaded.pickle.len(), flat };
    let mut waiting = vec![(loaded.root, String::new(), 0)];
    while let Some((value, name, depth)) = waiting.pop() {
        walk.step()?;
        let children = walk.add(value, &name)?;
        if depth >= MAX_DEPTH && !children.is_empty() {
            return Err(walk.wrong(&name, format!("is nested more than {MAX_DEPTH} deep, or contains itself")));
        }
        for (key, child) in children {
            let name = if name.is_empty() { key } else { format!("{name}.{key}") };
            walk.pay(name.len())?;
            waiting.push((child, name, depth + 1));
        }
    }
    Ok(walk.flat)
}

impl Walk<'_> {
    fn wrong(&self, name: &str, cause: impl std::fmt::Display) -> Error {
        let start: String = name.chars().take(200).collect();
        let name = if name.is_empty() { "the value".to_owned() } else { printable(&start).into_owned() };
        Error::format(self.source.path(), format!("{name} {cause}"), "in PyTorch, save `model.state_dict()`: tensors by name")
    }

    fn step(&mut self) -> Result<()> {
        self.steps = self.steps.checked_sub(1).ok_or_else(|| self.wrong("", "contains the same parts again and again"))?;
        Ok(())
    }

    fn pay(&mut self, n: usize) -> Result<()> {
        self.names = self.names.checked_sub(n).ok_or_else(|| self.wrong("", "has more bytes of names and texts than are read"))?;
        Ok(())
    }

    /// Adds a tensor or a text; of a dictionary or list, gives what is in it.
    fn add(&mut self, value: Value, name: &str) -> Result<Vec<(String, Value)>> {
        let node = self.loaded.node(value);
        match node {
            Some(Node::Tensor(view)) => self.tensor(name, (**view).clone())?,
            Some(Node::Bytes(bytes)) => {
                let n = self.loaded.bytes(bytes).len();
                self.flat.storages.push(Stored::Inside(bytes.clone(), false));
                let storage = self.flat.storages.len() as u32 - 1;
                self.tensor(name, View { storage, dtype: DType::U8, shape: vec![n], strides: vec![1], offset: 0 })?;
            }
            Some(Node::Dict(pairs)) if !pairs.is_empty() => {
                // Of equal keys the last counts.
                let mut latest: BTreeMap<String, Value> = BTreeMap::new();
                for (key, value) in pairs {
                    self.step()?;
                    let key = self.key(*key, name)?;
                    self.pay(key.len())?;
                    latest.insert(key, *value);
                }
                return Ok(latest.into_iter().collect());
            }
            Some(Node::List(items) | Node::Tuple(items) | Node::Set(items)) => {
                if let Some(text) = self.as_json(items)? {
                    self.text(name, text)?;
                    return Ok(Vec::new());
                }
                for _ in items {
                    self.step()?;
                }
                return Ok(items.iter().enumerate().map(|(i, item)| (i.to_string(), *item)).collect());
            }
            _ => {
                let text = self.plain(value).ok_or_else(|| self.wrong(name, "is a part of a tensor, and no value"))?;
                self.text(name, text)?;
            }
        }
        Ok(Vec::new())
    }

    fn tensor(&mut self, name: &str, view: View) -> Result<()> {
        let name = if name.is_empty() { UNNAMED } else { name };
        self.pay(16 * view.shape.len())?;
        match self.flat.tensors.entry(name.to_owned()) {
            Entry::Vacant(place) => place.insert(view),
            Entry::Occupied(_) => return Err(self.wrong(name, "is the name of two tensors, when keys are joined by dots")),
        };
        Ok(())
    }

    fn text(&mut self, name: &str, text: String) -> Result<()> {
        let name = if name.is_empty() { UNNAMED } else { name };
        self.pay(text.len())?;
        match self.flat.texts.entry(name.to_owned()) {
            Entry::Vacant(place) => place.insert(text),
            Entry::Occupied(_) => return Err(self.wrong(name, "is the name of two values, when keys are joined by dots")),
        };
        Ok(())
    }

    /// A scalar's text.
    fn plain(&self, value: Value) -> Option<String> {
        Some(match value {
            Value::None => "null".to_owned(),
            Value::Bool(value) => value.to_string(),
            Value::Int(value) => value.to_string(),
            Value::Float(value) => format!("{value:?}"),
            Value::Node(_) => match self.loaded.node(value)? {
                Node::Long(digits) => digits.to_string(),
                Node::Word(word) => word.to_string(),
                Node::Dict(pairs) if pairs.is_empty() => "{}".to_owned(),
                Node::Global(global) => super::word(*global)?.to_owned(),
                Node::ArrayType(dtype, _) => dtype.to_string(),
                _ => self.loaded.text(value)?.to_owned(),
            },
        })
    }

    /// Scalars as one text, if all are; `None` if there are tensors or lists among them.
    fn as_json(&mut self, items: &[Value]) -> Result<Option<String>> {
        let mut text = String::from("[");
        for (i, item) in items.iter().enumerate() {
            let is_text = self.loaded.text(*item).is_some() || matches!(self.loaded.node(*item), Some(Node::Word(_) | Node::Global(_)));
            let Some(plain) = self.plain(*item) else { return Ok(None) };
            self.step()?;
            self.pay(plain.len())?;
            if i > 0 {
                text.push_str(", ");
            }
            if is_text {
                text.push_str(&serde_json::Value::String(plain).to_string());
            } else {
                text.push_str(&plain);
            }
        }
        text.push(']');
        Ok(Some(text))
    }

    fn key(&mut self, key: Value, name: &str) -> Result<String> {
        if let Some(Node::Tuple(items)) = self.loaded.node(key)
            && let Some(text) = self.as_json(items)?
        {
            return Ok(text);
        }
        match self.plain(key) {
            Some(text) if !matches!(self.loaded.node(key), Some(Node::Dict(_))) => Ok(text),
            _ => Err(self.wrong(name, "has a key that is neither text nor number")),
        }
    }
}

/// Bytes that are in the pickle, as a range of it or as decoded.
pub(super) fn inside(bytes: &Bytes, loaded: &Loaded) -> (std::sync::Arc<[u8]>, std::ops::Range<usize>) {
    match bytes {
        Bytes::Here(range) => (loaded.pickle.clone(), range.start as usize..range.end as usize),
        Bytes::Decoded(bytes) => (bytes.clone(), 0..bytes.len()),
    }
}
