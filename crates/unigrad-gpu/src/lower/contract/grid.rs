//! Which workgroup does what: a linear number of the workgroup, taken apart by constants.
//!
//! Always: any count of workgroups fits any target's grid; those beyond the count do nothing.

use super::super::Unsupported;
use unigrad_ir::{Builder, Target, Value};
use unigrad_scalar::BinaryOp;

/// Workgroups of a program, numbered from 0.
#[derive(Clone, Copy, Debug)]
pub(super) struct Groups {
    count: u32,
    grid: [u32; 3],
}

impl Groups {
    pub(super) fn new(count: u64, target: &Target) -> Result<Groups, Unsupported> {
        let too_many =
            || Unsupported { cause: format!("a product that takes {count} workgroups"), help: "split it along its batch".to_owned() };
        let narrow = u32::try_from(count).map_err(|_| too_many())?;
        let [x, y, z] = target.max_grid.map(u64::from);
        let grid = if count <= x {
            [count, 1, 1]
        } else if count <= x * y {
            // As even as it goes, so that few are idle.
            let rows = count.div_ceil(x);
            [count.div_ceil(rows), rows, 1]
        } else {
            let planes = count.div_ceil(x * y);
            if planes > z {
                return Err(too_many());
            }
            [x, y, planes]
        };
        Ok(Groups { count: narrow, grid: grid.map(|extent| extent as u32) })
    }

    pub(super) fn grid(&self) -> [u32; 3] {
        self.grid
    }

    /// Runs `body` with the number of the workgroup.
    pub(super) fn each(&self, b: &mut Builder, body: impl FnOnce(&mut Builder, Value)) {
        let [x, y, z] = self.grid;
        let mut id = b.group(0);
        for (axis, below) in [(1, x), (2, x.wrapping_mul(y))] {
            if self.grid[axis] > 1 {
                let group = b.group(axis as u8);
                let part = b.mul_const(group, below.into());
                id = b.add(id, part);
            }
        }
        if u64::from(x) * u64::from(y) * u64::from(z) == u64::from(self.count) {
            body(b, id);
        } else {
            let count = b.u32(self.count);
            let inside = b.lt(id, count);
            b.when(inside, |b| body(b, id));
        }
    }
}

/// A number below `inner * outer` as `(outer, inner)`.
pub(super) fn split(b: &mut Builder, id: Value, inner: u64) -> (Value, Value) {
    (b.div_const(id, inner as i64), b.rem_const(id, inner as i64))
}

/// What a workgroup's number stands for: the tile, and the part of `k` and the batch item (both as one number, and apart).
pub(super) struct Item {
    pub(super) tile: Value,
    pub(super) both: Value,
    pub(super) part: Value,
    pub(super) batch: Value,
}

/// Takes the number of a workgroup apart.
pub(super) fn item(b: &mut Builder, id: Value, tiles: u64, batch: u64, parts: u64) -> Item {
    let zero = b.u32(0);
    let (both, tile) = if batch * parts == 1 { (zero, id) } else { split(b, id, tiles) };
    let (part, batch) = if parts == 1 { (zero, both) } else { split(b, both, batch) };
    Item { tile, both, part, batch }
}

/// Row and column of the tile with number `id`: tiles that run at the same time share rows and columns, for the cache's sake.
pub(super) fn tile_of(b: &mut Builder, id: Value, tiles_m: u64, tiles_n: u64) -> (Value, Value) {
    const BAND: u64 = 8;
    if tiles_m == 1 || tiles_n == 1 {
        return split(b, id, tiles_n);
    }
    let (band, within) = split(b, id, BAND * tiles_n);
    let first = b.mul_const(band, BAND as i64);
    let height = if tiles_m.is_multiple_of(BAND) {
        b.u32(BAND as u32)
    } else {
        let (all, full) = (b.u32(tiles_m as u32), b.u32(BAND as u32));
        let left = b.sub(all, first);
        b.binary(BinaryOp::Min, left, full)
    };
    let row = b.binary(BinaryOp::Rem, within, height);
    let row = b.add(first, row);
    (row, b.binary(BinaryOp::IDiv, within, height))
}
