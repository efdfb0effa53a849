//! Steps of a recurrent layer as the planner makes them, in several layouts.

use super::*;
use unigrad_ir::{collect, offline_targets, render, validate};
use unigrad_kernel::{Inst, KDim, MDim, NDim};
use unigrad_scalar::{BinaryOp, UnaryOp};

/// Where states of all steps lie: one step behind the other, or each row's steps together.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Order {
    StepsFirst,
    RowsFirst,
}

struct Layer {
    order: Order,
    dtype: DType,
    tf32: bool,
    rows: usize,
    hidden: usize,
    times: usize,
    is_backward: bool,
}

const GATES: usize = 2;

impl Layer {
    /// Elements from row to row, and from step to step, of states so many elements wide.
    fn strides(&self, width: usize) -> (i64, i64) {
        let (row, step) = match self.order {
            Order::StepsFirst => (width, self.rows * width),
            Order::RowsFirst => (width * (self.times + 1), width),
        };
        (row as i64, step as i64)
    }

    fn len(&self, width: usize) -> usize {
        let (row, _) = self.strides(width);
        row as usize * (self.rows - 1) + width
    }

    /// An argument: entry, elements of the first step's place, and how its steps follow each other.
    fn moving(&self, entry: usize, dtype: DType, width: usize, place: usize) -> Moving {
        let (size, (_, step)) = (dtype.size() as i64, self.strides(width));
        let way = step * size;
        let place = if self.is_backward { self.times - place } else { place };
        let distance = if self.is_backward { -way } else { way };
        Moving { entry, first: (way * place as i64) as usize, distance, len: self.len(width) * dtype.size() }
    }

    /// `gates = state * matrix + input`, then `state = tanh(gates[0]) * gates[1]`: arguments are the states (entry 0), the matrix (1), inputs (2), gates (3).
    fn kernels(&self) -> (Kernel, Kernel) {
        let (h, n, dtype) = (self.hidden, GATES * self.hidden, self.dtype);
        let arg = |dtype, len, write| Arg { dtype, len, write };
        let index = |strides: &[i64], offset| Index { offset, strides: strides.iter().copied().collect(), dynamic: SmallVec::new() };
        let load =
            |arg, strides: &[i64], offset| Inst { op: InstOp::Load { arg, index: index(strides, offset), mask: None }, dtype: DType::F32 };
        let store = |arg, strides: &[i64], value| Inst {
            op: InstOp::Store { arg, index: index(strides, 0), value: unigrad_kernel::Value(value) },
            dtype: DType::F32,
        };
        let value = unigrad_kernel::Value;
        let ((state_row, _), (gate_row, _)) = (self.strides(h), self.strides(n));
        let epilogue = Region {
            name: "add".to_owned(),
            axes: smallvec![self.rows, n],
            n_parallel: 2,
            args: vec![arg(DType::F32, self.len(n), false), arg(DType::F32, self.len(n), true)],
            scalars: Vec::new(),
            insts: vec![
                load(0, &[gate_row, 1], 0),
                Inst { op: InstOp::Acc, dtype: DType::F32 },
                Inst { op: InstOp::Binary(BinaryOp::Add, value(0), value(1)), dtype: DType::F32 },
                store(1, &[gate_row, 1], 2),
            ],
        };
        let contract = Contract {
            batch: SmallVec::new(),
            m: smallvec![MDim { size: self.rows, a: state_row, c: n as i64 }],
            n: smallvec![NDim { size: n, b: h as i64, c: 1 }],
            k: smallvec![KDim { size: h, a: 1, b: 1 }],
            a_offset: 0,
            b_offset: 0,
            a: arg(dtype, self.len(h), false),
            b: arg(dtype, h * n, false),
            c: arg(DType::F32, self.rows * n, true),
            tf32: self.tf32,
            epilogue: Some(Box::new(epilogue)),
            prologues: [None, None],
        };
        let map = Region {
            name: "cell".to_owned(),
            axes: smallvec![self.rows, h],
            n_parallel: 2,
            args: vec![arg(DType::F32, self.len(n), false), arg(dtype, self.len(h), true)],
            scalars: Vec::new(),
            insts: vec![
                load(0, &[gate_row, 1], 0),
                load(0, &[gate_row, 1], h as i64),
                Inst { op: InstOp::Unary(UnaryOp::Tanh, value(0)), dtype: DType::F32 },
                Inst { op: InstOp::Binary(BinaryOp::Mul, value(2), value(1)), dtype: DType::F32 },
                store(1, &[state_row, 1], 3),
            ],
        };
        (Kernel::Contract(contract), Kernel::Region(map))
    }

    fn recurrence(&self, target: &Target) -> Option<Recurrence> {
        let (product, cell) = self.kernels();
        self.recurrence_of([&product, &cell], target)
    }

    fn recurrence_of(&self, [product, cell]: [&Kernel; 2], target: &Target) -> Option<Recurrence> {
        let n = GATES * self.hidden;
        let matrix = Moving { entry: 1, first: 0, distance: 0, len: usize::MAX };
        let (inputs, gates) = (self.moving(2, DType::F32, n, 0), self.moving(3, DType::F32, n, 0));
        let steps = [
            Repeated { kernel: product, args: vec![self.moving(0, self.dtype, self.hidden, 0), matrix, inputs, gates] },
            Repeated { kernel: cell, args: vec![gates, self.moving(0, self.dtype, self.hidden, 1)] },
        ];
        recurrence(&steps, self.times, target)
    }
}

fn hopper() -> Target {
    let all = offline_targets();
    let own = all.into_iter().find(|target| target.arch == "sm_90").map(|target| Target { own_words: true, ..target });
    own.unwrap()
}

const FACTORS: [(DType, bool); 4] = [(DType::F32, true), (DType::F32, false), (DType::F16, false), (DType::BF16, false)];

#[test]
fn steps_are_one_launch_of_clusters() {
    let target = hopper();
    for (dtype, tf32) in FACTORS {
        for order in [Order::StepsFirst, Order::RowsFirst] {
            for is_backward in [false, true] {
                for rows in [1, 15, 16, 17, 32, 33, most_rows(&target) as usize] {
                    let layer = Layer { order, dtype, tf32, rows, hidden: 128, times: 20, is_backward };
                    let case = format!("{dtype} {tf32} {order:?} {is_backward} {rows}");
                    let found = layer.recurrence(&target).unwrap_or_else(|| panic!("{case}"));
                    assert_eq!(found.launch.program.cluster, Some(8));
                    let tiles = rows.div_ceil(16);
                    assert_eq!(found.launch.grid, [8 * tiles as u32, 1, 1], "{case}");
                    assert_eq!((found.writes.as_slice(), found.reads.as_slice()), (&[3, 0][..], &[1, 2][..]), "{case}");
                    validate(&found.launch.program, &target).unwrap_or_else(|faults| panic!("{case}: {faults:?}"));
                    let source = render(&found.launch.program, &target).unwrap_or_else(|error| panic!("{case}: {error}"));
                    assert!(source.text.contains("__cluster_dims__(8, 1, 1)"));
                    if let Some(folder) = std::env::var_os("UNIGRAD_COLLECT_KERNELS") {
                        collect(&source, &target, folder.as_ref()).unwrap();
                    }
                }
            }
        }
    }
}

/// What all steps touch is what the launch is given, and nothing outside of it.
#[test]
fn memory_of_all_steps_is_given() {
    for is_backward in [false, true] {
        let layer = Layer { order: Order::StepsFirst, dtype: DType::F32, tf32: true, rows: 32, hidden: 64, times: 10, is_backward };
        let found = layer.recurrence(&hopper()).unwrap();
        let bytes = |width: usize| 4 * width * 32;
        let states = if is_backward { 1 } else { 0 };
        let of = |entry: usize, first: usize, len: usize| Moving { entry, first, distance: 0, len };
        assert_eq!(found.args[0], of(0, bytes(64) * states, 10 * bytes(64)));
        assert_eq!(found.args[1], of(1, 0, usize::MAX));
        assert_eq!(found.args[5], of(0, bytes(64) * (1 - states), 10 * bytes(64)));
    }
}

/// A region has no axis for one row; the recurrence is the same.
#[test]
fn one_row_needs_no_axis() {
    let layer = Layer { order: Order::StepsFirst, dtype: DType::F32, tf32: true, rows: 1, hidden: 128, times: 10, is_backward: false };
    let target = hopper();
    let text = |has_row: bool| {
        let (product, mut cell) = layer.kernels();
        let Kernel::Region(map) = &mut cell else { panic!("a map") };
        // Its column takes part in what it stores.
        map.insts.insert(3, Inst { op: InstOp::AxisIndex(if has_row { 1 } else { 0 }), dtype: DType::I64 });
        map.insts.insert(4, Inst { op: InstOp::Cast(unigrad_kernel::Value(3)), dtype: DType::F32 });
        let [.., product_of_gates, store] = map.insts.as_mut_slice() else { panic!("instructions") };
        product_of_gates.op = InstOp::Binary(BinaryOp::Mul, unigrad_kernel::Value(2), unigrad_kernel::Value(4));
        if let InstOp::Store { value, .. } = &mut store.op {
            *value = unigrad_kernel::Value(5);
        }
        if !has_row {
            map.axes.remove(0);
            map.n_parallel = 1;
            map.insts.iter_mut().filter_map(|inst| inst.op.access_mut()).for_each(|(_, index)| _ = index.strides.remove(0));
        }
        let found = layer.recurrence_of([&product, &cell], &target).unwrap();
        validate(&found.launch.program, &target).unwrap_or_else(|faults| panic!("{faults:?}"));
        render(&found.launch.program, &target).unwrap().text
    };
    assert_eq!(text(false), text(true));
}

/// What 32 bits do not count is launched step by step.
#[test]
fn large_maps_are_left() {
    let layer = |rows| Layer { order: Order::StepsFirst, dtype: DType::F32, tf32: true, rows, hidden: 128, times: 10, is_backward: false };
    let target = hopper();
    for (rows, wide, is_taken) in
        [(2, MOST_POINTS / 16, true), (2, MOST_POINTS / 16 + 128, false), (17, MOST_POINTS / 16, true), (2, 1 << 28, false)]
    {
        let layer = layer(rows);
        let (product, mut cell) = layer.kernels();
        let Kernel::Region(map) = &mut cell else { panic!("a map") };
        map.axes.push(wide / 128);
        map.axes[1] = 128;
        map.n_parallel = 3;
        map.insts.iter_mut().filter_map(|inst| inst.op.access_mut()).for_each(|(_, index)| index.strides.push(0));
        assert_eq!(layer.recurrence_of([&product, &cell], &target).is_some(), is_taken, "{rows} {wide}");
    }
    // More of a matrix than all registers are.
    let factors = [1 << 16, 1 << 31, 1 << 12];
    for k in factors {
        assert!(Resident::new(Factors::Tf32, [1, 1 << 12, k], [0, 0, 0], [0, 1, 1], 8).is_none(), "{k}");
    }
}

#[test]
fn what_is_no_recurrence_is_left() {
    let layer =
        |rows, hidden| Layer { order: Order::StepsFirst, dtype: DType::F32, tf32: true, rows, hidden, times: 10, is_backward: false };
    let target = hopper();
    assert!(layer(32, 128).recurrence(&target).is_some());
    assert!(layer(most_rows(&target) as usize + 1, 128).recurrence(&target).is_none(), "many rows");
    assert!(layer(32, 1024).recurrence(&target).is_none(), "a matrix that does not fit");
    assert!(layer(32, 129).recurrence(&target).is_none(), "rows that begin within 16 bytes");
    let older = Target { arch: "sm_80".to_owned(), ..target.clone() };
    assert!(layer(32, 128).recurrence(&older).is_none(), "no clusters");
    // The matrix is what the steps write: it does not stay the same.
    let (product, cell) = layer(32, 128).kernels();
    let layer = layer(32, 128);
    let states = |place| layer.moving(0, DType::F32, 128, place);
    let gates = layer.moving(3, DType::F32, GATES * 128, 0);
    let matrix = Moving { entry: 0, first: 0, distance: 0, len: usize::MAX };
    let steps = [
        Repeated { kernel: &product, args: vec![states(0), matrix, gates, gates] },
        Repeated { kernel: &cell, args: vec![gates, states(1)] },
    ];
    assert!(recurrence(&steps, 10, &target).is_none());
}
