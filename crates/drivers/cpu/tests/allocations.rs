//! A prepared sequence allocates nothing per launch: a run of many launches asks the system for memory as often as a run of one.

use unigrad_device::{Buffer, Device, Launch};
use unigrad_kernel::{
    Arg, Contract, KDim, Kernel, MDim, NDim,
    testing::{
        Rng,
        allocations::{self, Counting},
        contract::case,
        regions,
    },
};
use unigrad_scalar::DType;

#[global_allocator]
static COUNTING: Counting = Counting;

/// A kernel, with memory for its arguments.
struct Case {
    kernel: Kernel,
    buffers: Vec<Buffer>,
    scalars: Vec<u64>,
}

impl Case {
    fn new(device: Device, kernel: Kernel, scalars: Vec<u64>) -> Case {
        let buffer = |arg: &Arg| device.allocate_with(&vec![0; arg.len * arg.dtype.size()]).unwrap();
        Case { buffers: kernel.args().iter().map(buffer).collect(), kernel, scalars }
    }
}

fn product(m: usize, n: usize, k: usize) -> Kernel {
    let arg = |len, write| Arg { dtype: DType::F32, len, write };
    Kernel::Contract(Contract {
        batch: [].into_iter().collect(),
        m: [MDim { size: m, a: k as i64, c: n as i64 }].into_iter().collect(),
        n: [NDim { size: n, b: 1, c: 1 }].into_iter().collect(),
        k: [KDim { size: k, a: 1, b: n as i64 }].into_iter().collect(),
        a_offset: 0,
        b_offset: 0,
        a: arg(m * k, false),
        b: arg(k * n, false),
        c: arg(m * n, true),
        tf32: false,
        epilogue: None,
        prologues: [None, None],
    })
}

#[test]
fn a_launch_of_a_sequence_allocates_nothing() {
    unigrad_device::register(unigrad_cpu::CpuDriver);
    let device = Device::open("cpu").unwrap();
    let mut cases: Vec<Case> = (0..200)
        .map(|seed| {
            let (region, _, scalars) = regions::region(seed);
            Case::new(device, Kernel::Region(region), scalars)
        })
        .collect();
    cases.extend([(64, 64, 64), (7, 300, 129), (1, 512, 256), (33, 1, 500)].map(|(m, n, k)| Case::new(device, product(m, n, k), vec![])));
    let mut rng = Rng(5);
    for _ in 0..20 {
        let contract = case(&mut rng, [&[2], &[5, 3], &[4], &[6, 2]], [DType::F32; 3]).contract;
        cases.push(Case::new(device, Kernel::Contract(contract), vec![]));
    }
    let mut n_counted = 0;
    for case in &cases {
        let Ok(program) = device.compile(&case.kernel) else { continue };
        let launch = || Launch::whole(program.clone(), case.buffers.len(), case.scalars.len());
        let table: Vec<_> = case.buffers.iter().map(Buffer::as_slice).collect();
        let allocations = |n: usize| {
            let sequence = device.prepare((0..n).map(|_| launch()).collect(), None).unwrap();
            let run = || device.run(&sequence, 0..n, &table, &case.scalars);
            run().ok()?;
            // Threads of the pool begin their scratch memory when they get work first: the least of some runs is the steady state.
            let count = || {
                let before = allocations::count();
                run().ok()?;
                Some(allocations::count() - before)
            };
            (0..5).map(|_| count()).min()?
        };
        // A kernel whose index is out of range ends at its first launch.
        let (Some(one), Some(many)) = (allocations(1), allocations(41)) else { continue };
        n_counted += 1;
        assert!(one <= 8, "{one} allocations in a run of one launch of {:?}", case.kernel);
        assert_eq!(many, one, "{} allocations in 40 launches of {:?}", many - one, case.kernel);
    }
    println!("{n_counted} kernels");
    assert!(n_counted > 100, "{n_counted} kernels");
}
