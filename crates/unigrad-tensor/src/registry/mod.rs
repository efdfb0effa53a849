//! Every op by name: what a table of cases, an importer of graphs, another language and the documentation are made from.
//!
//! In: a name, tensors, attributes. Out: the op's results, or an error that says what the call lacks.
//! Always: each public method of [`Tensor`] that computes is a row here, or [`NOT_OPS`] says why it is none; each row has cases in the op table.
//! Never: another meaning than the method's: a row only calls it.
//!
//! ```
//! # unigrad_device::register(unigrad_cpu::CpuDriver::default());
//! use unigrad_tensor::{Device, Tensor, registry::{self, Attributes}};
//!
//! let device = Device::open("cpu")?;
//! let x = Tensor::new([[1.0f32, 2.0], [3.0, 4.0]], &device);
//! let softmax = registry::find("softmax").unwrap();
//! let y = softmax.call(&[x], &Attributes::new().with("axis", 1), &device).unwrap();
//! assert_eq!(y[0].dims()?, [2, 2]);
//! let error = softmax.call(&[], &Attributes::new(), &device).unwrap_err();
//! assert!(error.to_string().contains("softmax: input 0 is missing"));
//! # Ok::<(), unigrad_tensor::Error>(())
//! ```

mod call;
mod composed;
mod index;
mod losses;
mod maps;
mod methods;
mod networks;
mod others;
mod products;
mod reduce;
mod rows;
mod selection;
mod views;

pub use call::{Attribute, Attributes, Call};
pub use methods::METHODS;
pub use others::NOT_OPS;

use crate::{Device, Origin, Tensor};
use std::fmt;

/// A public method of [`Tensor`], as its source has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Method {
    /// Its name.
    pub name: &'static str,
    /// Name, parameters and result.
    pub signature: &'static str,
    /// Its documentation, in Markdown.
    pub doc: &'static str,
}

/// What an op computes in when automatic mixed precision is on, as PyTorch's autocast has it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Precision {
    /// In the half type: products, whose sums are kept in `f32` anyway.
    Half,
    /// In `f32`: what loses digits or range in a half type.
    Full,
    /// In the widest dtype of its inputs.
    Widest,
    /// In the dtype of its input.
    Same,
}

/// A call that lacks something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallError {
    /// The op.
    pub op: &'static str,
    /// What is wrong.
    pub cause: String,
    /// What would help.
    pub help: String,
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}\n help: {}", self.op, self.cause, self.help)
    }
}

impl std::error::Error for CallError {}

/// Results of a call.
pub type Outputs = Result<Vec<Tensor>, CallError>;

/// One op.
#[derive(Clone, Copy, Debug)]
pub struct Op {
    /// Its name in cases, files and other languages.
    pub name: &'static str,
    /// The method of [`Tensor`] that it calls.
    pub method: &'static str,
    /// Whether a gradient flows from its results to its float inputs.
    pub differentiable: bool,
    /// What it computes in under automatic mixed precision.
    pub precision: Precision,
    /// Whether it reads values while it is called, since its result's shape depends on them.
    pub reads: bool,
    run: fn(&Call) -> Outputs,
}

const fn op(name: &'static str, method: &'static str, run: fn(&Call) -> Outputs) -> Op {
    Op { name, method, differentiable: true, precision: Precision::Same, reads: false, run }
}

impl Op {
    /// Steps, indices, truth values: no gradient, or 0 everywhere.
    const fn step(self) -> Op {
        Op { differentiable: false, ..self }
    }

    const fn reading(self) -> Op {
        Op { reads: true, ..self }
    }

    const fn half(self) -> Op {
        Op { precision: Precision::Half, ..self }
    }

    const fn full(self) -> Op {
        Op { precision: Precision::Full, ..self }
    }

    const fn widest(self) -> Op {
        Op { precision: Precision::Widest, ..self }
    }

    /// Calls it. What is wrong with shapes and dtypes is told by the results, as by the method's; they name the caller's line.
    #[track_caller]
    pub fn call(&self, inputs: &[Tensor], attributes: &Attributes, device: &Device) -> Outputs {
        let _here = Origin::enter_caller();
        (self.run)(&Call { op: self.name, inputs, attributes, device })
    }

    /// The method's signature and documentation.
    pub fn describe(&self) -> Option<&'static Method> {
        METHODS.iter().find(|method| method.name == self.method)
    }
}

/// Every op.
pub fn ops() -> impl Iterator<Item = &'static Op> {
    [maps::OPS, views::OPS, reduce::OPS, index::OPS, products::OPS, rows::OPS, losses::OPS, composed::OPS, selection::OPS, networks::OPS]
        .into_iter()
        .flatten()
        .copied()
        .flatten()
}

/// The op of this name.
pub fn find(name: &str) -> Option<&'static Op> {
    ops().find(|op| op.name == name)
}

fn one(result: Tensor) -> Outputs {
    Ok(vec![result])
}

fn pair((first, second): (Tensor, Tensor)) -> Outputs {
    Ok(vec![first, second])
}

#[cfg(test)]
mod tests;
