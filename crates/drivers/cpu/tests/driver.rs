//! The driver through the device layer: memory, checks of launches, errors.

#[path = "../../../unigrad-gpu/tests/support/crossed.rs"]
mod crossed;
#[path = "../../../unigrad-gpu/tests/support/grouped.rs"]
mod grouped;
#[path = "../../../unigrad-gpu/tests/support/summed.rs"]
mod summed;

use unigrad_cpu::CpuDriver;
use unigrad_device::{Device, Driver, Error, register};
use unigrad_kernel::{Arg, Grouped, Index, Inst, InstOp, Kernel, Region, Scan, Scatter, ScatterBase, TopK, Value};
use unigrad_scalar::{BinaryOp, DType, Literal, ScanOp, ScatterMode};

fn cpu() -> Device {
    register(CpuDriver);
    Device::open("cpu").unwrap()
}

fn cumsum(len: usize) -> Kernel {
    Kernel::Scan(Scan { op: ScanOp::Sum, dtype: DType::F32, outer: 1, len, inner: 1, reverse: false })
}

#[test]
fn says_what_it_is() {
    let info = cpu().info();
    assert_eq!(info.device(), "cpu:0");
    assert!(!info.name.is_empty() && info.compute_units > 0 && !info.software);
    assert!(info.memory_free <= info.memory_total);
    assert!(matches!(Device::open("cpu:1"), Err(Error::NotAvailable { .. })));
    assert_eq!(Device::best().unwrap(), cpu());
}

#[test]
fn memory_keeps_bytes() {
    let device = cpu();
    for bytes in [0, 1, 64, 1000, 1 << 16, (8 << 20) + 5] {
        let data: Vec<u8> = (0..bytes).map(|i| (i * 31 % 251) as u8).collect();
        let buffer = device.allocate_with(&data).unwrap();
        assert_eq!(buffer.to_vec().unwrap(), data);
        let copy = device.allocate(bytes).unwrap();
        copy.copy_from(0, &buffer, 0, bytes).unwrap();
        assert_eq!(copy.to_vec().unwrap(), data);
    }
}

#[test]
fn what_the_machine_lacks_is_refused() {
    let device = cpu();
    let kept = device.allocate_with(&[1; 100]).unwrap();
    for bytes in [1 << 46, usize::MAX / 4, usize::MAX] {
        let error = device.allocate(bytes).unwrap_err();
        assert!(matches!(error, Error::OutOfMemory { asked, .. } if asked == bytes as u64), "{error}");
    }
    // Each fits on its own; together they do not, though none has been touched.
    let total = device.info().memory_total as usize;
    if total > 0 {
        let mut blocks = Vec::new();
        let refused = (0..8).any(|_| device.allocate(total / 5).map(|block| blocks.push(block)).is_err());
        assert!(refused);
    }
    assert_eq!(kept.to_vec().unwrap(), [1; 100]);
}

#[test]
fn launches_are_checked() {
    let device = cpu();
    let program = device.compile(&cumsum(4)).unwrap();
    let x = device.allocate_with(&[0; 16]).unwrap();
    let out = device.allocate(16).unwrap();
    device.launch(&*program, &[x.as_slice(), out.as_slice()], &[]).unwrap();
    let short = out.slice(0, 15).unwrap();
    for (args, scalars) in
        [(vec![x.as_slice()], vec![]), (vec![x.as_slice(), out.as_slice()], vec![1]), (vec![x.as_slice(), short], vec![])]
    {
        let error = device.launch(&*program, &args, &scalars).unwrap_err();
        assert!(matches!(&error, Error::Launch { kernel, .. } if kernel == "scan"), "{error}");
    }
    let empty = device.compile(&cumsum(0)).unwrap();
    let nothing = device.allocate(0).unwrap();
    device.launch(&*empty, &[nothing.as_slice(), nothing.as_slice()], &[]).unwrap();
}

#[test]
fn a_bad_index_names_itself_and_the_device_works_on() {
    let device = cpu();
    let arg = |dtype, len| Arg { dtype, len, write: false };
    let scatter = Kernel::Scatter(Scatter {
        mode: ScatterMode::Add,
        base: ScatterBase::Fill(Literal::zero(DType::F32)),
        axis: 0,
        shape: [2].as_slice().into(),
        index_strides: [1].as_slice().into(),
        index_offset: 0,
        src_strides: [1].as_slice().into(),
        src_offset: 0,
        out_shape: [3].as_slice().into(),
        index: arg(DType::I64, 2),
        src: arg(DType::F32, 2),
        dtype: DType::F32,
    });
    let program = device.compile(&scatter).unwrap();
    let src = device.allocate_with(&[1.5f32, 2.0].map(f32::to_le_bytes).concat()).unwrap();
    let out = device.allocate(12).unwrap();
    let run = |index: [i64; 2]| {
        let index = device.allocate_with(&index.map(i64::to_le_bytes).concat()).unwrap();
        device.launch(&*program, &[index.as_slice(), src.as_slice(), out.as_slice()], &[])
    };
    assert_eq!(run([1, 3]), Err(Error::IndexOutOfRange { index: 3, size: 3, kernel: "scatter".to_owned() }));
    run([1, -2]).unwrap();
    assert_eq!(out.to_vec().unwrap(), [0.0f32, 3.5, 0.0].map(f32::to_le_bytes).concat());
}

#[test]
fn a_kernel_that_cannot_run_is_refused_when_compiled() {
    let best = Kernel::TopK(TopK { dtype: DType::F32, outer: 1, len: 2, inner: 1, k: 3, largest: true });
    let error = cpu().compile(&best).unwrap_err();
    assert!(matches!(&error, Error::Compile { kernel, .. } if kernel == "topk"), "{error}");
}

#[test]
fn a_grouped_map_updates_many_tensors_in_one_launch() {
    let device = cpu();
    let at = || Index { offset: 0, strides: [1].as_slice().into(), dynamic: Default::default() };
    let inst = |op| Inst { op, dtype: DType::F32 };
    let arg = Arg { dtype: DType::F32, len: 3, write: true };
    let region = Region {
        name: "scale".to_owned(),
        axes: [3].as_slice().into(),
        n_parallel: 1,
        args: vec![arg],
        scalars: vec![DType::F32],
        insts: vec![
            inst(InstOp::Load { arg: 0, index: at(), mask: None }),
            inst(InstOp::Scalar(0)),
            inst(InstOp::Binary(BinaryOp::Mul, Value(0), Value(1))),
            inst(InstOp::Store { arg: 0, index: at(), value: Value(2) }),
        ],
    };
    let program = device.compile(&Kernel::Grouped(Grouped { region, lens: vec![3, 0, 1000] })).unwrap();
    let bytes = |n: usize, x: f32| x.to_le_bytes().repeat(n);
    let [a, b, c] = [3, 0, 1000].map(|n| device.allocate_with(&bytes(n, 1.5)).unwrap());
    let scalars = [2.0f32, 9.0, -4.0].map(|x| Literal::float(DType::F32, x.into()).to_raw());
    device.launch(&*program, &[a.as_slice(), b.as_slice(), c.as_slice()], &scalars).unwrap();
    assert_eq!((a.to_vec().unwrap(), c.to_vec().unwrap()), (bytes(3, 3.0), bytes(1000, -6.0)));
}

#[test]
fn products_with_sums_of_an_operand() {
    summed::products_and_sums(&*CpuDriver.open(0).unwrap());
}

#[test]
fn rows_and_columns_are_what_the_plain_evaluator_gives() {
    crossed::rows_and_columns(&*CpuDriver.open(0).unwrap(), true);
}

/// Groups, alone and side by side.
#[test]
fn groups_are_what_the_plain_evaluator_gives() {
    grouped::groups(&*CpuDriver.open(0).unwrap(), true);
}
