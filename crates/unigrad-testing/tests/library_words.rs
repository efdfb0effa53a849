//! The hook for vendors' libraries beyond products: convolutions with their gradients, norms, softmaxes and the gradient of attention, by the
//! interpreter's library, against the CPU's own programs; convolutions by a GPU's vendor's library as well, where one is.
//! A program of its own, for what does kernels is a setting of the process.

use std::sync::{Mutex, MutexGuard, PoisonError};
use unigrad::prelude::*;
use unigrad_device::{Config, Products};
use unigrad_gpu::{Convolution, Pass};
use unigrad_interpreter::{REFUSED, attention_grads, convolutions, convolutions_done, norms, padded_convolutions};
use unigrad_kernel::{ByDtype, Library, Rates, Words};
use unigrad_tensor::{AttentionOptions, ConvOptions};
use unigrad_testing::{Values, cases, compare::Tolerance, compare::close, run, watch};

/// The setting, and the counts of what the library has done, are the process's.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The interpreter's devices, whose library is from now on used wherever it can be.
fn with_library() -> Vec<Device> {
    Config { products: Products::Library, ..Config::clone(&Config::current().unwrap()) }.apply();
    let devices: Vec<Device> = unigrad_testing::devices().into_iter().filter(|device| device.backend() == "interpreter").collect();
    if devices.is_empty() {
        println!("SKIPPED: the interpreter is not among the devices");
    }
    devices
}

/// GPUs whose library is the vendor's: it does what it can, and is not counted.
fn with_vendors_library() -> Vec<Device> {
    unigrad_testing::devices().into_iter().filter(|device| device.backend() == "cuda").collect()
}

fn stored(x: Tensor) -> Tensor {
    x.realize().unwrap().detach()
}

fn numbers(shape: &[usize], seed: usize) -> Vec<f32> {
    (0..shape.iter().product()).map(|i| ((i * 7919 + seed * 104_729 + i * i % 31) % 257) as f32 / 64.0 - 2.0).collect()
}

fn values(x: &Tensor) -> Values {
    Values::from_f64(x.dtype(), &x.shape(), &x.to_f64_vec().unwrap())
}

#[test]
fn cases_of_the_op_table() {
    let _alone = alone();
    // One device: how its own programs differ by target is tested elsewhere.
    let devices: Vec<Device> = with_library().into_iter().take(1).collect();
    let all: Vec<Device> = devices.iter().cloned().chain(with_vendors_library()).collect();
    let before = (convolutions().0, padded_convolutions(), norms().0);
    for text in [include_str!("../goldens/conv.txt"), include_str!("../goldens/norm.txt")] {
        assert!(run::run(&cases::parse(text).unwrap(), &all).print(), "see the FAIL lines above");
    }
    let done = (convolutions().0 - before.0, padded_convolutions() - before.1, norms().0 - before.2);
    println!("the library did {done:?}: convolutions, those with padding, norms");
    let right = done.0 > 300 && done.1 > 100 && done.2 > 30;
    assert!(devices.is_empty() || right, "the library did {done:?}");
}

/// What follows a convolution in its kernel.
#[derive(Clone, Copy, PartialEq, Debug)]
enum After {
    Nothing,
    /// A bias and an activation that a library has words for.
    BiasRelu,
    /// All words: a factor, a residual, a bias, an activation.
    Words,
    /// What none has words for.
    Abs,
}

/// How operands lie in memory.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Lies {
    Plain,
    /// Channels last.
    Last,
    /// All items of the batch are one image, and the weight is read across the grain.
    Odd,
}

#[derive(Clone, Debug)]
struct Case {
    batch: usize,
    inputs: usize,
    outputs: usize,
    size: Vec<usize>,
    kernel: Vec<usize>,
    options: ConvOptions,
    is_transposed: bool,
    after: After,
    lies: Lies,
    dtype: DType,
}

impl Case {
    fn plain(rank: usize) -> Case {
        Case {
            batch: 2,
            inputs: 4,
            outputs: 6,
            size: [7, 6, 5][..rank].to_vec(),
            kernel: [3, 2, 3][..rank].to_vec(),
            options: ConvOptions::default(),
            is_transposed: false,
            after: After::BiasRelu,
            lies: Lies::Plain,
            dtype: DType::F32,
        }
    }

    /// The result, and its gradients with respect to image and weight.
    fn run(&self, device: &Device) -> Vec<Values> {
        let rank = self.size.len();
        let draw = |shape: &[usize], seed| stored(Tensor::from_vec(numbers(shape, seed), shape, device).cast(self.dtype));
        let shape = |batch: usize, channels: usize, size: &[usize]| -> Vec<usize> { [&[batch, channels], size].concat() };
        let last = |x: Tensor| {
            let mut order: Vec<isize> = (0..rank as isize + 2).collect();
            let channels = order.remove(rank + 1);
            order.insert(1, channels);
            x.permute(&order)
        };
        let x = match self.lies {
            Lies::Plain => draw(&shape(self.batch, self.inputs, &self.size), 1),
            Lies::Last => last(draw(&[&[self.batch][..], &self.size, &[self.inputs]].concat(), 1)),
            Lies::Odd => draw(&shape(1, self.inputs, &self.size), 1).expand(&shape(self.batch, self.inputs, &self.size)[..]),
        };
        let groups = self.options.groups;
        let (rows, columns) = if self.is_transposed { (self.inputs, self.outputs / groups) } else { (self.outputs, self.inputs / groups) };
        let w = match self.lies {
            Lies::Odd => draw(&shape(columns, rows, &self.kernel), 2).transpose(0, 1),
            Lies::Plain | Lies::Last => draw(&shape(rows, columns, &self.kernel), 2),
        };
        let (x, w) = (x.requires_grad(), w.requires_grad());
        let bias = draw(&[self.outputs], 3);
        let given = Some(&bias).filter(|_| matches!(self.after, After::BiasRelu));
        let y = if self.is_transposed { x.conv_transpose(&w, given, rank, &self.options) } else { x.conv(&w, given, rank, &self.options) };
        let mut spread = vec![1; rank + 2];
        spread[1] = self.outputs;
        let y = match self.after {
            After::Nothing => y,
            After::BiasRelu => y.relu(),
            After::Words => {
                let residual = draw(&y.shape(), 4);
                (y * 0.5 + residual + bias.reshape(&spread[..])).gelu_tanh()
            }
            After::Abs => y.abs(),
        };
        let dy = draw(&y.shape(), 5);
        let gradients = grad(&(&y * dy).sum(()), &[&x, &w]).unwrap();
        Tensor::realize_all(&[&y, &gradients[0], &gradients[1]]).unwrap();
        [&y, &gradients[0], &gradients[1]].into_iter().map(values).collect()
    }
}

fn settings() -> Vec<Case> {
    let mut all = Vec::new();
    for rank in 1..=3 {
        let with = |options: ConvOptions| Case { options, ..Case::plain(rank) };
        let asymmetric: Vec<(usize, usize)> = [(1, 2), (0, 1), (2, 0)][..rank].to_vec();
        all.push(Case::plain(rank));
        all.push(with(ConvOptions { padding: asymmetric.clone(), ..ConvOptions::default() }));
        all.push(with(ConvOptions { stride: vec![2; rank], padding: asymmetric.clone(), ..ConvOptions::default() }));
        all.push(with(ConvOptions { dilation: vec![2; rank], padding: vec![(2, 2); rank], ..ConvOptions::default() }));
        all.push(with(ConvOptions {
            stride: vec![2; rank],
            dilation: vec![2; rank],
            padding: vec![(2, 1); rank],
            ..ConvOptions::default()
        }));
        all.push(with(ConvOptions { groups: 2, padding: asymmetric.clone(), ..ConvOptions::default() }));
        // Each channel by itself, and more padding than the taps reach.
        all.push(Case { outputs: 4, ..with(ConvOptions { groups: 4, padding: vec![(1, 1); rank], ..ConvOptions::default() }) });
        all.push(with(ConvOptions { padding: vec![(4, 3); rank], ..ConvOptions::default() }));
        // One tap, and patches that do not overlap.
        all.push(Case { kernel: vec![1; rank], ..with(ConvOptions { stride: vec![2; rank], ..ConvOptions::default() }) });
        all.push(Case { kernel: vec![2; rank], ..with(ConvOptions { stride: vec![2; rank], ..ConvOptions::default() }) });
        // One axis of several has taps, or padding.
        let mut one = vec![1; rank];
        one[rank - 1] = 3;
        all.push(Case { kernel: one.clone(), ..with(ConvOptions { padding: vec![(0, 0); rank], ..ConvOptions::default() }) });
        let mut side = vec![(0, 0); rank];
        side[0] = (1, 1);
        all.push(with(ConvOptions { padding: side, ..ConvOptions::default() }));
        // One result along each axis, one item, one channel.
        all.push(Case { size: vec![3; rank], kernel: vec![3; rank], ..Case::plain(rank) });
        all.push(Case { batch: 1, inputs: 1, outputs: 1, ..with(ConvOptions { padding: vec![(1, 1); rank], ..ConvOptions::default() }) });
        all.push(Case {
            is_transposed: true,
            ..with(ConvOptions { stride: vec![2; rank], padding: vec![(1, 1); rank], ..ConvOptions::default() })
        });
        let mut extra = vec![1; rank];
        extra[0] = 0;
        all.push(Case {
            is_transposed: true,
            ..with(ConvOptions {
                stride: vec![2; rank],
                groups: 2,
                padding: vec![(1, 0); rank],
                output_padding: extra,
                ..ConvOptions::default()
            })
        });
    }
    all
}

/// A convolution by its words is what the driver's own programs compute, forward and backward, whatever its settings.
#[test]
fn a_library_convolves() {
    let _alone = alone();
    let cpu = Device::open("cpu").unwrap();
    let devices = with_library();
    let mut right = true;
    let mut n_undone = 0;
    let mut count = 0;
    let before_all = (convolutions(), padded_convolutions());
    let mut check = |case: &Case, device: &Device, wanted: Option<usize>| {
        let before = convolutions();
        let (got, want) = (case.run(device), case.run(&cpu));
        let length =
            case.inputs.max(case.outputs).max(case.batch * case.size.iter().product::<usize>()) * case.kernel.iter().product::<usize>();
        for (which, (got, want)) in ["value", "gradient of x", "gradient of w"].iter().zip(got.iter().zip(&want)) {
            if let Err(difference) = close(got, want, Tolerance::new(case.dtype, length)) {
                println!("FAIL {} {case:?}, {which}: {difference:?}", device.name());
                right = false;
            }
        }
        if device.backend() != "interpreter" {
            return;
        }
        let done = convolutions().0 - before.0;
        count += 1;
        n_undone += usize::from(done < 3);
        if wanted.is_some_and(|wanted| done != wanted) {
            println!("FAIL {} {case:?}: the library did {done}", device.name());
            right = false;
        }
    };
    for (d, device) in devices.iter().enumerate().chain(with_vendors_library().iter().map(|device| (0, device))) {
        for (i, case) in settings().iter().enumerate() {
            // All epilogues and layouts on the first device, some on the others.
            for (j, (after, lies)) in [After::BiasRelu, After::Words, After::Abs, After::Nothing]
                .into_iter()
                .flat_map(|after| [Lies::Plain, Lies::Last, Lies::Odd].map(|lies| (after, lies)))
                .enumerate()
            {
                if if d == 0 { (i + j) % 6 == 0 } else { (i + j) % 24 == d } {
                    check(&Case { after, lies, ..case.clone() }, device, None);
                }
            }
        }
        let padded = |rank: usize| Case { options: ConvOptions::new(1, 1), ..Case::plain(rank) };
        for dtype in [DType::F16, DType::BF16, DType::F64] {
            if dtype == DType::F64 && d == 1 {
                // It has no 64-bit floats.
                continue;
            }
            check(&Case { dtype, ..padded(2) }, device, Some(3));
            check(&Case { dtype, after: After::Words, ..padded(1) }, device, Some(3));
        }
        // Nothing to compute, and what the library refuses when it is asked: of the input channels of each group there are too many.
        check(&Case { batch: 0, ..padded(2) }, device, Some(0));
        let refused = convolutions().1;
        check(&Case { inputs: REFUSED as usize, ..padded(2) }, device, Some(0));
        assert!(device.backend() != "interpreter" || convolutions().1 >= refused + 3, "it refuses");
    }
    let (done, padded) = (convolutions().0 - before_all.0.0, padded_convolutions() - before_all.1);
    println!(
        "{count} cases, {done} convolutions by the library, {padded} of them with padding said; in {n_undone} cases it did fewer than three"
    );
    assert!(right, "see the FAIL lines above");
    assert!(devices.is_empty() || (4 * n_undone < count && 3 * padded > done), "most are convolutions to the library");
}

/// Layers as wide as the units for halves want them, whose sums a library may finish inside; with NaN and infinity, and the same bits again.
#[test]
fn a_vendors_library_convolves_wide_layers() {
    let _alone = alone();
    Config { products: Products::Library, ..Config::clone(&Config::current().unwrap()) }.apply();
    let cpu = Device::open("cpu").unwrap();
    let devices = with_vendors_library();
    if devices.is_empty() {
        println!("SKIPPED: no device here has a vendor's library of convolutions");
    }
    let mut right = true;
    for device in &devices {
        for dtype in [DType::F32, DType::F16, DType::BF16] {
            for (kernel, stride) in [(3, 1), (1, 1), (3, 2)] {
                for (after, lies) in [After::Nothing, After::BiasRelu, After::Words, After::Abs]
                    .into_iter()
                    .flat_map(|after| [Lies::Plain, Lies::Last].map(|lies| (after, lies)))
                {
                    let options = ConvOptions { stride: vec![stride; 2], ..ConvOptions::new(1, kernel / 2) };
                    let wide =
                        Case { batch: 3, inputs: 32, outputs: 64, size: vec![14, 15], kernel: vec![kernel; 2], options, ..Case::plain(2) };
                    let case = Case { after, lies, dtype, ..wide };
                    let (got, again, want) = (case.run(device), case.run(device), case.run(&cpu));
                    for (which, (got, want)) in ["value", "gradient of x", "gradient of w"].iter().zip(got.iter().zip(&want)) {
                        // GELU's argument is stored as a half between the two, which moves the gradient that all sums are of.
                        let rounded = if after == After::Words && dtype.size() == 2 { 4.0 } else { 1.0 };
                        if let Err(difference) = close(got, want, Tolerance::new(dtype, 3 * 14 * 15 * kernel * kernel).times(rounded)) {
                            println!("FAIL {} {case:?}, {which}: {difference:?}", device.name());
                            right = false;
                        }
                    }
                    if got != again {
                        println!("FAIL {} {case:?}: other bits the second time", device.name());
                        right = false;
                    }
                }
            }
            // What is not finite passes the activation: an image of NaN, one of infinity, one of its negative, then numbers.
            let image = |n: usize| [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 1.0][n.min(3)];
            let x = Tensor::from_vec((0..8 * 16 * 16).map(|i| image(i / 256)).collect(), [8, 16, 4, 4], device);
            let x = stored(x.cast(dtype));
            let (w, bias) = (stored(Tensor::ones([32, 16, 1, 1], dtype, device)), stored(Tensor::ones([32], dtype, device)));
            let options = ConvOptions { stride: vec![2; 2], ..ConvOptions::default() };
            let y = x.conv(&w, Some(&bias), 2, &options).relu();
            let y: Vec<f32> = y.cast(DType::F32).to_vec().unwrap();
            for (n, y) in y.chunks(32 * 4).enumerate() {
                let wanted = [f32::NAN, f32::INFINITY, 0.0, 17.0][n.min(3)];
                if y.iter().any(|y| *y != wanted && !(y.is_nan() && wanted.is_nan())) {
                    println!("FAIL {} {dtype}: of {} comes {}, not {wanted}", device.name(), image(n), y[0]);
                    right = false;
                }
            }
        }
    }
    assert!(right, "see the FAIL lines above");
}

/// The words are those of the user's call: forward, for the gradient of the image, and for that of the weight.
#[test]
fn a_library_is_told_what_was_asked_for() {
    let _alone = alone();
    for device in with_library().into_iter().take(1) {
        for rank in 1..=3 {
            for (stride, dilation, groups, padding) in
                [(1, 1, 1, (1, 1)), (2, 1, 2, (1, 2)), (1, 2, 1, (2, 0)), (2, 2, 2, (2, 1)), (3, 1, 1, (0, 1)), (2, 1, 1, (0, 0))]
            {
                let options = ConvOptions {
                    stride: vec![stride; rank],
                    dilation: vec![dilation; rank],
                    padding: vec![padding; rank],
                    groups,
                    ..ConvOptions::default()
                };
                let sizes = [9, 8, 7];
                let case =
                    Case { size: sizes[..rank].to_vec(), kernel: vec![3; rank], options, after: After::Nothing, ..Case::plain(rank) };
                convolutions_done();
                case.run(&device);
                let told = convolutions_done();
                let of = |pass: Pass| -> &Convolution {
                    told.iter().find(|c| c.pass == pass).unwrap_or_else(|| panic!("no {pass:?} of {case:?} among {told:?}"))
                };
                for c in [of(Pass::Forward), of(Pass::Input), of(Pass::Weight)] {
                    let channels = (c.batch, c.groups, c.inputs, c.outputs, c.rank);
                    let per_group = (4 / groups as u32, 6 / groups as u32);
                    assert_eq!(channels, (2, groups as u32, per_group.0, per_group.1, rank), "{c:?}");
                    for (axis, size) in c.axes.iter().zip(&case.size) {
                        let numbers = (axis.w, axis.stride, axis.dilation, axis.padding[0]);
                        assert_eq!(numbers, (3, stride as u32, dilation as u32, padding.0 as u32), "{c:?}");
                        // Elements at the end that no window sees may be left out, and then so may be the padding after them.
                        let whole = size + padding.0 + padding.1;
                        let y = (whole - 2 * dilation - 1) / stride + 1;
                        let seen = (y - 1) * stride + 2 * dilation + 1;
                        let x = (*size).min(seen - padding.0);
                        assert_eq!(axis.y as usize, y, "{c:?}");
                        assert!(axis.x as usize == x || axis.x as usize == *size, "{c:?}");
                    }
                }
            }
        }
    }
}

/// Costs decide: a library that gains nothing by a convolution is not asked, and its padding stays a kernel.
#[test]
fn padding_is_said_where_a_library_is_asked() {
    let _alone = alone();
    Config { products: Products::Own, ..Config::clone(&Config::current().unwrap()) }.apply();
    let device = Device::open("cpu").unwrap();
    let none = Rates::default();
    // Of 2 items, 4 times 6 channels, 7 times 7 windows of 3 times 3 taps.
    let rates = Rates { own: 1024, library: 2048, least: 2 * 4 * 6 * 49 * 9, shortest: 0, around: [0, 0] };
    let all = ByDtype { half: none, single: rates, tf32: none, double: none };
    let words = Words { bias: true, relu: true, ..Words::default() };
    let library =
        Library { words, half: none, single: none, tf32: none, double: none, convolution: Some(all), copied: u32::MAX, launch: 0, near: 0 };
    let launches = |library: Option<Library>, size: usize, twice: bool| {
        let draw = |shape: &[usize], seed| stored(Tensor::from_vec(numbers(shape, seed), shape, &device));
        let padded = draw(&[2, 4, size, size], 1).pad(&[(0, 0), (0, 0), (1, 1), (1, 1)]);
        let y = padded.conv2d(&draw(&[6, 4, 3, 3], 2), Some(&draw(&[6], 3)), &ConvOptions::default()).relu();
        let mut wanted = vec![y];
        // Dropped otherwise: what has a handle is wanted.
        wanted.extend(Some(padded).filter(|_| twice));
        watch::n_launches(&wanted, library)
    };
    assert_eq!(launches(None, 7, false), 2, "zeros are put around it, then it is convolved");
    assert_eq!(launches(Some(library), 7, false), 1, "the library puts them there");
    assert_eq!(launches(Some(library), 6, false), 2, "too little work");
    assert_eq!(launches(Some(library), 7, true), 2, "what is wanted itself is made");
    assert_eq!(launches(Some(Library { convolution: None, single: rates, ..library }), 7, false), 2, "it only multiplies");
    assert_eq!(
        launches(Some(Library { convolution: Some(ByDtype { half: rates, ..ByDtype::default() }), ..library }), 7, false),
        2,
        "of halves"
    );
}

/// What is normalized: a name, whether it is one kernel that the library has words for, and the value.
type NormCase = (&'static str, bool, fn(&Tensor, &Tensor, &Tensor) -> Vec<Tensor>);

const NORMS: [NormCase; 15] = [
    ("layer norm", true, |x, w, b| vec![x.layer_norm(Some(w), Some(b), 1e-5)]),
    ("layer norm and relu", true, |x, w, b| vec![x.layer_norm(Some(w), Some(b), 1e-5).relu()]),
    ("layer norm and GELU, no bias", true, |x, w, _| vec![x.layer_norm(Some(w), None, 1e-3).gelu_tanh()]),
    ("layer norm alone", true, |x, _, _| vec![x.layer_norm(None, None, 1e-5)]),
    ("layer norm and what it normalized", true, |x, w, _| {
        let normed = x.layer_norm(None, None, 1e-5);
        vec![&normed * w, normed]
    }),
    ("RMS norm", true, |x, w, _| vec![x.rms_norm(Some(w), 1e-6)]),
    ("RMS norm alone and relu", true, |x, _, _| vec![x.rms_norm(None, 1e-6).relu()]),
    ("softmax", true, |x, _, _| vec![x.softmax(-1)]),
    ("log softmax", true, |x, _, _| vec![x.log_softmax(-1)]),
    ("softmax of columns", true, |x, _, _| vec![x.softmax(0)]),
    ("softmax across the grain", true, |x, _, _| vec![x.transpose(0, 1).softmax(-1)]),
    ("layer norm across the grain", true, |x, _, _| vec![x.transpose(0, 1).layer_norm(None, None, 1e-5)]),
    ("a part of the rows", true, |x, w, b| vec![x.narrow(0, 1, 2).layer_norm(Some(w), Some(b), 1e-5)]),
    ("softmax times two", false, |x, _, _| vec![x.softmax(-1) * 2.0]),
    ("layer norm of a square", false, |x, w, b| vec![x.square().layer_norm(Some(w), Some(b), 1e-5)]),
];

/// Norms and softmaxes by their words; what there are no words for is the driver's own.
#[test]
fn a_library_normalizes() {
    let _alone = alone();
    let cpu = Device::open("cpu").unwrap();
    for (d, device) in with_library().iter().enumerate() {
        let dtypes = [DType::F32, DType::F16, DType::BF16, DType::F64];
        for (what, is_taken, make) in NORMS {
            for dtype in dtypes.into_iter().filter(|dtype| d != 1 || *dtype != DType::F64) {
                // A row of one element, and rows that the interpreter's library refuses when it is asked for them.
                for columns in [8, 1, REFUSED as usize] {
                    let made = |on: &Device| {
                        let draw = |shape: &[usize], seed| stored(Tensor::from_vec(numbers(shape, seed), shape, on).cast(dtype));
                        let ys = make(&draw(&[5, columns], 1), &draw(&[columns], 2), &draw(&[columns], 3));
                        Tensor::realize_all(&ys.iter().collect::<Vec<_>>()).unwrap();
                        ys.iter().map(values).collect::<Vec<_>>()
                    };
                    let want = made(&cpu);
                    // From the second time on it is a sequence that was prepared.
                    for round in 0..2 {
                        let before = norms();
                        for (got, want) in made(device).iter().zip(&want) {
                            let off = close(got, want, Tolerance::new(dtype, columns.max(5)));
                            assert!(off.is_ok(), "{} {what} {dtype} {columns}, round {round}: {off:?}", device.name());
                        }
                        let (done, refused) = (norms().0 - before.0, norms().1 - before.1);
                        let of_columns = what.contains("columns") || what.contains("grain");
                        let refuses = is_taken && columns == REFUSED as usize && !of_columns;
                        // A row of one element may be no row to the planner.
                        if columns > 1 {
                            assert_eq!(done, usize::from(is_taken && !refuses), "{} {what} {dtype} {columns}", device.name());
                            assert!(refused == 0 || refuses && round == 0, "{} {what} {dtype} {columns}", device.name());
                        }
                    }
                }
            }
        }
    }
}

/// Batch norm in training is one kernel, whose rows are the channels, with the statistics among its results.
#[test]
fn a_library_normalizes_batches() {
    let _alone = alone();
    let cpu = Device::open("cpu").unwrap();
    for device in with_library() {
        for dtype in [DType::F32, DType::BF16] {
            for (what, is_taken) in [("all", true), ("statistics", true), ("a group norm", true), ("its gradient", false)] {
                let made = |on: &Device| {
                    let draw = |shape: &[usize], seed| stored(Tensor::from_vec(numbers(shape, seed), shape, on).cast(dtype));
                    let (x, w, b) = (draw(&[3, 6, 2, 5], 1), draw(&[6], 2), draw(&[6], 3));
                    let ys = match what {
                        "all" => {
                            let (y, mean, var) = x.batch_norm_train(Some(&w), Some(&b), 1e-5);
                            vec![y.relu(), mean, var]
                        }
                        "statistics" => {
                            let (_, mean, var) = x.batch_norm_train(None, None, 1e-5);
                            vec![mean, var]
                        }
                        "a group norm" => vec![x.group_norm(3, None, None, 1e-5)],
                        _ => {
                            let x = x.requires_grad();
                            let y = x.batch_norm_train(Some(&w), Some(&b), 1e-5).0;
                            vec![grad(&y.square().sum(()), &[&x]).unwrap().remove(0)]
                        }
                    };
                    Tensor::realize_all(&ys.iter().collect::<Vec<_>>()).unwrap();
                    ys.iter().map(values).collect::<Vec<_>>()
                };
                let want = made(&cpu);
                let before = norms().0;
                for (got, want) in made(&device).iter().zip(&want) {
                    let off = close(got, want, Tolerance::new(dtype, 30));
                    assert!(off.is_ok(), "{} {what} {dtype}: {off:?}", device.name());
                }
                assert_eq!(norms().0 - before > 0, is_taken, "{} {what} {dtype}", device.name());
            }
        }
    }
}

/// The gradient of attention as it is: masks, biases, grouped queries, any layout.
#[test]
fn a_library_differentiates_attention() {
    let _alone = alone();
    let cpu = Device::open("cpu").unwrap();
    for device in with_library().into_iter().take(1) {
        let causal = AttentionOptions { causal: true, ..AttentionOptions::default() };
        type Case<'a> = (&'a str, &'a dyn Fn(&Device) -> AttentionOptions, bool);
        let bias = |on: &Device| stored(Tensor::from_vec(numbers(&[1, 4, 5, 6], 9), [1, 4, 5, 6], on));
        let cases: [Case<'_>; 6] = [
            ("plain", &|_| AttentionOptions::default(), true),
            ("causal", &|_| causal.clone(), true),
            ("a window", &|_| AttentionOptions { window: Some(2), q_offset: Some(1.into()), ..causal.clone() }, true),
            ("a scale and valid keys", &|_| AttentionOptions { scale: Some(0.25), kv_len: Some(3.into()), ..Default::default() }, true),
            ("a bias", &|on| AttentionOptions { bias: Some(bias(on)), ..Default::default() }, true),
            ("no keys", &|_| AttentionOptions { kv_len: Some(0.into()), ..Default::default() }, true),
        ];
        let refused_before = attention_grads().1;
        for (dtype, features) in [(DType::F32, 8), (DType::BF16, 8), (DType::F64, 3), (DType::F32, REFUSED as usize)] {
            for (what, options, is_taken) in &cases {
                for (is_turned, kv_heads) in [(false, 4), (true, 2)] {
                    let made = |on: &Device| {
                        let draw = |heads: usize, len: usize, seed| {
                            let shape = if is_turned { [2, len, heads, features] } else { [2, heads, len, features] };
                            let x = stored(Tensor::from_vec(numbers(&shape, seed), shape, on).cast(dtype)).requires_grad();
                            let view = if is_turned { x.transpose(1, 2) } else { x.clone() };
                            (x, view)
                        };
                        let options = options(on);
                        let options = AttentionOptions { bias: options.bias.map(|bias| stored(bias.cast(dtype))), ..options };
                        let (q, k, v) = (draw(4, 5, 1), draw(kv_heads, 6, 2), draw(kv_heads, 6, 3));
                        let y = q.1.attention(&k.1, &v.1, &options);
                        let dy = stored(Tensor::from_vec(numbers(&y.shape(), 4), y.shape(), on).cast(dtype));
                        let gradients = grad(&(&y * dy).sum(()), &[&q.0, &k.0, &v.0]).unwrap();
                        Tensor::realize_all(&gradients.iter().collect::<Vec<_>>()).unwrap();
                        gradients.iter().map(values).collect::<Vec<_>>()
                    };
                    let want = made(&cpu);
                    for round in 0..2 {
                        let what = format!("{what} {dtype} {features}, turned {is_turned}, round {round}");
                        let before = attention_grads();
                        for (got, want) in made(&device).iter().zip(&want) {
                            let off = close(got, want, Tolerance::new(dtype, 8 * features));
                            assert!(off.is_ok(), "{what}: {off:?}");
                        }
                        let (done, refused) = (attention_grads().0 - before.0, attention_grads().1 - before.1);
                        let is_refused = features == REFUSED as usize;
                        assert_eq!(done, usize::from(*is_taken && !is_refused), "{what}");
                        assert!(refused == 0 || *is_taken && is_refused && round == 0, "{what}: {refused} refused");
                    }
                }
            }
        }
        assert!(attention_grads().1 > refused_before, "nothing was refused");
    }
}
