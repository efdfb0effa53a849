//! What schedules choose: the shapes that must stay fast.

use super::directed::Make;
use crate::lower::lower;
use crate::lower::region::schedule::{GroupedSchedule, Keepable, Kept, MapSchedule, RowSchedule, Tiling};
use crate::lower::region::simplify::simplify;
use unigrad_ir::{Dialect, Target};
use unigrad_kernel::{Grouped, Kernel, Region};
use unigrad_scalar::{BinaryOp, DType, ReduceOp};

fn target() -> Target {
    Target { compute_units: 132, ..Target::interpreter() }
}

fn copy(dtype: DType, axes: &[usize], load: &[i64], store: &[i64]) -> Region {
    let mut m = Make::new(axes, axes.len());
    let x = m.load(dtype, load);
    m.store(x, store);
    simplify(&m.0)
}

/// `x - max(x)`, over the last axis or the first.
fn rows(dtype: DType, axes: [usize; 2], strides: &[i64]) -> Region {
    let mut m = Make::new(&axes, 1);
    let x = m.load(dtype, strides);
    let max = m.reduce(ReduceOp::Max, x);
    let y = m.binary(BinaryOp::Sub, x, max);
    m.store(y, strides);
    simplify(&m.0)
}

#[test]
fn maps_move_16_bytes_where_alignment_allows() {
    let width = |region: &Region| MapSchedule::new(region, &target()).width;
    let n = 1 << 20;
    assert_eq!(width(&copy(DType::F32, &[n], &[1], &[1])), 4);
    assert_eq!(width(&copy(DType::F32, &[n + 3], &[1], &[1])), 4, "the tail is done otherwise");
    assert_eq!(width(&copy(DType::BF16, &[n], &[1], &[1])), 8);
    assert_eq!(width(&copy(DType::U8, &[n], &[1], &[1])), 8);
    assert_eq!(width(&copy(DType::F64, &[n], &[1], &[1])), 2);
    assert_eq!(width(&copy(DType::F32, &[64, 33], &[40, 1], &[33, 1])), 1);
    assert_eq!(width(&copy(DType::F32, &[64, 34], &[40, 1], &[34, 1])), 2);
    assert_eq!(width(&copy(DType::F32, &[64], &[3], &[2])), 1);
}

#[test]
fn transposed_copies_go_by_squares_and_others_do_not() {
    let tiling = |region: &Region| Tiling::new(region, &target());
    assert_eq!(tiling(&copy(DType::F32, &[512, 256], &[1, 512], &[256, 1])), Some(Tiling { from: 0, width: 1 }));
    assert_eq!(tiling(&copy(DType::BF16, &[512, 256], &[1, 512], &[256, 1])), Some(Tiling { from: 0, width: 2 }));
    assert_eq!(tiling(&copy(DType::F32, &[512, 4], &[1, 512], &[4, 1])), None);
    assert_eq!(tiling(&copy(DType::F32, &[8, 16, 32, 64], &[32_768, 64, 1024, 1], &[32_768, 2048, 64, 1])), None);
}

#[test]
fn rows_stay_in_registers_and_long_ones_are_split() {
    let keepable = Keepable { words: 1, ..Keepable::default() };
    let schedule = |region: &Region| RowSchedule::new(region, &target(), 2, keepable, true);
    let s = schedule(&rows(DType::F32, [65_536, 4096], &[4096, 1]));
    assert_eq!((s.arrangement.threads, s.arrangement.per_row, s.width, s.kept, s.splits), (256, 256, 4, Kept::InRegisters(4), 1));
    let s = schedule(&rows(DType::BF16, [65_536, 4096], &[4096, 1]));
    assert_eq!((s.arrangement.threads, s.width, s.kept, s.splits), (128, 8, Kept::InRegisters(4), 1));
    let s = schedule(&rows(DType::F32, [65_536, 64], &[64, 1]));
    assert_eq!((s.arrangement.per_row, s.arrangement.rows(), s.kept), (4, 32, Kept::InRegisters(4)));
    let s = schedule(&rows(DType::F32, [4, 1 << 22], &[1 << 22, 1]));
    assert!(s.splits > 16 && s.kept == Kept::Nothing && s.splits * s.split_len >= (1 << 22) / s.width);
    let s = schedule(&rows(DType::F32, [4096, 65_536], &[1, 4096]));
    assert!(s.arrangement.columns && s.width == 4 && s.splits > 4);
}

#[test]
fn a_group_moves_16_bytes_of_each_buffer() {
    let region = copy(DType::F32, &[1 << 20], &[1], &[1]);
    let s = GroupedSchedule::new(&region, &target());
    assert_eq!((s.threads, s.width, s.chunk()), (128, 4, 512));
}

#[test]
fn long_instances_go_alone_where_tables_take_branches() {
    let region = copy(DType::F32, &[1 << 20], &[1], &[1]);
    let kernel = Kernel::Grouped(Grouped { region, lens: vec![1 << 20, 100, 1_000_000, 200] });
    let launches = |target: &Target| lower(&kernel, target).unwrap().steps.len();
    assert_eq!(launches(&target()), 1);
    assert_eq!(launches(&Target { dialect: Dialect::Wgsl, ..target() }), 3);
    assert_eq!(launches(&Target { tables: false, ..target() }), 4);
}
