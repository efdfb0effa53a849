//! Checkpoints: everything a run needs to continue as if it had not stopped.
//!
//! In: a model, an optimizer, and what the program adds. Out: one safetensors file; from it, the same run to the last bit.
//! Always: the file is replaced whole; loading checks all names and shapes before it changes anything.

use crate::{
    archive::{Archive, HostTensor},
    error::{Error, Result},
    module::{self, Module},
    optim::{Optimizer, Rule},
};
use std::{collections::BTreeMap, path::Path, str::FromStr};
use unigrad_tensor::Generator;

/// The content of a checkpoint.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Checkpoint {
    archive: Archive,
    source: String,
}

const MODEL: &str = "model.";
const OPTIMIZER: &str = "optimizer.";
const STEPS: &str = "optimizer.steps";
const RANDOM_SEED: &str = "random.seed";
const RANDOM_OFFSET: &str = "random.offset";

/// What comes after the last that is counted exactly where steps become floats.
const MAX_STEPS: u64 = 1 << 53;
/// Random numbers that a process draws in thousands of years; beyond, offsets would begin again.
const MAX_OFFSET: u64 = 1 << 63;

impl Checkpoint {
    /// The state of a model, its optimizer and the process's random numbers.
    pub fn of<R: Rule, M: Module + ?Sized>(model: &M, optimizer: &Optimizer<R>) -> Result<Checkpoint> {
        let mut archive = Archive::default();
        let prefixed = |prefix: &str, state: BTreeMap<String, HostTensor>| -> Vec<(String, HostTensor)> {
            state.into_iter().map(|(name, tensor)| (format!("{prefix}{name}"), tensor)).collect()
        };
        archive.tensors.extend(prefixed(MODEL, model.to_archive()?.tensors));
        archive.tensors.extend(prefixed(OPTIMIZER, optimizer.state_dict()?));
        let (seed, offset) = Generator::global().state();
        let mut checkpoint = Checkpoint { archive, source: String::new() };
        checkpoint.set(STEPS, optimizer.n_steps());
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
        self.get(STEPS)
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
        let part = |prefix: &str| -> BTreeMap<String, HostTensor> {
            self.archive.tensors.iter().filter_map(|(name, t)| Some((name.strip_prefix(prefix)?.to_owned(), t.clone()))).collect()
        };
        let (n_steps, seed, offset): (u64, u64, u64) = (self.get(STEPS)?, self.get(RANDOM_SEED)?, self.get(RANDOM_OFFSET)?);
        if n_steps > MAX_STEPS || offset > MAX_OFFSET {
            let cause = format!("has {STEPS} {n_steps} and {RANDOM_OFFSET} {offset}, more than any run reaches");
            return Err(Error::format(Path::new(&self.source), cause, "use a checkpoint that a training run of this version wrote"));
        }
        let named = |error| match error {
            Error::StateDict(mut mismatch) => {
                mismatch.source =
                    if mismatch.source.is_empty() { self.source.clone() } else { format!("{}: {}", self.source, mismatch.source) };
                Error::StateDict(mismatch)
            }
            other => other,
        };
        let of_model = part(MODEL);
        // Before the optimizer changes: a checkpoint that fits one of them only changes neither.
        module::check(&model.state_dict(), &of_model, "").map_err(named)?;
        optimizer.load_state_dict(&part(OPTIMIZER), n_steps).map_err(named)?;
        model.load_state_dict(&of_model).map_err(named)?;
        Generator::global().set(seed, offset);
        Ok(())
    }
}
