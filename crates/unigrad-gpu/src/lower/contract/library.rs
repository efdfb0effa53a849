//! A contraction as a library's product: the strided matrices among them, with the epilogue inside where there are words for it, or with the step
//! that finishes it. What a prologue makes is made in scratch memory first, by a step of the driver.
//!
//! Always: an operand that overlaps itself, runs backwards or needs several strides for one side is none. Steps before the product write scratch
//! memory only, so that a product which is refused then leaves nothing behind.

use super::super::{Lowered, ProgramArg, ProgramLaunch};
use super::codes::{Codes, codes};
use super::inside::{Factor, Words, words};
use super::problem::{Dims, Operand, Problem};
use super::{source, split_k};
use crate::{Inside, Matrix, Product};
use unigrad_ir::Target;
use unigrad_kernel::Contract;
use unigrad_scalar::DType;

/// A contraction that a library can do, in one of the ways: what it is asked in its words, and where their memory is.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Way<Words, Places> {
    pub(crate) words: Words,
    pub(crate) places: Places,
    pub(crate) scale: Factor,
    /// What comes before the library's part, and after it.
    pub(crate) steps: Lowered,
    /// How many of these steps come before it.
    pub(crate) before: usize,
}

impl<W, P> Way<W, P> {
    /// After these steps nothing is left to do.
    pub(super) fn whole(words: W, places: P, scale: Factor, steps: &Lowered) -> Way<W, P> {
        Way { words, places, scale, before: steps.steps.len(), steps: steps.clone() }
    }

    /// After these steps the library leaves sums, of so many bytes, in the first scratch memory, and the last step makes the result of them.
    pub(super) fn finished(words: W, places: P, steps: &Lowered, bytes: usize, last: ProgramLaunch) -> Way<W, P> {
        let mut way = Way::whole(words, places, Factor::One, steps);
        // The steps before leave the first buffer for sums.
        match way.steps.scratch.first_mut() {
            Some(first) => *first = bytes,
            None => way.steps.scratch.push(bytes),
        }
        way.steps.steps.push(last);
        way
    }
}

/// A contraction as a library's product.
pub(crate) type Library = Way<Product, Places>;

/// Where a product's memory is.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Places {
    pub(crate) a: ProgramArg,
    pub(crate) b: ProgramArg,
    pub(crate) c: ProgramArg,
    pub(crate) residual: Option<ProgramArg>,
    pub(crate) bias: Option<ProgramArg>,
    pub(crate) before: Option<ProgramArg>,
    /// Of the factors of `a` and `b`.
    pub(crate) scales: [Option<ProgramArg>; 2],
}

/// A contraction whose operands lie in memory once `steps` are done.
struct Stored<'a> {
    contract: &'a Contract,
    target: &'a Target,
    steps: Lowered,
    /// See [`Product::made`].
    made: u64,
    /// What the prologues of the kernel's `a` and `b` decode, if the library is asked with the codes.
    codes: Option<[Codes; 2]>,
}

/// The contraction as a product: with all of the epilogue inside, if there are words for it, then without; empty if it is none.
pub(crate) fn library(contract: &Contract, target: &Target) -> Vec<Library> {
    let Ok(p) = Problem::new(contract, target) else { return Vec::new() };
    // Before a step is made for it.
    if operands(contract, &p, 0).or_else(|| operands(contract, &p.clone().swapped(), 0)).is_none() {
        return Vec::new();
    }
    let mut ways = Vec::new();
    if let [Some(a), Some(b)] = &contract.prologues
        && let (Some(a), Some(b)) = (codes(a), codes(b))
    {
        ways = Stored { contract, target, steps: Lowered::default(), made: 0, codes: Some([a, b]) }.ways(&p);
    }
    let made = match contract.prologues.iter().any(Option::is_some) {
        true => source::store(contract, &p, target).ok(),
        false => Some((Lowered::default(), p)),
    };
    if let Some((steps, p)) = made {
        ways.extend(
            Stored { contract, target, steps, made: made_bytes(contract, 0).saturating_add(made_bytes(contract, 1)), codes: None }.ways(&p),
        );
    }
    ways
}

/// Bytes that the step that makes an operand reads and writes; 0 of one that lies in memory.
pub(super) fn made_bytes(contract: &Contract, side: usize) -> u64 {
    let args = contract.prologues.get(side).into_iter().flatten().flat_map(|region| &region.args);
    args.map(|arg| (arg.len as u64).saturating_mul(arg.dtype.size() as u64)).fold(0, u64::saturating_add)
}

/// The operands, sizes and compute dtype, without what becomes of the sums.
fn operands(contract: &Contract, p: &Problem, made: u64) -> Option<Product> {
    let size = |size: u64| u32::try_from(size).ok().filter(|size| (1..1 << 31).contains(size));
    let (batch, m, n, k) = (size(p.batch)?, size(p.m)?, size(p.n)?, size(p.k)?);
    let compute = if p.a.dtype == DType::F64 { DType::F64 } else { DType::F32 };
    let known = matches!(p.a.dtype, DType::F32 | DType::F64 | DType::F16 | DType::BF16);
    if !known || p.a.dtype != p.b.dtype || p.compute != compute {
        return None;
    }
    let a = matrix(p.a.dtype, p.a.offset, [(m, &p.a.lanes), (k, &p.a.k)], (batch, &p.a.batch))?;
    let b = matrix(p.b.dtype, p.b.offset, [(k, &p.b.k), (n, &p.b.lanes)], (batch, &p.b.batch))?;
    // In scratch memory, unless it is said otherwise.
    let c = Matrix { dtype: compute, offset: 0, ld: n, transposed: false, batch_stride: u64::from(m) * u64::from(n) };
    let tf32 = contract.tf32 && p.a.dtype == DType::F32;
    Some(Product { batch, m, n, k, a, b, c, compute, tf32, inside: Inside::default(), made, after: false })
}

fn places(p: &Problem, c: ProgramArg) -> Places {
    let place = |operand: &Operand| operand.scratch.map_or(ProgramArg::Arg(operand.arg), ProgramArg::Scratch);
    Places { a: place(&p.a), b: place(&p.b), c, residual: None, bias: None, before: None, scales: [None, None] }
}

impl Stored<'_> {
    /// With all of the epilogue inside, if there are words for it, then without.
    fn ways(&self, p: &Problem) -> Vec<Library> {
        let swapped = p.clone().swapped();
        // The roles are chosen for the driver's own stores; where these have gaps, or a bias runs along the other side, the other ones may do.
        let either = |way: &dyn Fn(&Problem) -> Option<Library>| {
            let of = |p: &Problem| way(p).and_then(|found| self.coded(found, p));
            of(p).or_else(|| of(&swapped))
        };
        match &self.contract.epilogue {
            None => either(&|p| self.bare(p)).into_iter().collect(),
            Some(_) => {
                let whole = either(&|p| self.spoken(p));
                let parted = either(&|p| self.finished(p));
                whole.into_iter().chain(parted).collect()
            }
        }
    }

    /// The product of codes, if that is what lies in memory.
    fn coded(&self, mut found: Library, p: &Problem) -> Option<Library> {
        let Some(codes) = &self.codes else { return Some(found) };
        let (product, places) = (&mut found.words, &mut found.places);
        // Of halves no caller expects more of the sums than a library's units for 8 bits have.
        product.tf32 |= p.a.dtype.size() == 2;
        let sides = [(&mut product.a, &mut places.a, p.a.arg), (&mut product.b, &mut places.b, p.b.arg)];
        for (side, (matrix, place, arg)) in sides.into_iter().enumerate() {
            let (codes, args) = (codes.get(arg)?, self.contract.prologue_args(arg));
            matrix.dtype = codes.dtype;
            *place = ProgramArg::Arg(*args.first()?);
            if let Some((at, element)) = codes.scale {
                product.inside.scales[side] = Some(element);
                places.scales[side] = Some(ProgramArg::Arg(*args.get(at)?));
            }
            if codes.factor != 1.0 {
                found.scale = match found.scale {
                    Factor::One => Factor::Number(codes.factor),
                    Factor::Number(factor) => Factor::Number(factor * codes.factor),
                    Factor::Scalar(..) => return None,
                };
                product.inside.scaled = true;
            }
        }
        Some(found)
    }

    /// A contraction without an epilogue.
    fn bare(&self, p: &Problem) -> Option<Library> {
        let (contract, product) = (self.contract, operands(self.contract, p, self.made)?);
        let rows = Dims::new(contract.m.iter().map(|d| (d.size, d.c)));
        let cols = Dims::new(contract.n.iter().map(|d| (d.size, d.c)));
        let (rows, cols) = if p.swap { (cols, rows) } else { (rows, cols) };
        let dims = Dims::new(contract.batch.iter().map(|d| (d.size, d.c)));
        let c = matrix(contract.c.dtype, 0, [(product.m, &rows), (product.n, &cols)], (product.batch, &dims))?;
        if c.transposed || ![p.a.dtype, product.compute].contains(&c.dtype) || (product.batch > 1 && c.batch_stride == 0) {
            return None;
        }
        Some(Way::whole(Product { c, ..product }, places(p, ProgramArg::Arg(2)), Factor::One, &self.steps))
    }

    /// A contraction whose epilogue the library has words for.
    fn spoken(&self, p: &Problem) -> Option<Library> {
        let product = operands(self.contract, p, self.made)?;
        let Words { inside, c, scale, places: at } = words(self.contract, p, [product.batch, product.m, product.n])?;
        let places = Places { residual: at.residual, bias: at.bias, before: at.before, ..places(p, at.c) };
        Some(Way::whole(Product { c, inside, ..product }, places, scale, &self.steps))
    }

    /// A contraction whose epilogue a program of the driver does.
    fn finished(&self, p: &Problem) -> Option<Library> {
        let product = Product { after: true, ..operands(self.contract, p, self.made)? };
        let bytes = (p.batch * p.m * p.n) as usize * product.compute.size();
        Some(Way::finished(
            product,
            places(p, ProgramArg::Scratch(0)),
            &self.steps,
            bytes,
            split_k::finish(self.contract, p, self.target, 1).ok()?,
        ))
    }
}

/// A matrix of these rows and columns, if one stride each describes them, and one of the two runs by ones.
pub(super) fn matrix(dtype: DType, offset: i64, [rows, cols]: [(u32, &Dims); 2], batch: (u32, &Dims)) -> Option<Matrix> {
    let ((n_rows, rows), (n_cols, cols)) = ((rows.0, rows.1.single()?), (cols.0, cols.1.single()?));
    // The stored rows' length, and what separates them: any number is right where there is but one.
    let stored = |run: u32, step: i64, count: u32, next: i64| {
        let next = if count == 1 { i64::from(run) } else { next };
        let ld = u32::try_from(next).ok().filter(|ld| (run..1 << 31).contains(ld))?;
        (run == 1 || step == 1).then_some(ld)
    };
    let plain = stored(n_cols, cols, n_rows, rows).map(|ld| (ld, false));
    let (ld, transposed) = plain.or_else(|| stored(n_rows, rows, n_cols, cols).map(|ld| (ld, true)))?;
    let batch_stride = if batch.0 == 1 { 0 } else { u64::try_from(batch.1.single()?).ok()? };
    Some(Matrix { dtype, offset: u64::try_from(offset).ok()?, ld, transposed, batch_stride })
}
