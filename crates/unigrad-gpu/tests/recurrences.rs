//! Launches that are one, without a driver below: they are queued as one where the device takes it, and one by one where it refuses, in every run.

use smallvec::{SmallVec, smallvec};
use std::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
};
use unigrad_device::{Abilities, At, Device, Discovery, Driver, Error, Info, Launch, OpenDevice, Slice};
use unigrad_gpu::{Backend, Bound, GpuDevice, Range};
use unigrad_ir::{Program, Target, offline_targets};
use unigrad_kernel::{Arg, Contract, Index, Inst, InstOp, KDim, Kernel, MDim, NDim, Region, Value};
use unigrad_scalar::{DType, UnaryOp};

#[derive(Default)]
struct Seen {
    /// Whether it was of clusters: of each launch that was queued, in order.
    queued: Mutex<Vec<bool>>,
    /// Launches of clusters that were refused.
    refused: AtomicU64,
    refuses: AtomicBool,
    lost: AtomicBool,
}

/// A backend that tells which launches are of clusters, and may refuse those.
struct Clusters {
    target: Target,
    next: AtomicU64,
    seen: Arc<Seen>,
}

impl Abilities for Clusters {}

impl Backend for Clusters {
    type Module = bool;

    fn info(&self) -> Info {
        Info { backend: "clusters", software: true, ..Info::default() }
    }

    fn target(&self) -> &Target {
        &self.target
    }

    fn allocate(&self, _: usize) -> Result<u64, Error> {
        Ok(self.next.fetch_add(1, Relaxed))
    }

    fn free(&self, _: u64) {}

    fn upload(&self, _: &[u8], _: Range) -> Result<(), Error> {
        Ok(())
    }

    fn download(&self, _: Range, data: &mut [u8]) -> Result<(), Error> {
        data.fill(0);
        Ok(())
    }

    fn copy(&self, _: Range, _: Range) -> Result<(), Error> {
        Ok(())
    }

    fn load(&self, program: &Program) -> Result<bool, Error> {
        Ok(program.cluster.is_some())
    }

    fn launch(&self, of_clusters: &bool, _: [u32; 3], _: &[Bound]) -> Result<(), Error> {
        let device = || "clusters:0".to_owned();
        if *of_clusters && self.seen.refuses.load(Relaxed) {
            self.seen.refused.fetch_add(1, Relaxed);
            let cause = "a cluster has no room".to_owned();
            return Err(Error::Launch { device: device(), kernel: "recurrence".to_owned(), cause });
        }
        if *of_clusters && self.seen.lost.load(Relaxed) {
            return Err(Error::DeviceLost { device: device(), cause: "a test lost it".to_owned() });
        }
        self.seen.queued.lock().unwrap().push(*of_clusters);
        Ok(())
    }

    fn synchronize(&self) -> Result<(), Error> {
        Ok(())
    }
}

struct ClustersDriver(Arc<Seen>);

impl Driver for ClustersDriver {
    fn backend(&self) -> &'static str {
        "clusters"
    }

    fn discover(&self) -> Discovery {
        Discovery { devices: vec![Info { backend: "clusters", software: true, ..Info::default() }], problem: None }
    }

    fn open(&self, _: usize) -> Result<Arc<dyn OpenDevice>, Error> {
        let target = offline_targets().into_iter().find(|target| target.arch == "sm_90").unwrap();
        let target = Target { own_words: true, ..target };
        Ok(Arc::new(GpuDevice::new(Clusters { target, next: AtomicU64::new(1), seen: Arc::clone(&self.0) })))
    }
}

const ROWS: usize = 4;
const HIDDEN: usize = 64;
const STEPS: usize = 12;

/// `sums = state * matrix`, and the next state is their tanh.
fn kernels() -> [Kernel; 2] {
    let arg = |len, write| Arg { dtype: DType::F32, len, write };
    let (state, matrix) = (ROWS * HIDDEN, HIDDEN * HIDDEN);
    let product = Contract {
        batch: SmallVec::new(),
        m: smallvec![MDim { size: ROWS, a: HIDDEN as i64, c: HIDDEN as i64 }],
        n: smallvec![NDim { size: HIDDEN, b: 1, c: 1 }],
        k: smallvec![KDim { size: HIDDEN, a: 1, b: HIDDEN as i64 }],
        a_offset: 0,
        b_offset: 0,
        a: arg(state, false),
        b: arg(matrix, false),
        c: arg(state, true),
        tf32: false,
        epilogue: None,
        prologues: [None, None],
    };
    let index = || Index { offset: 0, strides: smallvec![HIDDEN as i64, 1], dynamic: SmallVec::new() };
    let inst = |op| Inst { op, dtype: DType::F32 };
    let map = Region {
        name: "tanh".to_owned(),
        axes: smallvec![ROWS, HIDDEN],
        n_parallel: 2,
        args: vec![arg(state, false), arg(state, true)],
        scalars: Vec::new(),
        insts: vec![
            inst(InstOp::Load { arg: 0, index: index(), mask: None }),
            inst(InstOp::Unary(UnaryOp::Tanh, Value(0))),
            inst(InstOp::Store { arg: 1, index: index(), value: Value(1) }),
        ],
    };
    [Kernel::Contract(product), Kernel::Region(map)]
}

#[test]
fn what_a_device_refuses_is_launched_one_by_one() {
    let seen = Arc::new(Seen::default());
    unigrad_device::register(ClustersDriver(Arc::clone(&seen)));
    let device = Device::open("clusters:0").unwrap();
    let programs = kernels().map(|kernel| device.compile(&kernel).unwrap());
    let state = 4 * ROWS * HIDDEN;
    let memory = [(STEPS + 1) * state, 4 * HIDDEN * HIDDEN, state].map(|bytes| device.allocate(bytes).unwrap());
    let at = |entry, step| At { entry, offset: step * state, len: state };
    let launches = || {
        let of_step = |step| {
            let product = vec![at(0, step), At::whole(1), at(2, 0)];
            let map = vec![at(2, 0), at(0, step + 1)];
            [(0, product), (1, map)].map(|(which, args)| Launch { args, ..Launch::whole(programs[which].clone(), 0, 0) })
        };
        // Another launch before them and behind them.
        let other = || Launch { args: vec![At::whole(2), at(0, 0)], ..Launch::whole(programs[1].clone(), 0, 0) };
        [other()].into_iter().chain((0..STEPS).flat_map(of_step)).chain([other()]).collect::<Vec<_>>()
    };
    let table: Vec<Slice<'_>> = memory.iter().map(|buffer| buffer.as_slice()).collect();
    let n = 2 * STEPS + 2;
    let run = |sequence: &_| {
        let result = device.run(sequence, 0..n, &table, &[]);
        (result.map_err(|stopped| stopped.at), std::mem::take(&mut *seen.queued.lock().unwrap()))
    };
    let one_by_one = vec![false; n];
    let taken = device.prepare(launches(), None).unwrap();
    assert_eq!(run(&taken), (Ok(()), vec![false, true, false]));
    // Refused the first time it is tried, and not tried again.
    let refused = device.prepare(launches(), None).unwrap();
    seen.refuses.store(true, Relaxed);
    assert_eq!(run(&refused), (Ok(()), one_by_one.clone()));
    seen.refuses.store(false, Relaxed);
    assert_eq!(run(&refused), (Ok(()), one_by_one));
    assert_eq!(seen.refused.load(Relaxed), 1);
    assert_eq!(run(&taken), (Ok(()), vec![false, true, false]), "another sequence");
    // A device that is gone takes nothing at all.
    seen.lost.store(true, Relaxed);
    assert_eq!(run(&taken), (Err(1), vec![false]));
}
