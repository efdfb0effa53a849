//! Which way convolutions leave their channels in memory.
//!
//! In: what a device is good at. Out: one of three rules for the compiler of graphs.
//! Always: shapes, and what a user sees of values and their order, stay those of `[batch, channels, spatial..]`; what changes is where an element of
//! something in between lies. Never: part of what is computed, but for the order in which sums are added.

use unigrad_scalar::DType;

/// Whether results of convolutions, and what is made of them element by element, lie in memory with their channels first or last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Channels {
    /// First, as their axes are numbered.
    #[default]
    First,
    /// Last where they are `F16` or `BF16`: loops that copy runs of 16 bytes read windows so.
    LastOfHalves,
    /// Last, of all dtypes.
    Last,
}

impl Channels {
    /// Whether they come last in convolutions of a dtype.
    pub fn are_last(self, dtype: DType) -> bool {
        match self {
            Channels::First => false,
            Channels::LastOfHalves => matches!(dtype, DType::F16 | DType::BF16),
            Channels::Last => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_are_what_the_second_rule_is_about() {
        let of = |channels: Channels| [DType::F16, DType::BF16, DType::F32, DType::F64, DType::I32].map(|dtype| channels.are_last(dtype));
        assert_eq!(of(Channels::First), [false; 5]);
        assert_eq!(of(Channels::LastOfHalves), [true, true, false, false, false]);
        assert_eq!(of(Channels::Last), [true; 5]);
    }
}
