//! Contractions in the interpreter, against a naive oracle, for several targets. Values are small integers, so sums are exact and every order
//! of adding gives the same.

mod codes;
mod library;
mod windows;

use super::super::{Lowered, Part, ProgramArg, ProgramLaunch};
use super::{lower, summed};
use smallvec::{SmallVec, smallvec};
use std::collections::BTreeSet;
use unigrad_ir::interpret::{Argument, Span, run};
use unigrad_ir::{FragmentShape, Target};
use unigrad_kernel::testing::{
    Memory, Rng,
    contract::{Case, case as random_case, first_difference, oracle, points, with_prologues},
};
use unigrad_kernel::{Arg, BatchDim, Columns, Contract, Index, Inst, InstOp, KDim, MDim, NDim, Region, Summed, Value};
use unigrad_scalar::{BinaryOp, DType, Literal};

/// Targets that differ in what templates look at.
fn targets() -> Vec<(&'static str, Target)> {
    let all = Target::interpreter();
    let half = |input| FragmentShape { m: 16, n: 16, k: 16, input, sum: DType::F32 };
    vec![
        ("all", Target { compute_units: 2, ..all.clone() }),
        ("fragments", Target { fragments: vec![half(DType::F16), half(DType::BF16)], ..all.clone() }),
        (
            "small",
            Target {
                max_threads: 128,
                shared_bytes: 16 << 10,
                subgroup: None,
                vectors: false,
                i64: false,
                f16: false,
                max_grid: [5, 65_535, 65_535],
                compute_units: 1,
                ..all.clone()
            },
        ),
        ("many units", Target { max_threads: 256, shared_bytes: 32 << 10, subgroup: Some(8), compute_units: 64, ..all }),
    ]
}

/// Runs all steps on `args`. Scratch memory holds rubbish, but for the first buffers, which hold `given`.
fn execute(lowered: &Lowered, target: &Target, args: &mut [Memory], scalars: &[u64], given: &[Memory]) -> Result<(), String> {
    let n_args = args.len();
    let mut memory: Vec<Vec<u8>> = args.iter().map(|arg| arg.bytes().to_vec()).collect();
    let scratch = |(at, bytes): (usize, &usize)| given.get(at).map_or_else(|| vec![0xab; *bytes], |given| given.bytes().to_vec());
    memory.extend(lowered.scratch.iter().enumerate().map(scratch));
    let result = launch(&lowered.steps, target, &mut memory, n_args, scalars);
    for (arg, bytes) in args.iter_mut().zip(memory) {
        arg.bytes_mut().copy_from_slice(&bytes);
    }
    result
}

/// Runs steps on memory: that of the arguments, then that of the scratch buffers.
fn launch(steps: &[ProgramLaunch], target: &Target, memory: &mut [Vec<u8>], n_args: usize, scalars: &[u64]) -> Result<(), String> {
    for step in steps {
        let span = |allocation: usize| Argument::Buffer(Span { allocation, offset: 0, len: memory[allocation].len() });
        let bound: Vec<Argument> = step
            .args
            .iter()
            .map(|arg| match arg {
                ProgramArg::Arg(at) => span(*at),
                ProgramArg::Scratch(at) => span(n_args + at),
                ProgramArg::Scalar(at, Part::Whole) => Argument::Scalar(scalars[*at]),
                ProgramArg::Scalar(at, Part::Low) => Argument::Scalar(scalars[*at] & 0xffff_ffff),
                ProgramArg::Scalar(at, Part::High) => Argument::Scalar(scalars[*at] >> 32),
                ProgramArg::Word(word) => Argument::Scalar(*word),
                other => panic!("a contraction passes {other:?}"),
            })
            .collect();
        assert!(step.program.threads() <= target.max_threads, "{}", step.program.name);
        assert!(step.program.shared_bytes() <= target.shared_bytes, "{}", step.program.name);
        run(&step.program, target, step.grid, memory, &bound).map_err(|fault| format!("{}: {fault}", step.program.name))?;
    }
    Ok(())
}

/// Checks a contraction on each target; gives the names of the programs that ran.
fn check_on(case: &mut Case, targets: &[(&str, Target)], what: &str) -> BTreeSet<String> {
    let want = oracle(&case.contract, &case.args[0], &case.args[1]);
    check_for(case, &want, targets, what)
}

/// As [`check_on`], for results that are known.
fn check_for(case: &mut Case, want: &[(usize, Literal)], targets: &[(&str, Target)], what: &str) -> BTreeSet<String> {
    let mut programs = BTreeSet::new();
    for (name, target) in targets {
        let c = &mut case.args[2];
        let one = Literal::int(c.dtype, 1);
        (0..c.len()).for_each(|i| c.set(i, one));
        let lowered = lower(&case.contract, target).unwrap_or_else(|error| panic!("{what} on {name}: {error}\n{:?}", case.contract));
        if let Err(fault) = execute(&lowered, target, &mut case.args, &[], &[]) {
            panic!("{what} on {name}: {fault}\n{:?}", case.contract);
        }
        let steps: Vec<&String> = lowered.steps.iter().map(|step| &step.program.name).collect();
        if let Some(difference) = first_difference(&case.args[2], want, one) {
            panic!("{what} on {name}, {steps:?}: {difference}\n{:?}", case.contract);
        }
        programs.extend(steps.into_iter().cloned());
    }
    programs
}

fn list(rng: &mut Rng, most: usize, sizes: &[usize]) -> Vec<usize> {
    (0..rng.below(most + 1)).map(|_| rng.pick(sizes)).collect()
}

const FLOATS: [DType; 4] = [DType::F32, DType::F64, DType::F16, DType::BF16];

#[test]
fn random_lists_strides_and_dtypes() {
    let mut rng = Rng(7);
    let targets = targets();
    for round in 0..120 {
        let batch = list(&mut rng, 2, &[1, 2, 3]);
        let m = list(&mut rng, 2, &[1, 2, 5, 9, 17]);
        let n = list(&mut rng, 2, &[1, 3, 8, 17, 21]);
        let k = list(&mut rng, 2, &[1, 2, 7, 16, 19]);
        let dtypes = match rng.below(4) {
            0 => [rng.pick(&DType::ALL); 3],
            1 => [rng.pick(&FLOATS), rng.pick(&FLOATS), rng.pick(&FLOATS)],
            2 => [DType::F32; 3],
            _ => {
                let x = rng.pick(&FLOATS);
                [x, x, DType::F32]
            }
        };
        let which = round % targets.len();
        check_on(&mut random_case(&mut rng, [&batch, &m, &n, &k], dtypes), &targets[which..=which], &format!("round {round}"));
    }
}

/// Operands that a prologue makes, through every template: random ones, and sizes for tiles, fragments and few rows.
#[test]
fn prologues_make_operands() {
    let mut rng = Rng(23);
    let targets = targets();
    let mut programs = BTreeSet::new();
    for round in 0..90 {
        let (batch, m, n, k);
        match round % 3 {
            0 => {
                (batch, m) = (list(&mut rng, 2, &[1, 2, 3]), list(&mut rng, 2, &[1, 2, 5, 9, 17]));
                (n, k) = (list(&mut rng, 2, &[1, 3, 8, 17, 21]), list(&mut rng, 2, &[1, 2, 7, 16, 19]));
            }
            1 => {
                (batch, m, n, k) =
                    (vec![rng.pick(&[1, 2])], vec![rng.pick(&[1, 3, 8])], vec![rng.pick(&[33, 64])], vec![rng.pick(&[64, 130])])
            }
            _ => (batch, m, n, k) = (vec![], vec![rng.pick(&[9, 33])], vec![rng.pick(&[16, 40])], vec![rng.pick(&[16, 47, 300])]),
        }
        let x = rng.pick(&FLOATS);
        let dtypes = match rng.below(4) {
            0 => [rng.pick(&DType::ALL), rng.pick(&DType::ALL), DType::F32],
            _ => [x, x, DType::F32],
        };
        let mut case = random_case(&mut rng, [&batch, &m, &n, &k], dtypes);
        let want = oracle(&case.contract, &case.args[0], &case.args[1]);
        with_prologues(&mut rng, &mut case);
        let which = round / 3 % targets.len();
        programs.extend(check_for(&mut case, &want, &targets[which..=which], &format!("round {round}")));
    }
    for template in ["contract_tile", "contract_fragment", "contract_skinny"] {
        assert!(programs.contains(template), "{template} did not run: {programs:?}");
    }
}

/// Few sums of many terms: several threads add up a point's parts.
#[test]
fn threads_share_the_parts_of_a_point() {
    let mut rng = Rng(37);
    let targets = targets();
    let many: Vec<(&str, Target)> = targets.into_iter().filter(|(name, _)| *name == "many units").collect();
    for (m, n) in [(9, 9), (10, 17), (1, 40), (17, 3)] {
        for dtype in [DType::F32, DType::I32] {
            let mut case = random_case(&mut rng, [&[], &[m], &[n], &[4, 50, 62]], [dtype; 3]);
            let what = format!("{m} x {n} {dtype}");
            let shared = |step: &ProgramLaunch| step.program.name == "contract_sums" && step.program.shared_bytes() > 0;
            let lowered = lower(&case.contract, &many[0].1).unwrap();
            assert!(
                lowered.steps.iter().any(shared),
                "{what}: {:?}",
                lowered.steps.iter().map(|step| &step.program.name).collect::<Vec<_>>()
            );
            check_on(&mut case, &many, &what);
        }
    }
}

/// Loops in a dialect's own words copy operands as they lie. A prologue's is made where it is read if that is little and few read it, else in memory by a step
/// before; either way what is rendered is valid for the target.
#[test]
fn native_loops_have_operands_made() {
    let mut rng = Rng(29);
    let mut seen = BTreeSet::new();
    for target in unigrad_ir::offline_targets() {
        for [m, n, k] in [[64, 256, 512], [256, 160, 4096], [1, 256, 512], [128, 128, 128], [100, 136, 200]] {
            let arg = |len, write| Arg { dtype: if write { DType::F32 } else { DType::BF16 }, len, write };
            let contract = Contract {
                batch: smallvec![],
                m: smallvec![MDim { size: m, a: k as i64, c: n as i64 }],
                n: smallvec![NDim { size: n, b: 1, c: 1 }],
                k: smallvec![KDim { size: k, a: 1, b: n as i64 }],
                a_offset: 0,
                b_offset: 0,
                a: arg(m * k, false),
                b: arg(k * n, false),
                c: arg(m * n, true),
                epilogue: None,
                tf32: false,
                prologues: [None, None],
            };
            let args = vec![Memory::new(DType::BF16, m * k), Memory::new(DType::BF16, k * n), Memory::new(DType::F32, m * n)];
            let mut case = Case { contract, args };
            let before = lower(&case.contract, &target).unwrap_or_else(|error| panic!("{}: {error}", target.arch));
            with_prologues(&mut rng, &mut case);
            let after = lower(&case.contract, &target).unwrap_or_else(|error| panic!("{}: {error}", target.arch));
            for step in before.steps.iter().chain(&after.steps) {
                unigrad_ir::validate(&step.program, &target).unwrap_or_else(|errors| panic!("{}: {errors:?}", target.arch));
                unigrad_ir::render(&step.program, &target).unwrap_or_else(|error| panic!("{}: {error}", target.arch));
            }
            let main =
                |lowered: &Lowered| lowered.steps.iter().map(|step| step.program.name.clone()).find(|name| name.starts_with("contract_"));
            // Boxes of memory are copied as they lie: where an operand is made, threads copy.
            let by_threads = |name: String| if name == "contract_tma" { "contract_wgmma".to_owned() } else { name };
            assert_eq!(main(&before).map(by_threads), main(&after).map(by_threads), "{} {m}x{n}x{k}", target.arch);
            let is_native = main(&after).is_some_and(|name| ["contract_tma", "contract_wgmma", "contract_mma"].contains(&name.as_str()));
            // The rows of `a` are read for columns, those of `b` for rows; neighbours are made by eights.
            let is_stored = |side: usize, region: &Region| [n, m][side] > 128 || !region.axes[1].is_multiple_of(8);
            let stored: Vec<bool> =
                case.contract.prologues.iter().enumerate().filter_map(|(side, region)| Some(is_stored(side, region.as_ref()?))).collect();
            let n_stored = stored.iter().filter(|is_stored| **is_stored).count();
            assert_eq!(after.steps.len() - before.steps.len(), if is_native { n_stored } else { 0 }, "{} {m}x{n}x{k}", target.arch);
            seen.extend(main(&after).map(|name| format!("{name}{}", if n_stored < stored.len() { " makes" } else { "" })));
        }
    }
    for template in ["contract_tma", "contract_wgmma makes", "contract_mma", "contract_mma makes", "contract_skinny makes"] {
        assert!(seen.contains(template), "{template} was not chosen: {seen:?}");
    }
}

/// `out = (sum + bias[n]) * scale` in the order of the output, for random lists of dimensions.
#[test]
fn epilogues_see_every_sum_once() {
    let mut rng = Rng(17);
    let targets = targets();
    for round in 0..48 {
        let batch = list(&mut rng, 2, &[1, 2, 3]);
        let m = list(&mut rng, 2, &[1, 2, 5, 17, 40]);
        let n = list(&mut rng, 2, &[1, 3, 8, 21, 40]);
        let k = list(&mut rng, 2, &[0, 1, 7, 16, 90]);
        let (input, acc) = rng.pick(&[
            (DType::F32, DType::F32),
            (DType::BF16, DType::F32),
            (DType::F64, DType::F64),
            (DType::F64, DType::F32),
            (DType::I32, DType::I32),
            (DType::I8, DType::I8),
        ]);
        let axes: SmallVec<[usize; 6]> = [&batch[..], &m, &n].concat().into_iter().collect();
        if axes.iter().product::<usize>() > 4000 {
            continue;
        }
        let mut case = random_case(&mut rng, [&batch, &m, &n, &k], [input, input, acc]);
        // Stores run along rows now and then.
        let turned = rng.below(3) == 0;
        let bias_from = batch.len() + m.len();
        let (name, target) = &targets[round % targets.len()];
        let what = format!("round {round} on {name}");
        check_epilogue(&mut rng, &mut case, &axes, bias_from, turned, &what, &|case, args, scalars| {
            let lowered = lower(&case.contract, target).unwrap_or_else(|error| panic!("{what}: {error}\n{:?}", case.contract));
            if let Err(fault) = execute(&lowered, target, args, scalars, &[]) {
                panic!("{what}: {fault}\n{:?}", case.contract);
            }
        });
    }
}

/// What runs a case: its arguments with those of the epilogue, and its scalars.
type RunCase<'a> = &'a dyn Fn(&Case, &mut [Memory], &[u64]);

fn check_epilogue(
    rng: &mut Rng,
    case: &mut Case,
    axes: &SmallVec<[usize; 6]>,
    bias_from: usize,
    turned: bool,
    what: &str,
    run_case: RunCase<'_>,
) {
    let acc = case.contract.c.dtype;
    let n_points: usize = axes.iter().product();
    let n_len: usize = axes[bias_from..].iter().product();
    // Row-major over the axes from `from` on, or over the same axes in reverse.
    let strides = |from: usize, turned: bool| -> SmallVec<[i64; 6]> {
        let product = |range: &[usize]| range.iter().product::<usize>() as i64;
        let at = |i: usize| if turned { product(&axes[from..i]) } else { product(&axes[i + 1..]) };
        (0..axes.len()).map(|i| if i < from { 0 } else { at(i) }).collect()
    };
    let inst = |op| Inst { op, dtype: acc };
    let index = |from, turned| Index { offset: 0, strides: strides(from, turned), dynamic: smallvec![] };
    let arg = |len, write| Arg { dtype: acc, len, write };
    case.contract.epilogue = Some(Box::new(Region {
        name: "bias".into(),
        n_parallel: axes.len(),
        args: vec![arg(n_len.max(1), false), arg(n_points.max(1), true)],
        scalars: vec![acc],
        insts: vec![
            inst(InstOp::Acc),
            inst(InstOp::Load { arg: 0, index: index(bias_from, false), mask: None }),
            inst(InstOp::Binary(BinaryOp::Add, Value(0), Value(1))),
            inst(InstOp::Scalar(0)),
            inst(InstOp::Binary(BinaryOp::Mul, Value(2), Value(3))),
            inst(InstOp::Store { arg: 1, index: index(0, turned), value: Value(4) }),
        ],
        axes: axes.clone(),
    }));
    let want = oracle(&case.contract, &case.args[0], &case.args[1]);
    let mut bias = Memory::new(acc, n_len.max(1));
    bias.fill(rng);
    let out = Memory::new(acc, n_points.max(1));
    let mut args = vec![case.args[0].clone(), case.args[1].clone(), bias.clone(), out];
    run_case(case, &mut args, &[Literal::int(acc, 2).to_raw()]);
    let to = strides(0, turned);
    for ((i, (_, sum)), point) in want.iter().enumerate().zip(points(axes)) {
        let b = bias.get(i % n_len);
        let value = if acc.is_float() {
            Literal::float(acc, (sum.as_f64() + b.as_f64()) * 2.0)
        } else {
            Literal::int(acc, (sum.as_i64() + b.as_i64()) * 2)
        };
        let at: i64 = point.iter().zip(&to).map(|(i, s)| *i as i64 * s).sum();
        let got = args[3].get(at as usize);
        assert!(got.as_f64() == value.as_f64(), "{what}, point {i}: {got:?} not {value:?}\n{:?}", case.contract);
    }
}

#[test]
fn zero_sizes() {
    let mut rng = Rng(3);
    for sizes in [[0, 2, 3, 4], [2, 0, 3, 4], [2, 3, 0, 4], [2, 3, 4, 0]] {
        let [b, m, n, k] = sizes;
        check_on(&mut random_case(&mut rng, [&[b], &[m], &[n], &[k]], [DType::F32; 3]), &targets(), "zero size");
        check_on(&mut random_case(&mut rng, [&[], &[m], &[n], &[k]], [DType::BF16; 3]), &targets(), "zero size");
    }
}

/// A plain product; `ta`, `tb`: stored transposed.
fn matmul(rng: &mut Rng, [m, n, k]: [usize; 3], ta: bool, tb: bool, dtypes: [DType; 3]) -> Case {
    let (m64, n64, k64) = (m as i64, n as i64, k as i64);
    let [a, b, c] = dtypes;
    let contract = Contract {
        batch: smallvec![],
        m: smallvec![MDim { size: m, a: if ta { 1 } else { k64 }, c: n64 }],
        n: smallvec![NDim { size: n, b: if tb { k64 } else { 1 }, c: 1 }],
        k: smallvec![KDim { size: k, a: if ta { m64 } else { 1 }, b: if tb { 1 } else { n64 } }],
        a_offset: 0,
        b_offset: 0,
        a: Arg { dtype: a, len: m * k, write: false },
        b: Arg { dtype: b, len: k * n, write: false },
        c: Arg { dtype: c, len: m * n, write: true },
        tf32: false,
        epilogue: None,
        prologues: [None, None],
    };
    let mut args = vec![Memory::new(a, m * k), Memory::new(b, k * n), Memory::new(c, m * n)];
    args[..2].iter_mut().for_each(|memory| memory.fill(rng));
    Case { contract, args }
}

/// Shapes that choose each template and tile, plain and transposed.
#[test]
fn every_template_and_layout() {
    let mut rng = Rng(5);
    let shapes = [
        [130, 140, 36],
        [128, 128, 32],
        [64, 70, 40],
        [32, 33, 700],
        [16, 20, 2100],
        [1, 300, 260],
        [300, 1, 260],
        [3, 200, 100],
        [200, 5, 130],
        [1, 1, 3000],
        [7, 5, 600],
        [1, 40, 0],
    ];
    let mut programs = BTreeSet::new();
    for (at, shape) in shapes.into_iter().enumerate() {
        for (which, (ta, tb)) in [(false, false), (true, false), (false, true), (true, true)].into_iter().enumerate() {
            let dtype = [DType::F32, DType::BF16, DType::F16][(at + which) % 3];
            let mut case = matmul(&mut rng, shape, ta, tb, [dtype, dtype, dtype]);
            let targets = targets();
            let chosen = (at + which) % targets.len();
            programs.extend(check_on(&mut case, &targets[chosen..=chosen], &format!("{shape:?} {ta} {tb} {dtype}")));
        }
    }
    let programs: Vec<&str> = programs.iter().map(String::as_str).collect();
    assert_eq!(programs, ["contract_fragment", "contract_skinny", "contract_sums", "contract_tile"]);
}

/// A convolution, its weight gradient and its data gradient, as the planner writes them.
#[test]
fn convolutions() {
    let mut rng = Rng(23);
    let (nb, ci, co, h, w, kk) = (2usize, 3usize, 5usize, 9usize, 10usize, 3usize);
    let (oh, ow) = (h - kk + 1, w - kk + 1);
    let s = |v: usize| v as i64;
    let (xn, xc, xh) = (s(ci * h * w), s(h * w), s(w));
    let (yn, yc, yh) = (s(co * oh * ow), s(oh * ow), s(ow));
    for dtype in [DType::F32, DType::BF16] {
        let case_of = |rng: &mut Rng, lens: [usize; 3], set: &dyn Fn(&mut Contract)| {
            let mut case = matmul(rng, [1, 1, 1], false, false, [dtype; 3]);
            set(&mut case.contract);
            case.args = lens.iter().map(|len| Memory::new(dtype, *len)).collect();
            case.args[..2].iter_mut().for_each(|memory| memory.fill(rng));
            let arg = |at: usize| Arg { dtype, len: lens[at], write: at == 2 };
            (case.contract.a, case.contract.b, case.contract.c) = (arg(0), arg(1), arg(2));
            case
        };
        let (lx, lw, ly) = (nb * ci * h * w, co * ci * kk * kk, nb * co * oh * ow);
        let mut forward = case_of(&mut rng, [lw, lx, ly], &|c| {
            c.batch = smallvec![BatchDim { size: nb, a: 0, b: xn, c: yn }];
            c.m = smallvec![MDim { size: co, a: s(ci * kk * kk), c: yc }];
            c.n = smallvec![NDim { size: oh, b: xh, c: yh }, NDim { size: ow, b: 1, c: 1 }];
            c.k = smallvec![KDim { size: ci, a: s(kk * kk), b: xc }, KDim { size: kk, a: s(kk), b: xh }, KDim { size: kk, a: 1, b: 1 }];
        });
        check_on(&mut forward, &targets(), "forward");
        let mut weight = case_of(&mut rng, [ly, lx, lw], &|c| {
            c.m = smallvec![MDim { size: co, a: yc, c: s(ci * kk * kk) }];
            c.n = smallvec![NDim { size: ci, b: xc, c: s(kk * kk) }, NDim { size: kk, b: xh, c: s(kk) }, NDim { size: kk, b: 1, c: 1 }];
            c.k = smallvec![KDim { size: nb, a: yn, b: xn }, KDim { size: oh, a: yh, b: xh }, KDim { size: ow, a: 1, b: 1 }];
        });
        check_on(&mut weight, &targets(), "weight gradient");
        let (ph, pw) = (oh + 2 * (kk - 1), ow + 2 * (kk - 1));
        let pn = s(co * ph * pw);
        let mut data = case_of(&mut rng, [lw, nb * co * ph * pw, lx], &|c| {
            c.batch = smallvec![BatchDim { size: nb, a: 0, b: pn, c: xn }];
            c.m = smallvec![MDim { size: ci, a: s(kk * kk), c: xc }];
            c.n = smallvec![NDim { size: h, b: s(pw), c: xh }, NDim { size: w, b: 1, c: 1 }];
            c.k = smallvec![
                KDim { size: co, a: s(ci * kk * kk), b: s(ph * pw) },
                KDim { size: kk, a: s(kk), b: -s(pw) },
                KDim { size: kk, a: 1, b: -1 }
            ];
            c.b_offset = s((kk - 1) * pw + kk - 1);
        });
        check_on(&mut data, &targets(), "data gradient");
    }
}

/// What native templates say is complete: every layout, dtype and tile width has a text for the architectures that choose it.
#[test]
fn native_templates_render() {
    let mut rng = Rng(2);
    let (dialect, programs) = (unigrad_ir::Dialect::ALL[0], &mut BTreeSet::new());
    for arch in ["sm_80", "sm_90", "sm_120"] {
        let target = Target { dialect, arch: arch.to_owned(), shared_bytes: 99 << 10, compute_units: 100, ..Target::interpreter() };
        for (at, shape) in [[2048, 2048, 128], [1280, 1280, 64], [128, 128, 128], [16, 512, 2048], [100, 104, 72]].into_iter().enumerate() {
            for (which, (ta, tb)) in [(false, false), (true, false), (false, true), (true, true)].into_iter().enumerate() {
                let dtype = [DType::F16, DType::BF16][(at + which) % 2];
                let [m, n, k] = shape.map(|size: usize| size.next_multiple_of(8));
                let case = matmul(&mut rng, [m, n, k], ta, tb, [dtype; 3]);
                for step in lower(&case.contract, &target).unwrap().steps {
                    if let Err(errors) = unigrad_ir::validate(&step.program, &target) {
                        panic!("{shape:?} {arch}: {errors:?}");
                    }
                    let source = unigrad_ir::render(&step.program, &target).unwrap_or_else(|error| panic!("{shape:?} {arch}: {error}"));
                    assert_eq!(source.text.matches('{').count(), source.text.matches('}').count());
                    programs.insert((arch, step.program.name.clone()));
                }
            }
        }
        // A run of 40 of 48 elements, three times: stages of 64 go from one to the next, which no box does.
        let mut case = matmul(&mut rng, [256, 256, 120], false, false, [DType::BF16; 3]);
        case.contract.m[0].a = 144;
        case.contract.k = smallvec![KDim { size: 3, a: 48, b: 48 * 256 }, KDim { size: 40, a: 1, b: 256 }];
        for step in lower(&case.contract, &target).unwrap().steps {
            unigrad_ir::validate(&step.program, &target).unwrap_or_else(|errors| panic!("{arch}: {errors:?}"));
            unigrad_ir::render(&step.program, &target).unwrap_or_else(|error| panic!("{arch}: {error}"));
            programs.insert((arch, step.program.name.clone()));
        }
    }
    let native = ["sm_120 contract_mma", "sm_80 contract_mma", "sm_90 contract_mma", "sm_90 contract_wgmma", "sm_90 contract_tma"];
    let found: Vec<String> = programs.iter().map(|(arch, name)| format!("{arch} {name}")).collect();
    assert!(native.iter().all(|name| found.iter().any(|found| found == name)), "{found:?}");
}

/// The same of products that may be rounded: of every layout, with tiles that reach beyond the operands, with parts, and operands without runs of four elements.
#[test]
fn rounded_products_render() {
    let mut rng = Rng(3);
    let programs = &mut BTreeSet::new();
    for (arch, shared_bytes) in [("sm_80", 160 << 10), ("sm_90", 227 << 10)] {
        let dialect = unigrad_ir::Dialect::ALL[0];
        let target = Target { dialect, arch: arch.to_owned(), shared_bytes, compute_units: 132, ..Target::interpreter() };
        for shape in [[2048, 2048, 128], [260, 1000, 68], [128, 256, 8192], [1024, 130, 100], [16, 512, 2048], [301, 303, 77]] {
            for (ta, tb) in [(false, false), (true, false), (false, true), (true, true)] {
                let mut case = matmul(&mut rng, shape, ta, tb, [DType::F32; 3]);
                case.contract.tf32 = true;
                for step in lower(&case.contract, &target).unwrap().steps {
                    if let Err(errors) = unigrad_ir::validate(&step.program, &target) {
                        panic!("{shape:?} {arch}: {errors:?}");
                    }
                    let source = unigrad_ir::render(&step.program, &target).unwrap_or_else(|error| panic!("{shape:?} {arch}: {error}"));
                    if let Some(folder) = std::env::var_os("UNIGRAD_COLLECT_KERNELS") {
                        unigrad_ir::collect(&source, &target, folder.as_ref()).unwrap();
                    }
                    programs.insert(format!("{arch} {}", step.program.name));
                }
            }
        }
    }
    for name in ["sm_80 contract_tf32", "sm_90 contract_tf32", "sm_90 contract_tf32_wgmma", "sm_90 contract_sums", "sm_90 contract_tma"] {
        assert!(programs.contains(name), "{name} is not among {programs:?}");
    }
}

/// A target with Hopper's own words.
fn hopper() -> Target {
    Target {
        dialect: unigrad_ir::Dialect::ALL[0],
        arch: "sm_90".to_owned(),
        shared_bytes: 227 << 10,
        compute_units: 132,
        ..Target::interpreter()
    }
}

/// The names of the steps, whose programs are valid and render.
fn rendered(lowered: &Lowered, target: &Target) -> Vec<String> {
    let name = |step: &ProgramLaunch| {
        if let Err(errors) = unigrad_ir::validate(&step.program, target) {
            panic!("{errors:?}");
        }
        let source = unigrad_ir::render(&step.program, target).unwrap();
        if let Some(folder) = std::env::var_os("UNIGRAD_COLLECT_KERNELS") {
            unigrad_ir::collect(&source, target, folder.as_ref()).unwrap();
        }
        assert_eq!(source.text.matches('{').count(), source.text.matches('}').count());
        step.program.name.clone()
    };
    lowered.steps.iter().map(name).collect()
}

/// Products whose operands come by tensor maps: of every layout and dtype, every tile, in parts, with batches and epilogues; and those that cannot.
#[test]
fn products_by_tensor_maps_render() {
    let mut rng = Rng(4);
    let target = hopper();
    let names = |case: &Case| rendered(&lower(&case.contract, &target).unwrap(), &target);
    for (dtype, tf32) in [(DType::F16, false), (DType::BF16, false), (DType::F32, true), (DType::F32, false)] {
        for shape in [[4096, 4096, 256], [2048, 1096, 128], [264, 2000, 1032], [128, 256, 8192], [512, 64, 512]] {
            for (ta, tb) in [(false, false), (true, false), (false, true), (true, true)] {
                let mut case = matmul(&mut rng, shape, ta, tb, [dtype; 3]);
                case.contract.tf32 = tf32;
                let names = names(&case);
                // Matrix instructions of TF32 want one operand along `k`; small products have other tiles.
                let is_by_tma = match (dtype, tf32) {
                    (DType::F32, true) => (tb || !ta) && names[0] != "contract_tf32",
                    (DType::F32, false) => shape[0] > 128 && shape[1] > 128,
                    _ => true,
                };
                assert_eq!(names[0] == "contract_tma", is_by_tma, "{dtype} {shape:?} {ta} {tb}: {names:?}");
            }
        }
    }
}

/// Products with sums of an operand's lanes: of either operand, in one part and in several, by every tile; those of operands along `k` are two kernels.
#[test]
fn products_with_sums_render() {
    let mut rng = Rng(5);
    let target = hopper();
    for dtype in [DType::F16, DType::BF16] {
        for [m, n, k] in [[2304, 768, 2048], [768, 3072, 1024], [1024, 1024, 256], [128, 64, 512], [264, 136, 4104]] {
            for (side, ta, tb) in [(0, true, false), (1, true, false), (0, true, true), (1, false, false), (0, false, false)] {
                let product = matmul(&mut rng, [m, n, k], ta, tb, [dtype; 3]).contract;
                let (lanes, operand) = if side == 0 { (m, product.a) } else { (n, product.b) };
                let (lane, row) = if side == 0 { (product.m[0].a, product.k[0].a) } else { (product.n[0].b, product.k[0].b) };
                let text = format!(
                    "region \"lanes\" parallel [{lanes}] reduce [{k}] {{
                        a0: {dtype}[{}]
                        a1: mut {dtype}[{lanes}]
                        %0 = load {dtype} a0[{lane}*i0 + {row}*i1]
                        %1 = sum {dtype} %0
                        store {dtype} a1[i0], %1
                    }}",
                    operand.len
                );
                let region: Region = text.parse().unwrap_or_else(|error| panic!("{error}: {text}"));
                let kernel = Summed { product, sums: Columns { region, shared: smallvec![Some(side), None] } };
                let what = format!("{dtype} {m} x {n} x {k}, {side} {ta} {tb}");
                assert_eq!(kernel.lane_sum().map(|sum| sum.side), Some(side as usize), "{what}");
                let lowered = summed(&kernel, &target).unwrap();
                let names = rendered(&lowered, &target);
                // By the loop, a program adds up what warps left, and none the operand.
                let first = unigrad_ir::render(&lowered.steps[0].program, &target).unwrap().text;
                let of_sums = names.iter().filter(|name| name.starts_with("lanes")).count();
                assert_eq!(first.contains("ug_tma_words(x, block"), lane == 1, "{what}: {names:?}");
                assert!(names[0] == "contract_tma" && (lane > 1 || of_sums == 1), "{what}: {names:?}");
            }
        }
    }
}
