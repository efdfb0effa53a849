//! Checkpoints: everything a run needs to continue as if it had not stopped.
//!
//! In: a model, an optimizer, and what the program adds. Out: one safetensors file; from it, the same run to the last bit.
//! Always: the file is replaced whole; loading checks all names and shapes before it changes anything.

use crate::{
    archive::{Archive, HostTensor},
    error::{Error, Result},
    module::{self, Module},
    optim::{Optimize, Optimizer, Rule},
};
use std::{collections::BTreeMap, path::Path, str::FromStr};
use unigrad_tensor::{Generator, Tensor};

/// The content of a checkpoint.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Checkpoint {
    archive: Archive,
    source: String,
}

const MODEL: &str = "model.";
const OPTIMIZER: &str = "optimizer.";
const STEPS: &str = "steps";
const RANDOM_SEED: &str = "random.seed";
const RANDOM_OFFSET: &str = "random.offset";

/// What comes after the last that is counted exactly where steps become floats.
const MAX_STEPS: u64 = 1 << 53;
/// Random numbers that a process draws in thousands of years; beyond, offsets would begin again.
const MAX_OFFSET: u64 = 1 << 63;

impl Checkpoint {
    /// The state of a model, its optimizer and the process's random numbers.
    pub fn of<R: Rule, M: Module + ?Sized>(model: &M, optimizer: &Optimizer<R>) -> Result<Checkpoint> {
        Checkpoint::of_parts(&[("", model.state_dict())], &[("", optimizer)])
    }

    /// As [`Checkpoint::of`] for any number of models, each as its [`Module::state_dict`], and optimizers, by name. A single one may have the empty name.
    pub fn of_parts(models: &[(&str, Vec<(String, Tensor)>)], optimizers: &[(&str, &dyn Optimize)]) -> Result<Checkpoint> {
        let mut checkpoint = Checkpoint::default();
        for (name, state) in models {
            let prefix = below(MODEL, name);
            checkpoint
                .archive
                .tensors
                .extend(module::to_host(state)?.into_iter().map(|(name, tensor)| (format!("{prefix}{name}"), tensor)));
        }
        for (name, optimizer) in optimizers {
            let prefix = below(OPTIMIZER, name);
            let state = optimizer.state_dict()?;
            checkpoint.archive.tensors.extend(state.into_iter().map(|(name, tensor)| (format!("{prefix}{name}"), tensor)));
            checkpoint.set(&format!("{prefix}{STEPS}"), optimizer.n_steps());
        }
        let (seed, offset) = Generator::global().state();
        checkpoint.set(RANDOM_SEED, seed);
        checkpoint.set(RANDOM_OFFSET, offset);
        Ok(checkpoint)
    }

    /// Adds a value of the program's own.
    pub fn set(&mut self, name: &str, value: impl ToString) {
        self.archive.metadata.insert(name.to_owned(), value.to_string());
    }

    /// A value that was added.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.archive.metadata.get(name).map(String::as_str)
    }

    /// A value that was added, as a number or whatever it was.
    pub fn get<T: FromStr>(&self, name: &str) -> Result<T> {
        self.text(name).and_then(|text| text.parse().ok()).ok_or_else(|| {
            let cause = format!("has no value `{name}`, or one that cannot be read");
            Error::format(Path::new(&self.source), cause, "use a checkpoint that a training run of this version wrote")
        })
    }

    /// Steps that the optimizer had taken.
    pub fn n_steps(&self) -> Result<u64> {
        self.get(&format!("{OPTIMIZER}{STEPS}"))
    }

    /// Where it was read; empty if it was not.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The tensors whose names begin with `prefix`, without it.
    pub fn tensors_below(&self, prefix: &str) -> BTreeMap<String, HostTensor> {
        self.archive.tensors.iter().filter_map(|(name, t)| Some((name.strip_prefix(prefix)?.to_owned(), t.clone()))).collect()
    }

    /// The values whose names begin with `prefix`, without it.
    pub fn texts_below(&self, prefix: &str) -> BTreeMap<String, String> {
        self.archive.metadata.iter().filter_map(|(name, t)| Some((name.strip_prefix(prefix)?.to_owned(), t.clone()))).collect()
    }

    /// Adds a tensor of the program's own.
    pub fn set_tensor(&mut self, name: &str, tensor: HostTensor) {
        self.archive.tensors.insert(name.to_owned(), tensor);
    }

    /// A tensor that was added.
    pub fn tensor(&self, name: &str) -> Option<&HostTensor> {
        self.archive.tensors.get(name)
    }

    /// Replaces the file at `path`.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        self.archive.save(path)
    }

    /// Reads a file.
    pub fn load(path: impl AsRef<Path>) -> Result<Checkpoint> {
        let path = path.as_ref();
        Ok(Checkpoint { archive: Archive::load(path)?, source: path.display().to_string() })
    }

    /// Gives model, optimizer and the process's random numbers the saved state.
    pub fn restore<R: Rule, M: Module + ?Sized>(&self, model: &M, optimizer: &mut Optimizer<R>) -> Result<()> {
        self.restore_parts(&[("", model.state_dict())], &mut [("", optimizer)])
    }

    /// As [`Checkpoint::restore`], for what [`Checkpoint::of_parts`] was given. All, or nothing.
    pub fn restore_parts(&self, models: &[(&str, Vec<(String, Tensor)>)], optimizers: &mut [(&str, &mut dyn Optimize)]) -> Result<()> {
        let path = || Path::new(&self.source);
        let help = "use a checkpoint that a training run of this version wrote";
        let (seed, offset): (u64, u64) = (self.get(RANDOM_SEED)?, self.get(RANDOM_OFFSET)?);
        if offset > MAX_OFFSET {
            return Err(Error::format(path(), format!("has {RANDOM_OFFSET} {offset}, more than any run reaches"), help));
        }
        let mut steps: Vec<u64> = Vec::with_capacity(optimizers.len());
        for (name, _) in &*optimizers {
            let key = format!("{}{STEPS}", below(OPTIMIZER, name));
            let n_steps = self.get(&key)?;
            if n_steps > MAX_STEPS {
                return Err(Error::format(path(), format!("has {key} {n_steps}, more than any run reaches"), help));
            }
            steps.push(n_steps);
        }
        let named = |error| match error {
            Error::StateDict(mut mismatch) => {
                mismatch.source =
                    if mismatch.source.is_empty() { self.source.clone() } else { format!("{}: {}", self.source, mismatch.source) };
                Error::StateDict(mismatch)
            }
            other => other,
        };
        // Before an optimizer changes: a checkpoint that fits a part only changes nothing.
        let saved: Vec<BTreeMap<String, HostTensor>> = models.iter().map(|(name, _)| self.tensors_below(&below(MODEL, name))).collect();
        for ((_, state), saved) in models.iter().zip(&saved) {
            module::check(state, saved, "").map_err(named)?;
        }
        let mut before = Vec::new();
        for (at, n_steps) in steps.into_iter().enumerate() {
            let last = at + 1 == optimizers.len();
            let (name, optimizer) = &mut optimizers[at];
            // What is loaded already goes back if a later one does not fit.
            let kept = if last { None } else { Some((optimizer.state_dict()?, optimizer.n_steps())) };
            if let Err(error) = optimizer.load_state_dict(&self.tensors_below(&below(OPTIMIZER, name)), n_steps) {
                for ((_, optimizer), (state, n_steps)) in optimizers.iter_mut().zip(&before) {
                    optimizer.load_state_dict(state, *n_steps)?;
                }
                return Err(named(error));
            }
            before.extend(kept);
        }
        for ((_, state), saved) in models.iter().zip(&saved) {
            module::load(state, saved, "").map_err(named)?;
        }
        Generator::global().set(seed, offset);
        Ok(())
    }
}

/// What the names of a part begin with.
fn below(kind: &str, name: &str) -> String {
    if name.is_empty() { kind.to_owned() } else { format!("{kind}{name}.") }
}
