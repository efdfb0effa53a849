//! What is done to all tensors or all modules of a module: moved, cast, frozen, copied, shown.
//!
//! In: a module. Out: the same with its tensors elsewhere, in another dtype, or frozen; or a copy.
//! Always: a tensor that stands in several places is one tensor afterwards. What fails has changed nothing.

use super::{
    Module, Visitor, VisitorMut,
    state::{Entry, is_under, realize},
};
use crate::error::{Error, Result};
use std::collections::HashMap;
use unigrad_tensor::{DType, Tensor, no_grad};

/// A type's name without paths, also in its arguments.
pub(super) fn short(name: &str) -> String {
    let mut out = String::new();
    let mut word = String::new();
    for c in name.chars() {
        match c {
            ':' => word.clear(),
            c if c.is_alphanumeric() || c == '_' => word.push(c),
            c => {
                out.push_str(&word);
                out.push(c);
                word.clear();
            }
        }
    }
    out + &word
}

/// See [`Module::named_modules`].
pub(super) fn named_modules<M: Module>(module: &M) -> Vec<(String, &dyn Module)> {
    struct Collect<'m> {
        prefix: Vec<String>,
        modules: Vec<(String, &'m dyn Module)>,
    }
    impl<'m> Visitor<'m> for Collect<'m> {
        fn enter(&mut self, name: &str) {
            self.prefix.push(name.to_owned());
        }
        fn leave(&mut self) {
            self.prefix.pop();
        }
        fn module(&mut self, module: &'m dyn Module) {
            self.modules.push((self.prefix.join("."), module));
        }
        fn parameter(&mut self, _: &str, _: &'m Tensor) {}
        fn buffer(&mut self, _: &str, _: &'m Tensor) {}
    }
    let mut collect = Collect { prefix: Vec::new(), modules: vec![(String::new(), module)] };
    module.visit(&mut collect);
    collect.modules
}

/// See [`Module::apply`].
pub(super) fn apply<M: Module>(module: &mut M, f: impl FnMut(&str, &mut dyn Module)) {
    struct Apply<F> {
        prefix: Vec<String>,
        f: F,
    }
    impl<F: FnMut(&str, &mut dyn Module)> VisitorMut for Apply<F> {
        fn enter(&mut self, name: &str) {
            self.prefix.push(name.to_owned());
        }
        fn leave(&mut self) {
            self.prefix.pop();
        }
        fn module(&mut self, module: &mut dyn Module) {
            (self.f)(&self.prefix.join("."), module);
        }
    }
    let mut apply = Apply { prefix: Vec::new(), f };
    (apply.f)("", module);
    module.visit_mut(&mut apply);
}

/// Gives each tensor what `change` makes of its value. All is computed before anything changes.
pub(super) fn to(entries: &[Entry<'_>], change: &dyn Fn(&Tensor) -> Tensor) -> Result<()> {
    realize(entries)?;
    let values: Vec<Tensor> = no_grad(|| entries.iter().map(|entry| change(&entry.tensor.detach())).collect());
    Tensor::realize_all(&values.iter().collect::<Vec<_>>())?;
    for (entry, value) in entries.iter().zip(&values) {
        if entry.tensor.dtype() != value.dtype() || entry.tensor.device_id() != value.device_id() {
            entry.tensor.set_data(value)?;
        }
    }
    Ok(())
}

/// See [`Module::to_dtype`].
pub(super) fn to_dtype(entries: &[Entry<'_>], dtype: DType) -> Result<()> {
    if !dtype.is_float() || dtype.only_stores() {
        let cause = format!("parameters cannot be {dtype}");
        return Err(Error::argument(cause, "give a float dtype that computes: BF16, F16, F32, F64"));
    }
    to(entries, &|tensor| if tensor.dtype().is_float() { tensor.cast(dtype) } else { tensor.detach() })
}

/// See [`Module::freeze`]. Parameters that never were variables stay as they are.
pub(super) fn set_trainable(entries: &[Entry<'_>], path: Option<&str>, trainable: bool) -> Result<usize> {
    let at = |name: &str| path.is_none_or(|path| is_under(name, path));
    let mut n = 0;
    for entry in entries.iter().filter(|entry| !entry.buffer && (at(&entry.path) || entry.others.iter().any(|other| at(other)))) {
        if entry.tensor.is_variable() {
            entry.tensor.set_trainable(trainable)?;
            n += 1;
        }
    }
    match path {
        Some(path) if n == 0 => {
            let known: Vec<&str> = entries.iter().filter(|entry| !entry.buffer).take(6).map(|entry| entry.path.as_str()).collect();
            let help = format!("name a module or a parameter by its path; the first parameters are {}", known.join(", "));
            Err(Error::argument(format!("no parameter is at or below `{path}`"), help))
        }
        _ => Ok(n),
    }
}

/// See [`Module::deep_copy`].
pub(super) fn deep_copy<M: Module + Clone>(module: &M) -> Result<M> {
    struct Copies {
        made: HashMap<usize, Tensor>,
        failed: Option<Error>,
    }
    impl Copies {
        fn replace(&mut self, tensor: &mut Tensor) {
            let id = tensor.id();
            if let Some(copy) = self.made.get(&id) {
                *tensor = copy.clone();
                return;
            }
            match copied(tensor) {
                Ok(copy) => {
                    // The copy of a copy is found, too: a field may be visited twice.
                    self.made.insert(copy.id(), copy.clone());
                    self.made.insert(id, copy.clone());
                    *tensor = copy;
                }
                Err(error) => self.failed = Some(error),
            }
        }
    }
    impl VisitorMut for Copies {
        fn parameter(&mut self, _: &str, tensor: &mut Tensor) {
            self.replace(tensor);
        }
        fn buffer(&mut self, _: &str, tensor: &mut Tensor) {
            self.replace(tensor);
        }
    }
    module.realize()?;
    let mut copy = module.clone();
    let mut copies = Copies { made: HashMap::new(), failed: None };
    copy.visit_mut(&mut copies);
    copies.failed.map_or(Ok(copy), Err)
}

/// A tensor of its own with the same value.
fn copied(tensor: &Tensor) -> Result<Tensor> {
    let copy = tensor.detach();
    if !tensor.is_variable() {
        return Ok(copy);
    }
    let copy = copy.requires_grad();
    if tensor.is_frozen() {
        copy.set_trainable(false)?;
    }
    Ok(copy)
}
