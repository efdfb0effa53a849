//! Products on the machine's first GPU are the oracle's: operands of any strides, with rounding to TF32 allowed, which small integers survive.

use unigrad_cuda::{CudaBackend, CudaDriver};
use unigrad_device::Driver;
use unigrad_gpu::{Backend, Bound, Part, ProgramArg, Range, lower};
use unigrad_kernel::{
    Kernel,
    testing::{
        Rng,
        contract::{Case, case as random_case, first_difference, oracle, with_prologues},
    },
};
use unigrad_scalar::{DType, Literal};

/// Sizes around tiles' sides, an instruction's and a stage's `k` (`native/tf32.rs` of `unigrad-gpu`).
const SIDES: [usize; 10] = [9, 15, 16, 17, 31, 33, 64, 72, 129, 257];
const LENGTHS: [usize; 7] = [16, 31, 32, 33, 95, 257, 513];

/// Runs all steps of a case; gives the names of the programs that ran.
fn launch(device: &CudaBackend, case: &mut Case) -> Vec<String> {
    let kernel = Kernel::Contract(case.contract.clone());
    let lowered = lower(&kernel, device.target()).unwrap_or_else(|error| panic!("{error}\n{kernel:?}"));
    let allocate = |len: usize| Range { handle: device.allocate(len.max(16)).unwrap(), offset: 0, len };
    let args: Vec<Range> = case.args.iter().map(|arg| allocate(arg.bytes().len())).collect();
    for (range, memory) in args.iter().zip(&case.args) {
        device.upload(memory.bytes(), *range).unwrap();
    }
    let scratch: Vec<Range> = lowered.scratch.iter().map(|bytes| allocate(*bytes)).collect();
    for step in &lowered.steps {
        let bound: Vec<Bound> = step
            .args
            .iter()
            .map(|arg| match arg {
                ProgramArg::Arg(at) => Bound::Buffer(args[*at]),
                ProgramArg::Scratch(at) => Bound::Buffer(scratch[*at]),
                ProgramArg::Scalar(_, Part::Whole | Part::Low | Part::High) | ProgramArg::Word(_) => panic!("a scalar of a product"),
                other => panic!("a product passes {other:?}"),
            })
            .collect();
        let module = device.load(&step.program).unwrap_or_else(|error| panic!("{error}"));
        device.launch(&module, step.grid, &bound).unwrap();
    }
    let mut out = vec![0; case.args[2].bytes().len()];
    device.download(args[2], &mut out).unwrap();
    case.args[2].bytes_mut().copy_from_slice(&out);
    args.iter().chain(&scratch).for_each(|range| device.free(range.handle));
    lowered.steps.iter().map(|step| step.program.name.clone()).collect()
}

#[test]
fn products_of_any_strides_are_the_oracles() {
    let found = CudaDriver.discover();
    if found.devices.is_empty() {
        println!("SKIPPED: no CUDA device: {:?}", found.problem);
        return;
    }
    let device = CudaBackend::open(0).unwrap();
    let mut rng = Rng(31);
    let (mut wrong, mut taken, mut in_parts) = (Vec::new(), 0, 0);
    for round in 0..300 {
        let one = |rng: &mut Rng, sizes: &[usize]| vec![rng.pick(sizes)];
        // One dimension of each kind, or several, as windows have them.
        let (batch, m, n, k) = match round % 4 {
            0 => (vec![], one(&mut rng, &SIDES), one(&mut rng, &SIDES), one(&mut rng, &LENGTHS)),
            1 => (vec![2], vec![3, rng.pick(&[5, 8, 16])], one(&mut rng, &SIDES), vec![rng.pick(&[3, 4]), 9]),
            2 => (vec![], vec![rng.pick(&[12, 32])], vec![rng.pick(&[2, 4, 9]), 8], vec![3, rng.pick(&[2, 4]), 8]),
            // Few results of many terms: parts.
            _ => (vec![], one(&mut rng, &[9, 16, 33]), one(&mut rng, &[9, 16]), vec![rng.pick(&[1, 4]), 50, rng.pick(&[24, 26, 124])]),
        };
        let mut case = random_case(&mut rng, [&batch, &m, &n, &k], [DType::F32; 3]);
        case.contract.tf32 = true;
        let want = oracle(&case.contract, &case.args[0], &case.args[1]);
        if round % 5 == 4 {
            with_prologues(&mut rng, &mut case);
        }
        let one = Literal::int(DType::F32, 1);
        (0..case.args[2].len()).for_each(|at| case.args[2].set(at, one));
        let programs = launch(&device, &mut case);
        taken += usize::from(programs.iter().any(|name| name == "contract_tf32"));
        in_parts += usize::from(programs.iter().any(|name| name == "contract_sums"));
        if let Some(difference) = first_difference(&case.args[2], &want, one) {
            wrong.push(format!("round {round}, {batch:?} {m:?} {n:?} {k:?}, {programs:?}: {difference}"));
        }
    }
    println!("{taken} of 300 by matrix instructions of TF32, {in_parts} in parts");
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong.join("\n"));
}
