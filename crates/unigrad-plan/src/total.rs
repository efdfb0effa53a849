//! Rows and their total in one launch: the losses of a batch and their mean.
//!
//! In: launches in order. Out: fewer launches, a reduction over all rows of an earlier launch joined with that one as a [`Total`].
//! Always: everything else that the reduction reads is there before the rows run, and it is small beside them.

use crate::group::{reads, writes};
use crate::lower::Launch;
use rustc_hash::FxHashMap;
use unigrad_kernel::{Kernel, Region, Total};

/// The region, if it reduces rows.
fn rows_of(launch: &Launch) -> Option<&Region> {
    match &launch.kernel {
        Kernel::Region(region) if region.n_parallel < region.axes.len() => Some(region),
        _ => None,
    }
}

/// Joins what can be joined.
pub(crate) fn join(launches: Vec<Launch>) -> Vec<Launch> {
    let mut joined: Vec<Launch> = Vec::with_capacity(launches.len());
    // By node: the position in `joined` of the launch that writes it last.
    let mut written: FxHashMap<u32, usize> = FxHashMap::default();
    for launch in launches {
        let latest = reads(&launch).filter_map(|id| written.get(&id)).max().copied();
        let rows = latest.and_then(|at| Some((at, rows_of(&joined[at])?)));
        // What is written in parts keeps their order.
        let is_whole = writes(&launch).all(|id| !written.contains_key(&id));
        let pair = match (&launch.kernel, rows) {
            (Kernel::Region(total), Some((at, rows))) if is_whole && total.rows() == 1 && total.row_len() <= rows.rows() => {
                Some((at, Total { rows: rows.clone(), total: total.clone() }))
            }
            _ => None,
        };
        let at = pair.as_ref().map_or(joined.len(), |(at, _)| *at);
        written.extend(writes(&launch).map(|id| (id, at)));
        match pair {
            Some((at, total)) => {
                let first = &mut joined[at];
                first.kernel = Kernel::Total(total);
                first.args.extend(launch.args);
                first.scalars.extend(launch.scalars);
                first.name = format!("{}, {}", first.name, launch.name);
            }
            None => joined.push(launch),
        }
    }
    joined
}
