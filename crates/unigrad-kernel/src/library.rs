//! What the planner knows of a vendor's library of products and convolutions: its words for epilogues, and what it gains where.
//!
//! In: a product's or convolution's sizes, what is to be done with its sums. Out: costs, from rates that a driver states.
//! Always: an estimate that decides what is stored, and never what is computed. Never: asks a library: that is the driver's, kernel by kernel.

use unigrad_scalar::DType;

/// What a library does with sums before it stores them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Words {
    /// Multiplies them by one number.
    pub scale: bool,
    /// Adds a number for each column.
    pub bias: bool,
    /// Adds a matrix.
    pub residual: bool,
    /// Takes `max(x, 0)`.
    pub relu: bool,
    /// Takes GELU by its formula with `tanh`.
    pub gelu_tanh: bool,
    /// Stores the argument of GELU as well.
    pub before: bool,
    /// Multiplies them by the slope of that GELU at a matrix, as its gradient does.
    pub gelu_tanh_slope: bool,
}

/// How fast products of one kind of elements are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Rates {
    /// Multiplications in a nanosecond by the driver's own kernel.
    pub own: u32,
    /// And by the library; 0 where it is not asked.
    pub library: u32,
    /// Multiplications from which on it is asked.
    pub least: u64,
    /// The shortest of rows, columns and sums from which on it is asked for a product.
    pub shortest: u32,
    /// Femtoseconds more that the driver's own kernel takes for each result: to store it, and where something is done with it before.
    pub around: [u32; 2],
}

/// How fast something is, by the kind of elements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ByDtype {
    /// Of `F16` and `BF16`.
    pub half: Rates,
    /// Of `F32`, whose products may be rounded to TF32 or not.
    pub single: Rates,
    #[allow(missing_docs)]
    pub tf32: Rates,
    /// Of `F64`.
    pub double: Rates,
}

impl ByDtype {
    /// The rates of a dtype; of none that libraries do not multiply.
    fn of(&self, dtype: DType, tf32: bool) -> Rates {
        match (dtype.is_float(), dtype.size()) {
            (true, 2) => self.half,
            (true, 4) if tf32 => self.tf32,
            (true, 4) => self.single,
            (true, 8) => self.double,
            _ => Rates::default(), // DEFAULT: libraries multiply floats of these sizes
        }
    }
}

impl Rates {
    /// Asked wherever it can be.
    const ALWAYS: Rates = Rates { own: 1, library: u32::MAX, least: 0, shortest: 0, around: [0, 0] };

    /// Nanoseconds by which the library is faster at a product of these sizes; 0 where it is not asked.
    fn gain(self, [items, m, n, k]: [usize; 4], is_plain: bool) -> f64 {
        let results = items as f64 * m as f64 * n as f64;
        let work = results * k as f64;
        let around = results * f64::from(self.around[usize::from(!is_plain)]) / 1e6;
        let asked = self.own > 0 && self.library > self.own && work >= self.least as f64;
        if asked { work / f64::from(self.own) + around - work / f64::from(self.library) } else { 0.0 }
    }
}

/// A library of products beside a driver's own kernels. Part of a plan's key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Library {
    /// What it does inside.
    pub words: Words,
    /// Of `F16` and `BF16`.
    pub half: Rates,
    /// Of `F32`, whose products may be rounded to TF32 or not.
    pub single: Rates,
    #[allow(missing_docs)]
    pub tf32: Rates,
    /// Of `F64`.
    pub double: Rates,
    /// Of convolutions and their gradients, if it takes them on with the same words, and with their padding.
    pub convolution: Option<ByDtype>,
    /// Bytes that a kernel reads and writes in a nanosecond.
    pub copied: u32,
    /// Nanoseconds that one launch more takes.
    pub launch: u32,
    /// Bytes that stay in the device's cache from one launch to the next.
    pub near: usize,
}

impl Library {
    /// The same library, asked wherever it can be, whatever it costs.
    pub fn always(self) -> Library {
        let rates = Rates::ALWAYS;
        let all = ByDtype { half: rates, single: rates, tf32: rates, double: rates };
        let convolution = self.convolution.map(|_| all);
        Library { half: rates, single: rates, tf32: rates, double: rates, convolution, copied: u32::MAX, launch: 0, near: 0, ..self }
    }

    /// Nanoseconds by which the library is faster at products of `[items, rows, columns, length of sums]`; 0 where it is not asked. It `is_plain` where
    /// the driver's own kernel would do nothing with the sums before it stores them.
    pub fn gain(&self, dtype: DType, tf32: bool, sizes: [usize; 4], is_plain: bool) -> f64 {
        let rates = ByDtype { half: self.half, single: self.single, tf32: self.tf32, double: self.double }.of(dtype, tf32);
        let long = sizes[1..].iter().all(|size| *size >= rates.shortest as usize);
        if long { rates.gain(sizes, is_plain) } else { 0.0 }
    }

    /// The same of a convolution that is a product of these sizes.
    pub fn convolution_gain(&self, dtype: DType, tf32: bool, sizes: [usize; 4], is_plain: bool) -> f64 {
        self.convolution.map_or(0.0, |rates| rates.of(dtype, tf32).gain(sizes, is_plain))
    }

    /// Nanoseconds of a launch that reads and writes so many bytes.
    pub fn pass(&self, bytes: usize) -> f64 {
        f64::from(self.launch) + bytes as f64 / f64::from(self.copied.max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_gains_where_it_is_asked() {
        let none = Rates::default();
        let half = Rates { own: 300_000, library: 400_000, least: 1 << 29, shortest: 64, around: [0, 0] };
        let library = Library {
            words: Words::default(),
            half,
            single: none,
            tf32: none,
            double: none,
            convolution: None,
            copied: 4000,
            launch: 2000,
            near: 0,
        };
        assert_eq!(library.convolution_gain(DType::BF16, false, [1, 3000, 4000, 1000], true), 0.0);
        let convolves = Library { convolution: Some(ByDtype { half, ..ByDtype::default() }), ..library };
        assert_eq!(convolves.convolution_gain(DType::BF16, false, [2, 3000, 4000, 1000], true), 20_000.0);
        assert_eq!(convolves.convolution_gain(DType::BF16, false, [1, 4, 3000 * 1000, 1000], true), 10_000.0);
        assert_eq!(convolves.convolution_gain(DType::F32, false, [2, 3000, 4000, 1000], true), 0.0);
        assert!(convolves.always().convolution_gain(DType::F64, false, [1; 4], true) > 0.0 && library.always().convolution.is_none());
        let gain = |dtype, sizes| library.gain(dtype, false, sizes, true);
        assert_eq!(gain(DType::BF16, [1, 3000, 4000, 1000]), 10_000.0);
        assert_eq!(gain(DType::BF16, [2, 3000, 4000, 1000]), 20_000.0);
        // What the own kernel takes to store results, and to do something with them: 12 million of them, 2 and 5 picoseconds each.
        let busy = Library { half: Rates { around: [2000, 5000], ..half }, ..library };
        assert_eq!(busy.gain(DType::BF16, false, [1, 3000, 4000, 1000], true), 34_000.0);
        assert_eq!(busy.gain(DType::BF16, false, [1, 3000, 4000, 1000], false), 70_000.0);
        for (dtype, sizes) in [
            (DType::F32, [1, 3000, 4000, 1000]),
            (DType::BF16, [1, 63, 40_000, 4000]),
            (DType::BF16, [1, 100, 100, 100]),
            (DType::I32, [1, 9, 9, 9]),
        ] {
            assert_eq!(gain(dtype, sizes), 0.0, "{dtype} {sizes:?}");
        }
        assert_eq!(library.pass(8_000_000), 4000.0);
        assert!(library.always().gain(DType::F32, false, [1, 1, 1, 1], true) > library.always().pass(0));
    }
}
