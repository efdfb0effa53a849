//! The op table: each op's name, and how a case calls it. Every check runs over every entry.

mod index;
mod maps;
mod products;
mod reduce;
mod rows;
mod views;

use crate::cases::Args;
use unigrad_tensor::{DType, Device, Tensor};

/// An op called on a case's inputs and options.
pub struct Call<'a> {
    /// Inputs.
    pub x: &'a [Tensor],
    /// Options.
    pub args: &'a Args,
    /// Where results go that have no inputs.
    pub device: &'a Device,
}

impl Call<'_> {
    fn axis(&self) -> isize {
        self.args.int("axis").unwrap_or(0) as isize
    }

    /// A single operand beside the first input: the second one, or the option `scalar`.
    fn scalar(&self) -> Option<f64> {
        self.args.float("scalar")
    }

    fn float(&self, key: &str) -> f64 {
        self.args.float(key).unwrap_or(f64::NAN)
    }

    fn size(&self, key: &str) -> usize {
        self.args.int(key).and_then(|size| usize::try_from(size).ok()).unwrap_or(0)
    }

    fn sizes(&self, key: &str) -> Vec<usize> {
        self.args.sizes(key).unwrap_or_default()
    }

    fn refs(&self) -> Vec<&Tensor> {
        self.x.iter().collect()
    }
}

/// One op of the table.
pub struct OpEntry {
    /// As the cases name it.
    pub name: &'static str,
    /// The call.
    pub run: fn(&Call) -> Vec<Tensor>,
    /// Whether the op reads values while it is called.
    pub reads: bool,
}

const fn op(name: &'static str, run: fn(&Call) -> Vec<Tensor>) -> OpEntry {
    OpEntry { name, run, reads: false }
}

/// Every op.
pub fn table() -> impl Iterator<Item = &'static OpEntry> {
    [maps::OPS, views::OPS, reduce::OPS, index::OPS, products::OPS, rows::OPS].into_iter().flatten().copied().flatten()
}

fn dtype(name: &str) -> DType {
    DType::ALL.into_iter().find(|dtype| dtype.name() == name).unwrap_or(DType::F32)
}
