//! What a node is, as far as every node that is made from it asks: one look at each input tells all.

use crate::{Expr, Op, grad_enabled};
use unigrad_scalar::DType;

/// Some of the properties below.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Traits(u8);

impl Traits {
    /// Of nothing.
    pub(crate) const NONE: Traits = Traits(0);
    /// It carries an error.
    pub(crate) const INVALID: u8 = 1;
    /// Its dtype computes nothing.
    pub(crate) const ONLY_STORES: u8 = 2;
    /// A gradient may flow through it.
    pub(crate) const NEEDS_GRAD: u8 = 4;
    /// One of its axes has a name.
    pub(crate) const NAMED: u8 = 8;
    /// Its dtype has gradients.
    const FLOAT: u8 = 16;
    /// Its type is no other node's, and goes with it: it may hold a user's values.
    pub(crate) const OWN_TYPE: u8 = 32;

    /// Of every node that does this, whatever its inputs are.
    #[expect(clippy::wildcard_enum_match_arm, reason = "it asks for certain ops")]
    pub(crate) fn of(op: &Op, dtype: DType, is_named: bool) -> Traits {
        let own = match op {
            Op::Invalid(_) => Traits::INVALID | Traits::OWN_TYPE,
            Op::Variable(_) => Traits::NEEDS_GRAD,
            Op::Custom(_) => Traits::OWN_TYPE,
            _ => 0,
        };
        let of = |is: bool, trait_: u8| if is { trait_ } else { 0 };
        Traits(own | of(dtype.only_stores(), Traits::ONLY_STORES) | of(dtype.is_float(), Traits::FLOAT) | of(is_named, Traits::NAMED))
    }

    /// What any of them is.
    #[inline]
    pub(crate) fn any(inputs: &[Expr]) -> Traits {
        Traits(inputs.iter().fold(0, |all, input| all | input.traits().0))
    }

    /// Of a node with these of its type, and with inputs of which any is `below`.
    #[inline]
    pub(crate) fn of_node(self, below: Traits) -> Traits {
        let needs_grad = below.0 & Traits::NEEDS_GRAD != 0 && self.0 & Traits::FLOAT != 0 && grad_enabled();
        Traits(self.0 | if needs_grad { Traits::NEEDS_GRAD } else { 0 })
    }

    #[inline]
    pub(crate) fn or(self, other: Traits) -> Traits {
        Traits(self.0 | other.0)
    }

    /// Whether it is any of these.
    #[inline]
    pub(crate) fn has(self, traits: u8) -> bool {
        self.0 & traits != 0
    }

    pub(crate) fn add(&mut self, traits: u8) {
        self.0 |= traits;
    }
}
