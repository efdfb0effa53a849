//! Sums of a product's operand go with the product: the gradient of a layer's bias with the gradient of its weight, both of which read the gradient
//! of what the layer gave.
//!
//! In: launches in order. Out: fewer: a product, and a region soon before or after it that adds up an operand of it along all of `k`, as one [`Summed`].
//! Always: the two need nothing of each other; the sums move to the product's place, so that nothing large is alive at other times, and overwrite nothing that is read
//! between.
//! Never: joins what a driver would not add up on its way ([`Summed::lane_sum`]), or where a library's product would be faster by more than the sum takes.

use crate::cross::passes;
use crate::lower::Launch;
use crate::plan::Options;
use smallvec::SmallVec;
use unigrad_kernel::{Arg, Columns, Contract, Kernel, Summed};
use unigrad_scalar::DType;

/// Launches before and after the product that are looked at.
const LOOKS: usize = 8;
/// Elements of the operand from which on a second walk over them is worth to be saved.
const LEAST: usize = 1 << 20;
/// Rows and columns of a product at least, and length of its sums: of smaller ones a driver may have better ways.
const LEAST_SIDE: usize = 128;
const LEAST_K: usize = 2048;
/// Lanes of the other operand at most where there is a library. On an H200 the driver's own loops take up to 12 % longer than cuBLASLt, for `lanes` by `others` that is
/// `0.12 * 2 * lanes * others * k / 660e3` nanoseconds, and the sum takes `2 * lanes * k / 3.3e3`: they meet at 2,700 others. Half of it is sure to pay.
const MOST_OTHERS: usize = 1400;
/// Lanes that a driver takes at once.
const RUN: usize = 8;

/// Whether sums may go with a product.
fn takes(launch: &Launch) -> Option<&Contract> {
    let Kernel::Contract(product) = &launch.kernel else { return None };
    let is_half = |arg: &Arg| matches!(arg.dtype, DType::F16 | DType::BF16);
    let is_plain = is_half(&product.a) && product.a.dtype == product.b.dtype && product.prologues.iter().all(Option::is_none);
    let is_large = product.m_len().min(product.n_len()) >= LEAST_SIDE && product.k_len() >= LEAST_K;
    (is_plain && is_large && !launch.is_copy).then_some(product)
}

/// The two as one, if a driver can add up on its way.
fn with(product: &Contract, args: &[u32], launch: &Launch, has_library: bool) -> Option<Summed> {
    let Kernel::Region(region) = &launch.kernel else { return None };
    if launch.is_copy || region.axes.len() != 2 || region.n_parallel != 1 {
        return None;
    }
    let [a, b] = [*args.first()?, *args.get(1)?];
    // A product of something with itself has one buffer twice.
    if a == b || ![a, b].iter().any(|operand| launch.args.contains(operand)) {
        return None;
    }
    let shared: SmallVec<[Option<u32>; 8]> =
        launch.args.iter().map(|id| args.iter().position(|arg| arg == id).map(|at| at as u32)).collect();
    let of_product = product.args();
    let is_written = |at: u32| of_product.get(at as usize).is_none_or(|arg| arg.write);
    if region.args.iter().zip(&shared).any(|(arg, shared)| shared.is_some_and(|at| arg.write || is_written(at))) {
        return None;
    }
    let summed = Summed { product: product.clone(), sums: Columns { region: region.clone(), shared } };
    let side = summed.lane_sum()?.side;
    let (lanes, others) = if side == 0 { (product.m_len(), product.n_len()) } else { (product.n_len(), product.m_len()) };
    // Neighbouring lanes are neighbours in memory.
    let stride = if side == 0 { product.m.last()?.a } else { product.n.last()?.b };
    let pays = !has_library || others <= MOST_OTHERS;
    let is_large = lanes.saturating_mul(product.k_len()) >= LEAST;
    (pays && is_large && stride == 1 && lanes.is_multiple_of(RUN)).then_some(summed)
}

/// Joins what can be joined.
pub(crate) fn sum(launches: Vec<Launch>, options: Options) -> Vec<Launch> {
    let mut launches: Vec<Option<Launch>> = launches.into_iter().map(Some).collect();
    for at in 0..launches.len() {
        let Some(launch) = &launches[at] else { continue };
        let Some(product) = takes(launch) else { continue };
        let near = (at + 1..launches.len().min(at + 1 + LOOKS)).chain((at.saturating_sub(LOOKS)..at).rev());
        let found = near.filter_map(|other| {
            let sums = launches[other].as_ref()?;
            let summed = with(product, &launch.args, sums, options.library.is_some())?;
            let between = if other < at { other + 1..at } else { at + 1..other };
            let is_free = passes(sums, launch) && launches[between].iter().flatten().all(|between| passes(sums, between));
            is_free.then_some((other, summed))
        });
        let Some((other, summed)) = { found }.next() else { continue };
        let Some(sums) = launches[other].take() else { continue };
        let Some(mut launch) = launches[at].take() else { continue };
        let own = sums.args.iter().zip(&summed.sums.shared).filter(|(_, shared)| shared.is_none());
        launch.args.extend(own.map(|(id, _)| *id));
        launch.scalars.extend(&sums.scalars);
        launch.kernel = Kernel::Summed(summed);
        launches[at] = Some(launch);
    }
    launches.into_iter().flatten().collect()
}
