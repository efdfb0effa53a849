//! A module's tensors by path, and what is loaded into them.
//!
//! In: a module; values on the host by name. Out: its parameters and buffers; afterwards, the values in them.
//! Always: a tensor that stands in several places has the path of the first, and is loaded by any of them. All names and shapes are checked before
//! anything changes.

use super::{Module, Visitor};
use crate::{
    archive::{Archive, HostTensor},
    error::{Error, Result, StateDictMismatch},
};
use std::{
    collections::{BTreeMap, HashMap, HashSet},
    path::Path,
};
use unigrad_tensor::{Device, Tensor, no_grad};

/// A parameter or a buffer of a module.
pub(crate) struct Entry<'m> {
    pub(crate) path: String,
    pub(crate) tensor: &'m Tensor,
    pub(crate) buffer: bool,
    /// The other paths of a tensor that stands in several places.
    pub(crate) others: Vec<String>,
}

/// All of them; a tensor that stands in two places is listed at the first.
pub(crate) fn entries<'m, M: Module + ?Sized>(module: &'m M) -> Vec<Entry<'m>> {
    #[derive(Default)]
    struct Collect<'m> {
        prefix: Vec<String>,
        entries: Vec<Entry<'m>>,
        known: HashMap<usize, usize>,
    }
    impl<'m> Collect<'m> {
        fn add(&mut self, name: &str, tensor: &'m Tensor, buffer: bool) {
            let path = joined(&self.prefix, name);
            let next = self.entries.len();
            let at = *self.known.entry(tensor.id()).or_insert(next);
            match self.entries.get_mut(at) {
                Some(entry) => entry.others.push(path),
                None => self.entries.push(Entry { path, tensor, buffer, others: Vec::new() }),
            }
        }
    }
    impl<'m> Visitor<'m> for Collect<'m> {
        fn enter(&mut self, name: &str) {
            self.prefix.push(name.to_owned());
        }
        fn leave(&mut self) {
            self.prefix.pop();
        }
        fn parameter(&mut self, name: &str, tensor: &'m Tensor) {
            self.add(name, tensor, false);
        }
        fn buffer(&mut self, name: &str, tensor: &'m Tensor) {
            self.add(name, tensor, true);
        }
    }
    let mut collect = Collect::default();
    module.visit(&mut collect);
    collect.entries
}

// What follows is not generic over modules: each type of module, a program's own among them, would compile it anew.

/// Tensors with paths: buffers, parameters or all.
pub(super) fn with_paths(entries: Vec<Entry<'_>>, buffers: Option<bool>) -> Vec<(String, Tensor)> {
    let chosen = entries.into_iter().filter(|entry| buffers.is_none_or(|buffers| entry.buffer == buffers));
    chosen.map(|entry| (entry.path, entry.tensor.clone())).collect()
}

pub(super) fn unnamed(named: Vec<(String, Tensor)>) -> Vec<Tensor> {
    named.into_iter().map(|(_, tensor)| tensor).collect()
}

pub(super) fn trainable(parameters: Vec<Tensor>) -> Vec<Tensor> {
    parameters.into_iter().filter(|parameter| !parameter.is_frozen()).collect()
}

pub(super) fn n_elements(tensors: &[Tensor]) -> usize {
    tensors.iter().map(Tensor::numel).sum()
}

pub(super) fn zero_grad(parameters: &[Tensor]) {
    parameters.iter().for_each(Tensor::zero_grad);
}

pub(super) fn realize(entries: &[Entry<'_>]) -> Result<()> {
    Tensor::realize_all(&entries.iter().map(|entry| entry.tensor).collect::<Vec<_>>())
}

pub(super) fn archive(tensors: &[(String, Tensor)]) -> Result<Archive> {
    Ok(Archive { tensors: to_host(tensors)?, metadata: BTreeMap::new() })
}

pub(super) fn load_file(entries: &[Entry<'_>], path: &Path, options: &LoadOptions) -> Result<LoadReport> {
    load_module(entries, &Archive::load(path)?.tensors, &path.display().to_string(), options)
}

/// A path of names.
fn joined(prefix: &[String], name: &str) -> String {
    let mut path = prefix.join(".");
    if !path.is_empty() {
        path.push('.');
    }
    path.push_str(name);
    path
}

/// Whether a path is `prefix` or below it.
pub(super) fn is_under(path: &str, prefix: &str) -> bool {
    let prefix = prefix.strip_suffix('.').unwrap_or(prefix);
    prefix.is_empty() || path.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// How values are loaded; see [`Module::load_with`].
///
/// ```
/// # extern crate unigrad_nn as unigrad;
/// use unigrad::nn::LoadOptions;
/// let options = LoadOptions::new().prefix("model.encoder").not_strict();
/// assert!(!options.strict);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadOptions {
    /// Whether a name that is missing or unexpected is an error; else it is reported.
    pub strict: bool,
    /// Only names below this path of the file count, and lose it.
    pub prefix: String,
    /// Whether a tensor of another shape or kind of dtype is left as it is and reported; else it is an error.
    pub skip_mismatched: bool,
}

impl Default for LoadOptions {
    fn default() -> LoadOptions {
        LoadOptions { strict: true, prefix: String::new(), skip_mismatched: false }
    }
}

impl LoadOptions {
    /// Strict, of all names.
    pub fn new() -> LoadOptions {
        LoadOptions::default()
    }

    /// Missing and unexpected names are reported.
    pub fn not_strict(self) -> LoadOptions {
        LoadOptions { strict: false, ..self }
    }

    /// Only names below `prefix` count: `encoder` or `encoder.`.
    pub fn prefix(self, prefix: impl Into<String>) -> LoadOptions {
        LoadOptions { prefix: prefix.into(), ..self }
    }

    /// Tensors that do not fit are left as they are and reported.
    pub fn skip_mismatched(self) -> LoadOptions {
        LoadOptions { skip_mismatched: true, ..self }
    }
}

/// What [`Module::load_with`] did: paths of the module, and names of the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoadReport {
    /// Have new values.
    pub loaded: Vec<String>,
    /// Are not in the file, and stay as they were.
    pub missing: Vec<String>,
    /// Are in the file only.
    pub unexpected: Vec<String>,
    /// Have another shape or kind of dtype in the file, and stay as they were.
    pub mismatched: Vec<String>,
}

/// Values by the paths that they are loaded to.
type Named<'s> = BTreeMap<&'s str, &'s HostTensor>;

/// The values of a file by the module's paths: without the prefix, and of a tensor with several paths by the first.
fn by_path<'s>(entries: &'s [Entry<'_>], state: &'s BTreeMap<String, HostTensor>, prefix: &str, source: &str) -> Result<Named<'s>> {
    let prefix = prefix.strip_suffix('.').unwrap_or(prefix);
    let below = |name: &'s str| if prefix.is_empty() { Some(name) } else { name.strip_prefix(prefix)?.strip_prefix('.') };
    let mut named: Named = state.iter().filter_map(|(name, host)| Some((below(name)?, host))).collect();
    for entry in entries {
        for other in &entry.others {
            let Some(host) = named.remove(other.as_str()) else { continue };
            let first = *named.entry(&entry.path).or_insert(host);
            if first != host {
                let cause = format!("`{}` and `{other}` are one tensor of the model, and differ", entry.path);
                return Err(Error::format(Path::new(source), cause, "load a file of a model that shares them, or leave one out"));
            }
        }
    }
    Ok(named)
}

/// Loads what fits `options`.
pub(super) fn load_module(
    entries: &[Entry<'_>],
    state: &BTreeMap<String, HostTensor>,
    source: &str,
    options: &LoadOptions,
) -> Result<LoadReport> {
    let named = by_path(entries, state, &options.prefix, source)?;
    let tensors: Vec<(String, Tensor)> = entries.iter().map(|entry| (entry.path.clone(), entry.tensor.clone())).collect();
    let mut mismatch = compare(&tensors, &named, source)?;
    let mut report = LoadReport::default();
    if !options.strict {
        (report.missing, report.unexpected) = (std::mem::take(&mut mismatch.missing), std::mem::take(&mut mismatch.unexpected));
    }
    if options.skip_mismatched {
        report.mismatched.extend(mismatch.shapes.drain(..).map(|(name, ..)| name));
        report.mismatched.extend(mismatch.dtypes.drain(..).map(|(name, ..)| name));
    }
    if !mismatch.is_empty() {
        return Err(Error::StateDict(Box::new(mismatch)));
    }
    let left: HashSet<String> = report.missing.iter().chain(&report.mismatched).cloned().collect();
    let fitting: Vec<(String, Tensor)> = tensors.into_iter().filter(|(name, _)| !left.contains(name)).collect();
    assign(&fitting, &named)?;
    report.loaded = fitting.into_iter().map(|(name, _)| name).collect();
    Ok(report)
}

/// Values on the host, by name.
pub(crate) fn to_host(tensors: &[(String, Tensor)]) -> Result<BTreeMap<String, HostTensor>> {
    Tensor::realize_all(&tensors.iter().map(|(_, t)| t).collect::<Vec<_>>())?;
    let host = |t: &Tensor| -> Result<HostTensor> { Ok(HostTensor { dtype: t.dtype(), shape: t.dims()?, bytes: t.to_bytes()? }) };
    tensors.iter().map(|(name, tensor)| Ok((name.clone(), host(tensor)?))).collect()
}

/// A tensor with a host tensor's values.
pub(crate) fn from_host(host: &HostTensor, device: &Device) -> Result<Tensor> {
    Tensor::from_bytes(&host.bytes, host.shape.as_slice(), host.dtype, device).check()
}

/// How names, shapes and dtypes differ.
fn compare(tensors: &[(String, Tensor)], state: &Named<'_>, source: &str) -> Result<StateDictMismatch> {
    let mut mismatch = StateDictMismatch { source: source.to_owned(), ..Default::default() };
    for (name, tensor) in tensors {
        let (shape, dtype) = (tensor.dims()?, tensor.dtype());
        match state.get(name.as_str()) {
            None => mismatch.missing.push(name.clone()),
            Some(host) if host.shape != shape => mismatch.shapes.push((name.clone(), shape, host.shape.clone())),
            Some(host) if host.dtype != dtype && !(host.dtype.is_float() && dtype.is_float()) => {
                mismatch.dtypes.push((name.clone(), dtype.to_string(), host.dtype.to_string()));
            }
            Some(_) => {}
        }
    }
    let known: HashSet<&str> = tensors.iter().map(|(name, _)| name.as_str()).collect();
    mismatch.unexpected.extend(state.keys().filter(|name| !known.contains(*name)).map(|name| (*name).to_owned()));
    Ok(mismatch)
}

fn named(state: &BTreeMap<String, HostTensor>) -> Named<'_> {
    state.iter().map(|(name, host)| (name.as_str(), host)).collect()
}

/// Whether all can be assigned.
pub(crate) fn check(tensors: &[(String, Tensor)], state: &BTreeMap<String, HostTensor>, source: &str) -> Result<()> {
    let mismatch = compare(tensors, &named(state), source)?;
    if mismatch.is_empty() { Ok(()) } else { Err(Error::StateDict(Box::new(mismatch))) }
}

/// Assigns all, or nothing.
pub(crate) fn load(tensors: &[(String, Tensor)], state: &BTreeMap<String, HostTensor>, source: &str) -> Result<()> {
    check(tensors, state, source)?;
    assign(tensors, &named(state))
}

/// Assigns values that were found to fit.
fn assign(tensors: &[(String, Tensor)], state: &Named<'_>) -> Result<()> {
    let mut values = Vec::with_capacity(tensors.len());
    for (name, tensor) in tensors {
        let Some(host) = state.get(name.as_str()) else {
            return Err(Error::Internal(format!("`{name}` is to be loaded and has no value")));
        };
        let value = from_host(host, &tensor.device()?)?;
        values.push(if value.dtype() == tensor.dtype() { value } else { value.cast(tensor.dtype()) });
    }
    no_grad(|| tensors.iter().zip(&values).try_for_each(|((_, tensor), value)| tensor.assign(value)))?;
    Tensor::realize_all(&tensors.iter().map(|(_, t)| t).collect::<Vec<_>>())
}
