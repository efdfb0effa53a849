//! Sums down the columns of what rows are made of go with the rows: the gradients of a norm's weights with the gradient of its input, and the bias's
//! gradient of the layer below, whose elements that one writes.
//!
//! In: launches in order. Out: fewer: a region that reduces rows, and the regions that reduce columns of the same elements soon after it, as one [`Crossed`].
//! Always: the columns add up what the rows read or write, so that a driver may make all in one walk; what moves to the rows' place needs nothing
//! from between, and overwrites nothing that is read there.
//! Never: joins an index that is checked, or few elements, which stay in a cache until they are read again.

use crate::group::writes;
use crate::lower::Launch;
use smallvec::SmallVec;
use unigrad_kernel::{Arg, Columns, Crossed, InstOp, Kernel, Level, Region};

/// Launches after the rows that are looked at.
const LOOKS: usize = 8;
/// Elements from which on a second walk over them is worth to be saved.
const LEAST: usize = 1 << 17;
/// Bytes up to which the results of launches that move up with columns may be alive longer.
const SMALL: usize = 1 << 16;
/// Sums that a walk has beside its own: a thread holds some of each.
const MOST_SUMS: usize = 4;

/// Whether a launch reduces rows of two axes, and does nothing else that matters here.
fn rows(launch: &Launch) -> Option<&Region> {
    let Kernel::Region(region) = &launch.kernel else { return None };
    let is_plain = !launch.is_copy && !region.insts.iter().any(|inst| matches!(inst.op, InstOp::Bounded { .. } | InstOp::Acc));
    let is_large = region.axes.iter().fold(1usize, |all, size| all.saturating_mul(*size)) >= LEAST;
    (is_plain && is_large && region.axes.len() == 2 && region.n_parallel == 1 && region.has_reductions()).then_some(region)
}

/// Whether a region stores at every point.
fn stores_all(region: &Region) -> bool {
    let levels = region.levels();
    region.insts.iter().zip(&levels).any(|(inst, level)| matches!(inst.op, InstOp::Store { .. }) && *level == Level::Full)
}

/// The rows' launch with one more region of columns, if all can be made in one walk.
fn with(crossed: &Crossed, args: &[u32], launch: &Launch) -> Option<Crossed> {
    let region = rows(launch)?;
    let [n_rows, n_columns] = crossed.rows.axes[..] else { return None };
    if region.axes[..] != [n_columns, n_rows] || stores_all(region) {
        return None;
    }
    let rows_have = |id: u32| args[..crossed.rows.args.len()].iter().position(|arg| *arg == id);
    let shared: SmallVec<[Option<u32>; 8]> = launch.args.iter().map(|id| rows_have(*id).map(|at| at as u32)).collect();
    // All that is large is there; what it writes is its own.
    let is_small =
        |(arg, shared): (&Arg, &Option<u32>)| (shared.is_none() && arg.len <= n_rows.max(n_columns)) || (shared.is_some() && !arg.write);
    let reads_points = region.args.iter().zip(&shared).any(|(arg, shared)| shared.is_some() && arg.len > n_rows.max(n_columns));
    if !reads_points || !region.args.iter().zip(&shared).all(is_small) {
        return None;
    }
    let mut with = crossed.clone();
    with.columns.push(Columns { region: region.clone(), shared });
    let walk = with.one_walk()?;
    (walk.sums.len() <= MOST_SUMS).then_some(with)
}

/// Whether a launch can change places with another one, and what it overwrites stays where it is.
pub(crate) fn passes(launch: &Launch, other: &Launch) -> bool {
    let (args, theirs) = (launch.kernel.args(), other.kernel.args());
    let written: Vec<&Arg> = args.iter().filter(|arg| arg.write).collect();
    launch.args.iter().zip(&args).all(|(id, arg)| {
        let mut uses = other.args.iter().zip(&theirs).filter(|(other, _)| *other == id);
        // What it may write over must not be read later than now.
        let may_be_overwritten = arg.write || written.iter().any(|written| written.dtype == arg.dtype && written.len == arg.len);
        uses.all(|(_, their)| !their.write && !may_be_overwritten)
    })
}

/// The launches that have to move up before the rows so that one of columns can move to them: small ones that it needs, as an optimizer's numbers.
/// `between` are those after the rows. None if it cannot move.
fn before(rows: &Launch, between: &[(usize, &Launch)], columns: &Launch) -> Option<Vec<usize>> {
    let mut moves: Vec<(usize, &Launch)> = Vec::new();
    for (at, launch) in between.iter().rev() {
        let is_needed = || writes(launch).any(|id| columns.args.contains(&id) || moves.iter().any(|(_, other)| other.args.contains(&id)));
        if is_needed() {
            if launch.kernel.args().iter().any(|arg| arg.write && arg.bytes() > SMALL) || !passes(launch, rows) {
                return None;
            }
            moves.push((*at, launch));
        }
    }
    let stay = || between.iter().filter(|(at, _)| !moves.iter().any(|(moving, _)| moving == at));
    let is_free = |at: usize, launch: &Launch| stay().filter(|(other, _)| *other < at).all(|(_, other)| passes(launch, other));
    let all_free = moves.iter().all(|(at, launch)| is_free(*at, launch)) && is_free(usize::MAX, columns);
    all_free.then(|| moves.into_iter().rev().map(|(at, _)| at).collect())
}

/// Joins what can be joined.
pub(crate) fn cross(launches: Vec<Launch>) -> Vec<Launch> {
    let mut launches: Vec<Option<Launch>> = launches.into_iter().map(Some).collect();
    let mut crossed = Vec::with_capacity(launches.len());
    for at in 0..launches.len() {
        // None where it has gone to the rows.
        let Some(mut launch) = launches[at].take() else { continue };
        let found = rows(&launch).filter(|region| stores_all(region)).map(|region| Crossed { rows: region.clone(), columns: Vec::new() });
        let Some(mut whole) = found else {
            crossed.push(launch);
            continue;
        };
        let end = launches.len().min(at + 1 + LOOKS);
        for next in at + 1..end {
            let Some(columns) = &launches[next] else { continue };
            let between: Vec<(usize, &Launch)> =
                launches[..next].iter().enumerate().skip(at + 1).filter_map(|(at, launch)| Some((at, launch.as_ref()?))).collect();
            // Another region of columns may have been asked for the same result.
            let needs_columns = || writes(&launch).skip(whole.rows.args.iter().filter(|arg| arg.write).count());
            let is_apart = !needs_columns().any(|id| columns.args.contains(&id));
            let Some(more) = with(&whole, &launch.args, columns).filter(|_| is_apart) else { continue };
            let Some(moves) = before(&launch, &between, columns) else { continue };
            crossed.extend(moves.into_iter().filter_map(|at| launches[at].take()));
            let Some(columns) = launches[next].take() else { continue };
            let own = columns.args.iter().zip(more.columns.last().map_or(&[][..], |last| &last.shared));
            launch.args.extend(own.filter(|(_, shared)| shared.is_none()).map(|(id, _)| *id));
            launch.scalars.extend(&columns.scalars);
            launch.kernel = Kernel::Crossed(more.clone());
            whole = more;
        }
        crossed.push(launch);
    }
    crossed
}
