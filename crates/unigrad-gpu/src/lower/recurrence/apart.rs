//! Whether rows of a recurrence can be different clusters': memory that one row's kernels write and another row's do not touch.
//!
//! In: the kernels of a step, and where their arguments lie in each step. Out: whether no row reads or writes what the recurrence writes for another one, in any step.
//! Always: says so only where it holds for all steps of one row beside any steps of another, for clusters do not wait for each other.

use super::{Moving, Part, Repeated, Rolled};
use crate::lower::native::resident::Resident;
use unigrad_kernel::{Contract, InstOp, Region, merge_dims};

/// What a kernel reads or writes of memory that the recurrence writes, for a row: in bytes of an entry.
#[derive(Clone, Copy, Debug)]
struct Access {
    moving: Moving,
    /// The first byte of row 0 in the first step, and the bytes from there on that a row has.
    first: i64,
    bytes: i64,
    by_row: i64,
}

/// Whether no row reads or writes what the recurrence writes for another one. Rows lie one behind the other at the same distance in all accesses to a piece of memory,
/// and either all steps of a row lie between its beginning and the next row's, or all rows of a step before the next step's.
pub(super) fn are_apart(steps: &[Repeated<'_>], parts: &[Part<'_>], args: &[Vec<Rolled>], rows: u32, times: usize) -> bool {
    let mut accesses = Vec::new();
    for ((step, part), rolled) in steps.iter().zip(parts).zip(args) {
        let found = match part {
            Part::Product(contract, product, epilogue) => of_product(contract, product, epilogue.as_ref(), step, rolled, &mut accesses),
            Part::Map(region) => of_region(region, 1, &step.args, rolled, &mut accesses),
        };
        if found.is_none() {
            return false;
        }
    }
    // Pieces of memory that do not touch each other.
    pieces(accesses, |a, b| a.moving.meets(&b.moving, times)).iter().all(|piece| is_apart(piece, rows, times))
}

/// Accesses in groups: those that meet, directly or by a chain of others.
fn pieces(mut rest: Vec<Access>, meet: impl Fn(&Access, &Access) -> bool) -> Vec<Vec<Access>> {
    let mut pieces = Vec::new();
    while let Some(one) = rest.pop() {
        let mut piece = vec![one];
        let mut at = 0;
        while let Some(member) = piece.get(at).copied() {
            let (meeting, others): (Vec<Access>, Vec<Access>) = rest.into_iter().partition(|other| meet(&member, other));
            rest = others;
            piece.extend(meeting);
            at += 1;
        }
        pieces.push(piece);
    }
    pieces
}

fn is_apart(piece: &[Access], rows: u32, times: usize) -> bool {
    if piece.iter().any(|access| access.by_row <= 0) {
        return false;
    }
    if rows == 1 {
        return true;
    }
    are_rows_apart(piece, rows, times) || are_steps_apart(piece, rows)
}

/// Whether all accesses have rows at the same distance, and either all steps of a row lie between its beginning and the next row's, or all rows of a step before the next step's.
fn are_rows_apart(piece: &[Access], rows: u32, times: usize) -> bool {
    let Some(by_row) = piece.first().map(|access| access.by_row) else { return false };
    if piece.iter().any(|access| access.by_row != by_row) {
        return false;
    }
    let way = |access: &Access| access.moving.distance.saturating_mul(times as i64 - 1);
    let low = piece.iter().map(|access| access.first.saturating_add(way(access).min(0))).min().unwrap_or(0);
    let within_rows = piece.iter().all(|access| access.first + way(access).max(0) + access.bytes - low <= by_row);
    let of_step = by_row.saturating_mul(rows.into());
    let within_steps = piece.iter().all(|access| {
        access.moving.distance % of_step == 0 && (access.first - low).rem_euclid(of_step).saturating_add(access.bytes) <= by_row
    });
    within_rows || within_steps
}

/// Whether each step has memory of the same size, one behind the other, in which accesses lie in the same way: those that meet there have rows at the same distance, and a row of
/// each of them lies before the next row of any.
fn are_steps_apart(piece: &[Access], rows: u32) -> bool {
    let Some(distance) = piece.first().map(|access| access.moving.distance).filter(|distance| *distance != 0) else { return false };
    let step = distance.saturating_abs();
    let len = |access: &Access| access.by_row.saturating_mul(i64::from(rows) - 1).saturating_add(access.bytes);
    if piece
        .iter()
        .any(|access| access.moving.distance != distance || access.by_row.saturating_mul(rows.into()) > step || len(access) > step)
    {
        return false;
    }
    // From one access's beginning to another's, in the memory of a step that begins with the first.
    let from = |a: &Access, b: &Access| (b.first - a.first).rem_euclid(step);
    let is_apart = |group: &Vec<Access>| {
        let is_first = |low: &Access| {
            group.iter().all(|access| access.by_row == low.by_row && from(low, access).saturating_add(access.bytes) <= low.by_row)
        };
        group.iter().any(is_first)
    };
    pieces(piece.to_vec(), |a, b| from(a, b) < len(a) || from(b, a) < len(b)).iter().all(is_apart)
}

fn of_product(
    contract: &Contract,
    product: &Resident,
    epilogue: Option<&Region>,
    step: &Repeated<'_>,
    rolled: &[Rolled],
    accesses: &mut Vec<Access>,
) -> Option<()> {
    let (a, a_size) = (step.args.first()?, contract.a.dtype.size() as i64);
    if rolled.first()?.is_shared {
        let first = a.first as i64 + contract.a_offset * a_size;
        accesses.push(Access { moving: *a, first, bytes: i64::from(product.k) * a_size, by_row: product.by_row * a_size });
    }
    if let Some(region) = epilogue {
        let batch = contract.batch.len();
        // Rows are one dimension, or none of more than one.
        let row_axis = contract.m.iter().position(|dim| dim.size > 1).unwrap_or(0);
        if contract.m.iter().filter(|dim| dim.size > 1).count() > 1 {
            return None;
        }
        return of_region(region, 1 + batch + row_axis, step.args.get(2..)?, rolled.get(2..)?, accesses);
    }
    let (c, c_size) = (step.args.get(2)?, contract.c.dtype.size() as i64);
    let width: i64 = contract.n.iter().map(|dim| (dim.size as i64 - 1) * dim.c).sum::<i64>() + 1;
    let by_row = merge_dims(contract.m.iter().map(|dim| (dim.size, dim.c))).last().map_or(0, |dim| dim.1);
    if contract.n.iter().any(|dim| dim.c < 0) {
        return None;
    }
    accesses.push(Access { moving: *c, first: c.first as i64, bytes: width * c_size, by_row: by_row * c_size });
    Some(())
}

/// The accesses of a map of all steps, whose rows are one of its axes.
fn of_region(region: &Region, row_axis: usize, args: &[Moving], rolled: &[Rolled], accesses: &mut Vec<Access>) -> Option<()> {
    for inst in &region.insts {
        let (InstOp::Load { arg, index, .. } | InstOp::Store { arg, index, .. }) = &inst.op else { continue };
        let (moving, rolled) = (args.get(*arg as usize)?, rolled.get(*arg as usize)?);
        if !rolled.is_shared {
            continue;
        }
        let size = rolled.arg.dtype.size() as i64;
        let (mut low, mut high) = (0, 0);
        for (axis, (extent, stride)) in region.axes.iter().zip(&index.strides).enumerate().skip(1) {
            if axis != row_axis {
                let way = stride * (*extent as i64 - 1);
                low += way.min(0);
                high += way.max(0);
            }
        }
        let first = moving.first as i64 + (index.offset - rolled.first + low) * size;
        accesses.push(Access { moving: *moving, first, bytes: (high - low + 1) * size, by_row: index.strides.get(row_axis)? * size });
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use unigrad_kernel::testing::Rng;

    /// Rows of accesses that the rule must tell apart, or must not.
    #[test]
    fn rows_are_told_apart() {
        let access = |first: i64, distance: i64, bytes: i64, by_row: i64| Access {
            moving: Moving { entry: 0, first: 0, distance, len: usize::MAX },
            first,
            bytes,
            by_row,
        };
        let (rows, times) = (4, 10);
        // Steps one behind the other: of 4 rows of 64 bytes.
        assert!(is_apart(&[access(0, 256, 64, 64), access(256, 256, 64, 64)], rows, times));
        assert!(is_apart(&[access(2560, -256, 64, 64), access(2304, -256, 32, 64)], rows, times));
        assert!(!is_apart(&[access(0, 256, 65, 64)], rows, times), "a row that reaches into the next one");
        assert!(!is_apart(&[access(0, 256, 64, 64), access(64, 256, 64, 64)], rows, times), "the row behind");
        assert!(!is_apart(&[access(0, 64, 64, 64)], rows, times), "a step that begins at the next row");
        assert!(!is_apart(&[access(0, 256, 64, 64), access(0, 256, 64, 128)], rows, times), "rows at two distances");
        // The steps of a row together.
        assert!(is_apart(&[access(0, 64, 64, 704), access(64, 64, 64, 704)], rows, times));
        assert!(!is_apart(&[access(0, 64, 64, 640), access(64, 64, 64, 640)], rows, times), "the last step is the next row's first one");
        // Memory of a step in which each access has its part: rows of 64 bytes, and of 128.
        assert!(is_apart(
            &[access(0, 1024, 64, 64), access(256, 1024, 128, 128), access(1280, 1024, 32, 128), access(768, 1024, 64, 64)],
            rows,
            times
        ));
        assert!(is_apart(&[access(10240, -1024, 64, 64), access(9216 - 512, -1024, 128, 128)], rows, times));
        assert!(
            is_apart(&[access(900, 1024, 24, 32), access(1024 + 896, 1024, 4, 32)], rows, times),
            "one begins within a row of the other"
        );
        assert!(
            !is_apart(&[access(0, 1024, 64, 64), access(192, 1024, 128, 128)], rows, times),
            "the last row of one is the other's first"
        );
        assert!(!is_apart(&[access(0, 1024, 64, 64), access(64, 1024, 64, 64), access(512, 1024, 64, 128)], rows, times), "the row behind");
        assert!(!is_apart(&[access(0, 1024, 64, 64), access(256, 1000, 128, 128)], rows, times), "steps of two sizes");
        assert!(!is_apart(&[access(0, 500, 64, 64), access(256, 500, 128, 128)], rows, times), "more rows than a step has room for");
        assert!(!is_apart(&[access(0, 1024, 64, 64), access(900, 1024, 64, 128)], rows, times), "it reaches the next step's first row");
        // No step of its own: memory between kernels.
        assert!(is_apart(&[access(0, 0, 64, 64), access(16, 0, 16, 64)], rows, times));
        assert!(!is_apart(&[access(0, 0, 64, 0)], rows, times), "all rows at one place");
    }

    /// Whether bytes of one row are another row's in any steps.
    fn rows_meet(piece: &[Access], rows: u32, times: usize) -> bool {
        let bytes = |row: i64| {
            let of = |(access, step): (&Access, i64)| {
                let begin = access.first + step * access.moving.distance + row * access.by_row;
                begin..begin + access.bytes
            };
            let steps = 0..times as i64;
            piece.iter().flat_map(|access| steps.clone().map(move |step| (access, step))).flat_map(of).collect::<HashSet<i64>>()
        };
        let all: Vec<_> = (0..i64::from(rows)).map(bytes).collect();
        (0..all.len()).any(|a| (0..a).any(|b| !all[a].is_disjoint(&all[b])))
    }

    #[test]
    fn what_is_called_apart_has_no_byte_in_common() {
        let (mut n_apart, mut n_steps) = (0, 0);
        for seed in 0..40_000 {
            let mut random = Rng(seed);
            let (rows, times) = (2 + random.below(3) as u32, 2 + random.below(4));
            let by_rows = [4 + random.below(3) as i64 * 4, 4 + random.below(3) as i64 * 4];
            let distance = (random.below(9) as i64 - 4) * [by_rows[0] * i64::from(rows), 16, 1][random.below(3)];
            let of_one = |random: &mut Rng| {
                let by_row = by_rows[random.below(2)];
                let distance = if random.below(12) == 0 { 0 } else { distance };
                Access {
                    moving: Moving { entry: 0, first: 0, distance, len: usize::MAX },
                    first: random.below(200) as i64,
                    bytes: 1 + random.below(by_row as usize) as i64,
                    by_row,
                }
            };
            let piece: Vec<Access> = (0..1 + random.below(4)).map(|_| of_one(&mut random)).collect();
            if is_apart(&piece, rows, times) {
                assert!(!rows_meet(&piece, rows, times), "seed {seed}: {rows} rows, {times} steps, {piece:?}");
                n_apart += 1;
                n_steps += usize::from(!are_rows_apart(&piece, rows, times));
            }
        }
        // The rules are asked often enough for this to be a test.
        assert!(n_apart > 2000 && n_steps > 500, "{n_apart} {n_steps}");
    }
}
