//! Which elements in memory count, and what stands in the place of the others.

use super::Layout;
use unigrad_graph::{BinaryOp, DType, Expr, Factor, Literal};

/// The greatest finite value of an integer dtype, its least one, and their floats' infinities.
pub(super) fn extreme(dtype: DType, greatest: bool) -> Literal {
    if dtype.is_float() {
        return Literal::float(dtype, if greatest { f64::INFINITY } else { f64::NEG_INFINITY });
    }
    // Floats saturate; every other dtype has fewer bits than their exponents reach.
    Literal::float(
        dtype,
        match (dtype, greatest) {
            (DType::Bool, greatest) => f64::from(u8::from(greatest)),
            (_, true) => f64::INFINITY,
            (_, false) => f64::NEG_INFINITY,
        },
    )
}

fn number(like: &Expr, value: usize) -> Expr {
    like.literal_like(Literal::int(DType::I64, value as i64))
}

impl Layout {
    /// A factor's place within an axis, from the place in memory along the axis.
    fn coordinate(place: &Expr, inner: usize, size: usize, is_outermost: bool) -> Expr {
        let outer = if inner == 1 { place.clone() } else { place.binary(BinaryOp::IDiv, &number(place, inner)) };
        if is_outermost { outer } else { outer.binary(BinaryOp::Rem, &number(place, size)) }
    }

    /// Factors of an axis with the sizes in memory of those within each.
    fn with_inner(factors: &[Factor]) -> Vec<(&Factor, usize)> {
        let mut inner = 1;
        let mut all: Vec<(&Factor, usize)> = Vec::with_capacity(factors.len());
        for factor in factors.iter().rev() {
            all.push((factor, inner));
            inner *= factor.memory_size();
        }
        all.reverse();
        all
    }

    /// Where elements of `x`, which lies in memory as `recorded` says, count along axes of a bit mask; `None` if all do.
    pub(super) fn counts(&self, x: &Expr, recorded: &Expr, axes: u32) -> Result<Option<Expr>, String> {
        let Some(names) = recorded.names() else { return Ok(None) };
        let mut all: Option<Expr> = None;
        for (axis, factors) in names.axes().iter().enumerate().filter(|(axis, _)| axes >> axis & 1 == 1) {
            for (at, (factor, inner)) in Layout::with_inner(factors).into_iter().enumerate() {
                if factor.is_exact() {
                    continue;
                }
                let place = Expr::iota(x.shape(), axis, DType::I64, x.device());
                let size = self.current(factor, &place)?;
                let counts = Layout::coordinate(&place, inner, factor.memory_size(), at == 0).lt(&size);
                all = Some(all.map_or_else(|| counts.clone(), |all| all.and(&counts)));
            }
        }
        Ok(all)
    }

    /// `x` with `value` in its padding along axes of a bit mask.
    pub(super) fn masked(&self, x: &Expr, recorded: &Expr, axes: u32, value: Literal) -> Result<Expr, String> {
        Ok(match self.counts(x, recorded, axes)? {
            Some(counts) => counts.select(x, &x.literal_like(value)),
            None => x.clone(),
        })
    }

    /// `x` with zeros in its padding along axes of a bit mask.
    pub(super) fn zeroed(&self, x: &Expr, recorded: &Expr, axes: u32) -> Result<Expr, String> {
        self.masked(x, recorded, axes, Literal::zero(x.dtype()))
    }

    /// Whether a place along an axis is the same number in memory: if all padding is at its end.
    fn is_plain(factors: &[Factor]) -> bool {
        factors.iter().skip(1).all(|factor| !factor.is_named())
    }

    /// The current size of a factor, as numbers like those of `place`.
    fn current(&self, factor: &Factor, place: &Expr) -> Result<Expr, String> {
        match factor {
            Factor::Fixed(size) => Ok(number(place, *size)),
            Factor::Named(dim, size) => Ok(self.size(dim, *size)?.expand(place.shape())),
            Factor::Sum(sum) => {
                let (offset, over) = sum.rest();
                let scalar = |value: i64| Expr::constant(Literal::int(DType::I64, value), &[], place.device());
                let mut all = scalar(offset);
                for (dim, size, times) in sum.terms() {
                    all = all.add(&self.size(dim, *size)?.mul(&scalar(*times as i64)));
                }
                let all = if over == 1 { all } else { all.binary(BinaryOp::IDiv, &scalar(over as i64)) };
                Ok(all.expand(place.shape()))
            }
        }
    }

    /// How many elements of an axis count, as numbers like those of `place`.
    pub(super) fn total(&self, factors: &[Factor], place: &Expr) -> Result<Expr, String> {
        let mut all: Option<Expr> = None;
        for factor in factors {
            let size = self.current(factor, place)?;
            all = Some(all.map_or_else(|| size.clone(), |all| all.mul(&size)));
        }
        all.ok_or_else(|| "an axis of no factors".to_owned())
    }

    /// The places that count, numbered, from places in memory along an axis.
    pub(super) fn to_recorded(&self, place: &Expr, factors: &[Factor]) -> Result<Expr, String> {
        if Layout::is_plain(factors) {
            return Ok(place.clone());
        }
        let mut sum: Option<Expr> = None;
        let mut inner: Option<Expr> = None;
        for (at, (factor, in_memory)) in Layout::with_inner(factors).into_iter().enumerate().rev() {
            let own = Layout::coordinate(place, in_memory, factor.memory_size(), at == 0);
            let own = inner.as_ref().map_or_else(|| own.clone(), |inner| own.mul(inner));
            sum = Some(sum.map_or_else(|| own.clone(), |sum| sum.add(&own)));
            let size = self.current(factor, place)?;
            inner = Some(inner.map_or_else(|| size.clone(), |inner| inner.mul(&size)));
        }
        Ok(sum.unwrap_or_else(|| place.clone()))
    }

    /// Places in memory along an axis, from the numbers of those that count.
    pub(super) fn to_memory(&self, place: &Expr, factors: &[Factor]) -> Result<Expr, String> {
        if Layout::is_plain(factors) {
            return Ok(place.clone());
        }
        let mut sum: Option<Expr> = None;
        let mut rest = place.clone();
        for (at, (factor, in_memory)) in Layout::with_inner(factors).into_iter().enumerate().rev() {
            let size = self.current(factor, place)?;
            let own = if at == 0 { rest.clone() } else { rest.binary(BinaryOp::Rem, &size) };
            rest = if at == 0 { rest } else { rest.binary(BinaryOp::IDiv, &size) };
            let own = own.mul(&number(place, in_memory));
            sum = Some(sum.map_or_else(|| own.clone(), |sum| sum.add(&own)));
        }
        Ok(sum.unwrap_or_else(|| place.clone()))
    }
}
