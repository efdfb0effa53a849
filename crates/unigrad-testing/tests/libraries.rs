//! The hook for vendors' libraries, by the interpreter's library of products: cases of the op table, and trainings whose steps are prepared sequences.
//! A program of its own, for what does products is a setting of the process.

use std::sync::{Mutex, MutexGuard, PoisonError};
use unigrad::{
    prelude::*,
    tensor::{DelayedScaling, Format, Fp8Recipe, autocast_fp8, grad},
};
use unigrad_device::{Config, Products};
use unigrad_interpreter::{REFUSED, attentions, products, products_of_codes, products_with_arguments};
use unigrad_kernel::{Library, Rates, Words};
use unigrad_testing::{Values, cases, compare::Tolerance, compare::close, run, watch};

/// Whether one of the devices says what its library does.
fn devices_are_counted() -> bool {
    unigrad_testing::devices().iter().any(|device| device.backend() == "interpreter")
}

/// The setting, and the counts of what the library has done, are the process's.
static ALONE: Mutex<()> = Mutex::new(());

/// One test at a time, whatever became of those before.
fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Devices that have a library of products, from now on used wherever it can be.
fn with_library() -> Vec<Device> {
    Config { products: Products::Library, ..Config::clone(&Config::current().unwrap()) }.apply();
    let devices: Vec<Device> = unigrad_testing::devices()
        .into_iter()
        .filter(|device| ["interpreter", "cuda", "hip", "metal"].contains(&device.backend()))
        .collect();
    if devices.is_empty() {
        println!("SKIPPED: no device here has a library of products");
    }
    devices
}

#[test]
fn products_of_the_op_table() {
    let _alone = alone();
    let devices = with_library();
    let before = products().0;
    let mut all = cases::parse(include_str!("../goldens/linalg.txt")).unwrap();
    all.extend(cases::parse(include_str!("../goldens/networks.txt")).unwrap());
    assert!(run::run(&all, &devices).print(), "see the FAIL lines above");
    let done = products().0 - before;
    let counted = devices.iter().any(|device| device.backend() == "interpreter");
    assert!(!counted || done > 200, "the library did {done} products");
}

/// Losses of a small network, whose layers have a bias and an activation; sums of `k` elements in the first layer.
fn losses(k: usize, dtype: DType, gelu: bool, device: &Device) -> Result<Vec<f32>> {
    // Drawn on one device, so that all have the same numbers.
    let cpu = Device::open("cpu")?;
    manual_seed(3);
    let draw = |shape: [usize; 2]| Tensor::uniform(shape, -0.5, 0.5, DType::F32, &cpu).to(device).cast(dtype);
    let (x, y) = (draw([9, k]).realize()?, draw([9, 3]).realize()?);
    let mut weights = vec![draw([k, 8]), draw([1, 8]), draw([8, 3]), draw([1, 3])];
    let mut losses = Vec::new();
    for _ in 0..4 {
        let parameters: Vec<Tensor> = weights.iter().map(|w| w.detach().requires_grad()).collect();
        let hidden = x.matmul(&parameters[0]).add(parameters[1].reshape([8]));
        let hidden = if gelu { hidden.gelu_tanh() } else { hidden.relu() };
        let loss = hidden.matmul(&parameters[2]).add(parameters[3].reshape([3])).mse_loss(&y);
        let gradients = grad(&loss, &parameters.iter().collect::<Vec<_>>())?;
        weights = parameters.iter().zip(&gradients).map(|(w, g)| w.detach() - g * 0.5).collect();
        let mut wanted: Vec<&Tensor> = weights.iter().collect();
        wanted.push(&loss);
        Tensor::realize_all(&wanted)?;
        losses.push(loss.cast(DType::F32).item::<f32>()?);
    }
    Ok(losses)
}

#[test]
fn a_training_by_the_library_is_one_by_the_drivers_own_programs() {
    let _alone = alone();
    for device in with_library() {
        // With sums of `REFUSED`, the interpreter's library refuses the first layer's product when it is launched.
        for (k, gelu, dtype) in
            [(7, false, DType::F32), (13, false, DType::F32), (13, true, DType::BF16), (7, true, DType::F16), (16, true, DType::F32)]
        {
            let before = products();
            let library = losses(k, dtype, gelu, &device).unwrap();
            let (done, refused) = products();
            if device.backend() == "interpreter" {
                assert!(done >= before.0 + 8, "{k}: the library did {} products", done - before.0);
                assert_eq!(refused > before.1, k == REFUSED as usize, "{k}");
            }
            let bound = if dtype == DType::F32 { 1e-4 } else { 2e-2 };
            let wanted = losses(k, dtype, gelu, &Device::open("cpu").unwrap()).unwrap();
            for (wanted, library) in wanted.iter().zip(&library) {
                assert!(
                    (wanted - library).abs() <= bound * wanted.abs().max(1e-3),
                    "{} {k} {dtype}: {library}, not {wanted}",
                    device.name()
                );
            }
        }
    }
}

/// NaN and infinity pass a product's activation as they pass the driver's own.
#[test]
fn what_is_not_finite_stays_so() {
    let _alone = alone();
    for device in with_library() {
        for dtype in [DType::F32, DType::F16, DType::BF16] {
            let mut values = vec![1.0f32; 64 * 64];
            (values[0], values[64], values[128]) = (f32::NAN, f32::INFINITY, f32::NEG_INFINITY);
            let x = Tensor::from_slice(&values, [64, 64], &device).cast(dtype).realize().unwrap();
            let w = Tensor::ones([64, 32], dtype, &device).realize().unwrap();
            let bias = Tensor::ones([32], dtype, &device).realize().unwrap();
            for gelu in [false, true] {
                let y = {
                    let y = x.matmul(&w).add(&bias);
                    if gelu { y.gelu_tanh() } else { y.relu() }
                };
                let y: Vec<f32> = y.cast(DType::F32).to_vec().unwrap();
                assert!(y[..32].iter().all(|y| y.is_nan()), "{} {dtype} {gelu}: NaN became {}", device.name(), y[0]);
                assert!(y[32..64].iter().all(|y| *y == f32::INFINITY), "{} {dtype} {gelu}: {}", device.name(), y[32]);
                let below = y[64..96].iter().all(|y| *y == 0.0 || (gelu && y.is_nan()));
                assert!(below, "{} {dtype} {gelu}: {}", device.name(), y[64]);
            }
        }
    }
}

/// In memory, without a graph behind it.
fn stored(x: Tensor) -> Tensor {
    x.realize().unwrap().detach()
}

fn numbers(shape: &[usize], seed: usize) -> Vec<f32> {
    (0..shape.iter().product()).map(|i| ((i * 7919 + seed * 104_729 + i * i % 31) % 257) as f32 / 64.0 - 2.0).collect()
}

/// An operand of a product as it lies in memory, and what is read of it.
type Operand = (&'static str, fn(&Tensor) -> Tensor, fn(&Tensor) -> Tensor);

/// What a library cannot read as it lies: it is made in memory first.
const OPERANDS: [Operand; 6] = [
    ("f32 to bf16", |w| w.clone(), |w| w.cast(DType::BF16)),
    ("f32 to f16", |w| w.clone(), |w| w.cast(DType::F16)),
    ("f8e4m3", |w| w.cast(DType::F8E4M3), |w| w.cast(DType::F32)),
    ("f8e5m2 to bf16", |w| w.cast(DType::F8E5M2), |w| w.cast(DType::BF16)),
    (
        "i8 with scales",
        |w| (w * 40.0).cast(DType::I8),
        |w| {
            let scales = numbers(&w.shape()[..1], 5).into_iter().map(|scale| scale / 64.0).collect();
            w.cast(DType::F32) * stored(Tensor::from_vec(scales, [w.shape()[0], 1], &w.device().unwrap()))
        },
    ),
    ("q4_0 to f16", |w| w.clone(), |w| w.quantize(Format::Q4_0).unwrap().dequantize(DType::F16)),
];

/// The product of `x: [m, k]` and `w`, which is `[k, n]` or, turned, `[n, k]`, in one of the ways that a library is asked in.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Way {
    Right,
    /// With a bias and an activation that a library has words for.
    Relu,
    /// With an epilogue that none has words for.
    Abs,
    /// As the left operand.
    Left,
    /// Several products with one weight.
    Batch,
    /// Both are made.
    Both,
}

const WAYS: [Way; 6] = [Way::Right, Way::Relu, Way::Abs, Way::Left, Way::Batch, Way::Both];

fn product(way: Way, [m, n, k]: [usize; 3], turned: bool, operand: &Operand, device: &Device) -> Tensor {
    let (_, store, read) = operand;
    let draw = |shape: &[usize], seed| Tensor::from_vec(numbers(shape, seed), shape, device);
    let shape = if turned { [n, k] } else { [k, n] };
    let w = read(&stored(store(&draw(&shape, 3))));
    let w = if turned { w.transpose(0, 1) } else { w };
    let x = |shape: &[usize]| stored(draw(shape, 2).cast(w.dtype()));
    match way {
        Way::Right => x(&[m, k]).matmul(&w),
        Way::Relu => x(&[m, k]).matmul(&w).add(stored(draw(&[n], 4).cast(w.dtype()))).relu(),
        Way::Abs => x(&[m, k]).matmul(&w).abs(),
        Way::Left => w.transpose(0, 1).matmul(&x(&[k, m])),
        Way::Batch => x(&[3, m, k]).matmul(&w.unsqueeze(0).expand([3, k, n])),
        Way::Both => read(&stored(store(&draw(&[m, k], 2)))).matmul(&w),
    }
}

/// A library reads operands that lie in memory as it multiplies them. Others are made there for it.
#[test]
fn a_library_multiplies_what_is_made_for_it() {
    let _alone = alone();
    let cpu = Device::open("cpu").unwrap();
    let (mut right, refused_before) = (true, products().1);
    for device in with_library() {
        let counted = device.backend() == "interpreter";
        for operand in &OPERANDS {
            for (way, turned) in WAYS.into_iter().flat_map(|way| [(way, false), (way, true)]) {
                // Whole blocks of q4_0; and sums that the interpreter's library refuses when it is asked for the product.
                for sizes @ [_, n, k] in [[5, 32, 64], [5, 32, REFUSED as usize]] {
                    if operand.0.starts_with("q4_0") && (way == Way::Both || turned) && k % 32 != 0 || n == 0 {
                        continue;
                    }
                    let what = format!("{} {} {way:?} {sizes:?} turned {turned}", device.name(), operand.0);
                    let values = |device: &Device| {
                        let y = product(way, sizes, turned, operand, device);
                        Values::from_f64(y.dtype(), &y.shape(), &y.to_f64_vec().unwrap())
                    };
                    let dtype = product(way, sizes, turned, operand, &cpu).dtype();
                    let want = values(&cpu);
                    // From the second time on it is a sequence that was prepared.
                    for round in 0..3 {
                        let before = products();
                        if let Err(difference) = close(&values(&device), &want, Tolerance::new(dtype, k)) {
                            println!("FAIL {what}, round {round}: {difference:?}");
                            right = false;
                        }
                        let (done, refused) = (products().0 - before.0, products().1 - before.1);
                        let refuses = k == REFUSED as usize;
                        let wanted = if refuses { done == 0 && (round == 0 || refused == 0) } else { (done, refused) == (1, 0) };
                        if counted && !wanted {
                            println!("FAIL {what}, round {round}: {done} done, {refused} refused");
                            right = false;
                        }
                    }
                }
            }
        }
    }
    let refuses = products().1 > refused_before || !devices_are_counted();
    assert!(right && refuses, "see the FAIL lines above");
}

/// Products of two operands of 8-bit floats are asked for with the codes as they lie, with a factor of each where there is one.
#[test]
fn a_library_multiplies_8_bit_floats() {
    let _alone = alone();
    let cpu = Device::open("cpu").unwrap();
    let (mut right, refused_before) = (true, products().1);
    for device in with_library() {
        let counted = device.backend() == "interpreter";
        let pairs = DType::STORED.into_iter().flat_map(|a| DType::STORED.map(|b| (a, b)));
        for ((a, b), (to, scaled)) in pairs.flat_map(|pair| {
            [DType::F32, DType::BF16, DType::F16].into_iter().flat_map(move |to| [(pair, (to, false)), (pair, (to, true))])
        }) {
            for (what, turned, batch, epilogue) in [
                ("plain", true, 1, 0),
                ("not turned", false, 1, 0),
                ("a batch", true, 3, 0),
                ("words", true, 1, 1),
                ("no words", true, 1, 2),
            ] {
                // Sums of as many products as the interpreter's library refuses, and others.
                for [m, n, k] in [[16, 32, 48], [5, 7, REFUSED as usize]] {
                    let made = |device: &Device| {
                        let draw = |shape: &[usize], seed| Tensor::from_vec(numbers(shape, seed), shape, device);
                        let read = |codes: Tensor, seed| {
                            let factor = stored(Tensor::from_vec(vec![0.75 + seed as f32], [1], device));
                            let values = stored(codes).cast(DType::F32);
                            if scaled { (values * factor).cast(to) } else { values.cast(to) }
                        };
                        let x = read(draw(&[batch, m, k], 1).cast(a), 1);
                        let shape = if turned { [n, k] } else { [k, n] };
                        let w = read(draw(&shape, 2).cast(b), 2);
                        let w = if turned { w.transpose(0, 1) } else { w };
                        let y = x.matmul(&w.unsqueeze(0).expand([batch, k, n]));
                        match epilogue {
                            0 => y,
                            1 => y.add(stored(draw(&[n], 4).cast(to))).relu(),
                            _ => y.abs(),
                        }
                    };
                    let values = |device: &Device| {
                        let y = made(device);
                        Values::from_f64(y.dtype(), &y.shape(), &y.to_f64_vec().unwrap())
                    };
                    let want = values(&cpu);
                    for round in 0..2 {
                        let before = (products(), products_of_codes());
                        // A library multiplies by a factor after the sum; the driver's own programs round the operand that has been multiplied.
                        let tolerance = Tolerance::new(to, k);
                        if let Err(difference) = close(&values(&device), &want, tolerance) {
                            println!("FAIL {} {a} {b} {to} scaled {scaled} {what} {k}, round {round}: {difference:?}", device.name());
                            right = false;
                        }
                        let (done, refused, coded) = (products().0 - before.0.0, products().1 - before.0.1, products_of_codes() - before.1);
                        let wanted = if k == REFUSED as usize {
                            done == 0 && (round == 0 || refused == 0)
                        } else {
                            (done, refused, coded) == (1, 0, 1)
                        };
                        if counted && !wanted {
                            println!(
                                "FAIL {a} {b} {to} scaled {scaled} {what} {k}, round {round}: {done} done, {refused} refused, {coded} of codes"
                            );
                            right = false;
                        }
                    }
                }
            }
        }
    }
    let refuses = products().1 > refused_before || !devices_are_counted();
    assert!(right && refuses, "see the FAIL lines above");
}

/// A product in 8-bit floats and both of its gradients are asked for with codes that the plan itself has made.
#[test]
fn a_library_multiplies_what_a_recipe_rounds() {
    let _alone = alone();
    let cpu = Device::open("cpu").unwrap();
    let [m, k, n] = [16, 48, 32];
    for device in with_library() {
        for recipe in [Fp8Recipe::default(), Fp8Recipe::delayed(&DelayedScaling::default())] {
            for step in 0..2 {
                let all = |device: &Device, recipe: &Fp8Recipe| -> Vec<Vec<f64>> {
                    let x = stored(Tensor::from_vec(numbers(&[m, k], step), [m, k], device)).requires_grad();
                    let w = stored(Tensor::from_vec(numbers(&[n, k], 2), [n, k], device)).requires_grad();
                    let y = autocast_fp8(recipe, || x.linear(&w, None));
                    let gradients = grad(&y.cast(DType::F32).square().sum(()), &[&x, &w]).unwrap();
                    let all = [&y, &gradients[0], &gradients[1]];
                    Tensor::realize_all(&all).unwrap();
                    all.iter().map(|x| x.to_f64_vec().unwrap()).collect()
                };
                let before = (products(), products_of_codes());
                let got = all(&device, &recipe);
                let (done, coded) = (products().0 - before.0.0, products_of_codes() - before.1);
                if device.backend() == "interpreter" {
                    assert_eq!((done, coded), (3, 3), "{recipe:?}, step {step}");
                }
                // The first step takes its scales from itself either way.
                if step == 0 {
                    for (got, want) in got.iter().zip(all(&cpu, &Fp8Recipe::default())) {
                        let most = want.iter().fold(0.0f64, |most, x| most.max(x.abs()));
                        assert!(got.iter().zip(&want).all(|(got, want)| (got - want).abs() <= most / 128.0), "{}", device.name());
                    }
                }
            }
        }
    }
}

/// What the planner leaves to a library's words: the values to compute, of a product of two matrices, a bias and a residual, and how many launches it
/// takes in `F32` and in `BF16` when a library does products. The driver's own kernel does all in one.
type Epilogue = (&'static str, fn(&Tensor, &Tensor, &Tensor) -> Vec<Tensor>, [usize; 2]);

const EPILOGUES: [Epilogue; 16] = [
    ("bias and relu", |y, bias, _| vec![y.add(bias).relu()], [1, 1]),
    ("a factor, a bias, a residual, GELU", |y, bias, residual| vec![(y * 0.5).add(bias).add(residual).gelu_tanh()], [1, 1]),
    ("a residual first", |y, bias, residual| vec![residual.add(y).add(bias)], [1, 1]),
    (
        "GELU and its argument",
        |y, bias, _| {
            let before = y.add(bias);
            vec![before.gelu_tanh(), before]
        },
        [1, 1],
    ),
    // A policy of precisions asks for it in `f32`, and for a half of it.
    ("GELU of a wider number, narrowed", |y, bias, _| vec![y.add(bias).cast(DType::F32).gelu_tanh().cast(y.dtype())], [1, 1]),
    ("a view between", |y, bias, _| vec![y.reshape([1, 16, 24]).add(bias).relu()], [1, 1]),
    // Without any word the sums go to a program after the product; halves take less room than their sums.
    ("an absolute value", |y, _, _| vec![y.abs()], [1, 2]),
    ("a number for each row", |y, bias, _| vec![y.add(bias.narrow(0, 0, 16).reshape([16, 1])).relu()], [1, 2]),
    ("a computed residual", |y, _, residual| vec![y.add(residual.sin())], [1, 2]),
    // A bias that is computed is in memory when the library reads it.
    ("a computed bias", |y, bias, _| vec![y.add(&(bias * 0.5)).relu()], [2, 2]),
    ("a bias, then an absolute value", |y, bias, _| vec![y.add(bias).abs()], [1, 2]),
    ("GELU by erf", |y, bias, _| vec![y.add(bias).gelu()], [1, 2]),
    ("something after relu", |y, bias, _| vec![y.relu().add(bias)], [1, 2]),
    ("two biases", |y, bias, _| vec![y.add(bias).add(bias.flip([0])).relu()], [1, 2]),
    // Stored for its own sake, it is read once more.
    (
        "GELU by erf and its argument",
        |y, bias, _| {
            let before = y.add(bias);
            vec![before.gelu(), before]
        },
        [2, 2],
    ),
    (
        "a factor, and something after it",
        |y, _, residual| {
            let scaled = y * 0.5;
            vec![scaled.clone(), scaled.add(residual.sin())]
        },
        [2, 2],
    ),
];

#[test]
fn what_a_library_has_words_for_stays_inside() {
    let _alone = alone();
    let cpu = Device::open("cpu").unwrap();
    for device in with_library().into_iter().filter(|device| device.backend() == "interpreter") {
        for (which, dtype) in [DType::F32, DType::BF16].into_iter().enumerate() {
            for (what, values, wanted) in EPILOGUES {
                let made = |device: &Device| {
                    let draw = |shape: &[usize], seed| stored(Tensor::from_vec(numbers(shape, seed), shape, device).cast(dtype));
                    let y = draw(&[16, 8], 1).matmul(&draw(&[8, 24], 2));
                    values(&y, &draw(&[24], 3), &draw(&[16, 24], 4))
                };
                let before = products();
                let got = made(&device);
                assert_eq!(watch::n_launches(&got, None), wanted[which], "{what}, {dtype}");
                assert_eq!((products().0 - before.0, products().1), (1, before.1), "{what}, {dtype}");
                assert_eq!(watch::n_launches(&made(&cpu), None), 1, "{what}, {dtype}: the CPU has no library");
                for (got, want) in got.iter().zip(made(&cpu)) {
                    let values = |x: &Tensor| Values::from_f64(x.dtype(), &x.shape(), &x.to_f64_vec().unwrap());
                    let off = close(&values(got), &values(&want), Tolerance::new(dtype, 8));
                    assert!(off.is_ok(), "{what}, {dtype}: {off:?}");
                }
            }
        }
    }
}

/// `y` times the slope of GELU at `x`, as a gradient has it.
fn gelu_gradient(y: &Tensor, x: &Tensor) -> Tensor {
    let x = x.detach().requires_grad();
    unigrad_tensor::grad_with(&x.gelu_tanh(), y, &[&x]).unwrap().remove(0)
}

/// The gradient of GELU through a product, of tensors so large that what is between is computed again: a library has a word for it where its argument is in
/// memory, and nothing comes after it.
#[test]
fn the_slope_of_gelu_is_a_word() {
    let _alone = alone();
    let cpu = Device::open("cpu").unwrap();
    type Case = (&'static str, fn(&Tensor, &Tensor, &Tensor) -> Tensor, [usize; 2]);
    // Launches in `F32` and in `BF16`.
    let cases: [Case; 4] = [
        ("alone", |y, x, _| gelu_gradient(y, x), [1, 1]),
        ("after a factor and a residual", |y, x, residual| gelu_gradient(&(y * 0.5).add(residual), x), [1, 1]),
        ("at what is computed", |y, x, _| gelu_gradient(y, &x.sin()), [2, 2]),
        ("with something after it", |y, x, _| gelu_gradient(y, x).abs(), [1, 2]),
    ];
    for device in with_library() {
        let is_counted = device.backend() == "interpreter";
        for (which, dtype) in [DType::F32, DType::BF16].into_iter().enumerate() {
            for (what, value, wanted) in cases {
                let made = |device: &Device| {
                    let draw = |shape: &[usize], seed| stored(Tensor::from_vec(numbers(shape, seed), shape, device).cast(dtype));
                    let y = draw(&[256, 8], 1).matmul(&draw(&[8, 256], 2));
                    value(&y, &draw(&[256, 256], 3), &draw(&[256, 256], 4))
                };
                let before = (products().0, products_with_arguments().1);
                let got = made(&device);
                let n_launches = watch::n_launches(std::slice::from_ref(&got), None);
                let done = (products().0 - before.0, products_with_arguments().1 - before.1);
                // What comes after a half is another launch, so that the word is said before it; of `F32` sums it is in the driver's own epilogue.
                let is_said = usize::from(match what {
                    "at what is computed" => false,
                    "with something after it" => dtype == DType::BF16,
                    _ => true,
                });
                assert!(
                    !is_counted || (n_launches, done) == (wanted[which], (1, is_said)),
                    "{what}, {dtype}: {n_launches} launches, {done:?}"
                );
                let values = |x: &Tensor| Values::from_f64(x.dtype(), &x.shape(), &x.to_f64_vec().unwrap());
                // The slope is a formula of a half, which is rounded at other places.
                let off = close(&values(&got), &values(&made(&cpu)), Tolerance::new(dtype, 8).times(4.0));
                assert!(off.is_ok(), "{what}, {dtype}: {off:?}");
            }
        }
    }
}

/// Two layers with GELU between, under a policy of precisions, and their gradients: GELU's argument is kept by the product before it, and read by the one that
/// sends the gradient back. With biases and items as in a transformer too, where the gradient of the first bias is the sum of what that product gives.
#[test]
fn gelu_of_a_training_step_is_in_words() {
    let _alone = alone();
    let cpu = Device::open("cpu").unwrap();
    for device in with_library() {
        let forms = [(&[256usize][..], false), (&[256], true), (&[4, 64], false), (&[4, 64], true)];
        for (dtype, (lead, biased)) in [DType::BF16, DType::F16].into_iter().flat_map(|dtype| forms.map(|form| (dtype, form))) {
            let step = |device: &Device| {
                let draw = |shape: &[usize], seed| stored(Tensor::from_vec(numbers(shape, seed), shape, device)).requires_grad();
                let x = draw(&[lead, &[8]].concat(), 1);
                let [first, second, up, down] = [draw(&[256, 8], 2), draw(&[8, 256], 4), draw(&[256], 5), draw(&[8], 6)];
                let loss = unigrad_tensor::autocast(dtype, || {
                    let hidden = x.linear(&first, biased.then_some(&up)).gelu_tanh();
                    hidden.linear(&second, biased.then_some(&down)).square().mean(())
                });
                let mut of = vec![&x, &first, &second];
                of.extend(if biased { vec![&up, &down] } else { vec![] });
                let gradients = grad(&loss, &of).unwrap();
                Tensor::realize_all(&gradients.iter().chain([&loss]).collect::<Vec<_>>()).unwrap();
                gradients
            };
            let before = products_with_arguments();
            let got = step(&device);
            let (kept, sloped) = products_with_arguments();
            if device.backend() == "interpreter" {
                assert_eq!((kept - before.0, sloped - before.1), (1, 1), "{dtype}, {lead:?}, biases: {biased}");
            }
            let values = |x: &Tensor| Values::from_f64(x.dtype(), &x.shape(), &x.to_f64_vec().unwrap());
            for (at, (got, wanted)) in got.iter().zip(step(&cpu)).enumerate() {
                let off = close(&values(got), &values(&wanted), Tolerance::new(dtype, 256).times(4.0));
                assert!(off.is_ok(), "{}, {dtype}, {lead:?}, biases: {biased}, gradient {at}: {off:?}", device.name());
            }
        }
    }
}

/// A library's algorithms that are chosen by time give the same product, the same bits each time, and what was chosen is told.
#[test]
fn what_is_chosen_by_time_is_the_same_product() {
    let _alone = alone();
    let devices: Vec<Device> = with_library().into_iter().filter(|device| device.backend() == "cuda").collect();
    if devices.is_empty() {
        println!("SKIPPED: no device here chooses by time");
    }
    let set = |reproducible| Config { reproducible, ..Config::clone(&Config::current().unwrap()) }.apply();
    for device in devices {
        // Sizes of no other test, so that nothing is compiled for them.
        for (dtype, [m, n, k]) in [(DType::BF16, [1048, 776, 520]), (DType::F16, [776, 1048, 264]), (DType::F32, [264, 520, 1032])] {
            let draw = |shape: &[usize], seed| stored(Tensor::from_vec(numbers(shape, seed), shape, &device).cast(dtype));
            let (x, w, bias) = (draw(&[m, k], 1), draw(&[n, k], 2), draw(&[n], 3));
            let product = |x: &Tensor| {
                let y = x.linear(&w, Some(&bias)).gelu_tanh();
                y.to_f64_vec().unwrap()
            };
            set(false);
            let first = product(&x);
            assert_eq!(product(&x), first, "{dtype}");
            let choices = device.choices();
            assert!(choices.iter().any(|(what, _)| what.contains(&format!("m: {m}, n: {n}, k: {k}"))), "{dtype}: {choices:?}");
            device.choose(&[("what is not known".to_owned(), "00".to_owned())]);
            device.choose(&choices);
            assert_eq!(device.choices(), choices);
            set(true);
            device.clear_programs();
            let wanted = product(&x);
            let values = |values: &[f64]| Values::from_f64(dtype, &[m, n], values);
            let off = close(&values(&first), &values(&wanted), Tolerance::new(dtype, k));
            assert!(off.is_ok(), "{dtype}: {off:?}");
        }
    }
    set(std::env::var_os("UNIGRAD_REPRODUCIBLE").is_some());
}

/// Costs decide: a library that gains less than a pass over the result takes leaves the epilogue inside.
#[test]
fn a_pass_over_the_result_is_weighed() {
    let _alone = alone();
    Config { products: Products::Own, ..Config::clone(&Config::current().unwrap()) }.apply();
    let device = Device::open("cpu").unwrap();
    let none = Rates::default();
    // 4 nanoseconds are gained in 8192 multiplications.
    let rates = Rates { own: 1024, library: 2048, least: 8192, shortest: 8, around: [0, 0] };
    let words = Words { bias: true, ..Words::default() };
    let of = |copied, launch| Library {
        words,
        half: rates,
        single: rates,
        tf32: none,
        double: none,
        convolution: None,
        copied,
        launch,
        near: 0,
    };
    let made = |rows: usize, dtype: DType, both: bool| {
        let draw = |shape: &[usize], seed| stored(Tensor::from_vec(numbers(shape, seed), shape, &device).cast(dtype));
        let y = draw(&[rows, 32], 1).matmul(&draw(&[32, 16], 2)).add(draw(&[16], 3));
        if both { vec![y.abs(), y] } else { vec![y.abs()] }
    };
    let halves = |rows, library| watch::n_launches(&made(rows, DType::BF16, false), Some(library));
    // The result is half a KiB, written and read: 1024 bytes; its sums are 2048.
    assert_eq!(halves(16, of(512, 1)), 2, "4 gained, 3 lost");
    assert_eq!(halves(16, of(512, 2)), 1, "4 gained, 4 lost");
    assert_eq!(halves(16, of(256, 0)), 1, "4 gained, 4 lost");
    assert_eq!(halves(15, of(u32::MAX, 0)), 1, "too little work");
    assert_eq!(halves(16, Library { half: Rates { shortest: 17, ..rates }, ..of(u32::MAX, 0) }), 1, "too short");
    assert_eq!(halves(16, Library { half: none, ..of(u32::MAX, 0) }), 1, "no library");
    assert_eq!(halves(16, Library { words: Words::default(), ..of(u32::MAX, 0) }), 2, "no words: the product is stored");
    assert_eq!(halves(16, Library { words: Words::default(), ..of(256, 0) }), 1, "no words, and 4 lost");
    let near = |near| Library { words: Words::default(), near, ..of(u32::MAX, 0) };
    assert_eq!((halves(16, near(1023)), halves(16, near(1024))), (2, 1), "no words, and 1024 bytes of sums that stay near or do not");
    // What the own kernel takes for 256 results: to store them does not count where something is done with them.
    let busy = |around| Library { half: Rates { around, ..rates }, ..of(256, 0) };
    assert_eq!((halves(16, busy([1_000_000, 0])), halves(16, busy([0, 1_000_000]))), (1, 2), "what is around the sums is weighed");
    // As wide as its sums, it is no cheaper than they are; if it is wanted itself it is.
    assert_eq!(watch::n_launches(&made(16, DType::F32, false), Some(of(1024, 0))), 1);
    assert_eq!(watch::n_launches(&made(16, DType::F32, true), Some(of(1024, 0))), 2);
}

/// A library takes kernels of other kinds as they are: attention, with masks, biases, grouped queries and any layout.
#[test]
fn a_library_attends() {
    let _alone = ALONE.lock().unwrap();
    let (cpu, refused_before) = (Device::open("cpu").unwrap(), attentions().1);
    for device in with_library().into_iter().filter(|device| device.backend() == "interpreter") {
        let causal = AttentionOptions { causal: true, ..AttentionOptions::default() };
        type Case<'a> = (&'a str, &'a dyn Fn(&Device) -> AttentionOptions, bool);
        let cases: [Case<'_>; 7] = [
            ("plain", &|_| AttentionOptions::default(), true),
            ("causal", &|_| causal.clone(), true),
            ("a window", &|_| AttentionOptions { window: Some(2), q_offset: Some(1.into()), ..causal.clone() }, true),
            ("a scale and valid keys", &|_| AttentionOptions { scale: Some(0.25), kv_len: Some(3.into()), ..Default::default() }, true),
            (
                "a bias",
                &|on| AttentionOptions { bias: Some(Tensor::from_vec(numbers(&[5, 6], 7), [5, 6], on)), ..Default::default() },
                true,
            ),
            ("queries that see nothing", &|_| AttentionOptions { kv_len: Some(0.into()), ..Default::default() }, true),
            (
                "a length for each",
                &|on| AttentionOptions { kv_len: Some(Tensor::from_vec(vec![2i64, 6], [2], on).into()), ..Default::default() },
                false,
            ),
        ];
        for (dtype, features) in [(DType::F32, 8), (DType::BF16, 8), (DType::F16, 8), (DType::F64, 8), (DType::F32, REFUSED as usize)] {
            for (what, options, is_taken) in &cases {
                for is_turned in [false, true] {
                    let made = |on: &Device| {
                        let draw = |heads: usize, len: usize, seed| {
                            let shape = if is_turned { [2, len, heads, features] } else { [2, heads, len, features] };
                            let x = stored(Tensor::from_vec(numbers(&shape, seed), shape, on).cast(dtype));
                            if is_turned { x.transpose(1, 2) } else { x }
                        };
                        let options = options(on);
                        let options = AttentionOptions { bias: options.bias.map(|bias| stored(bias.cast(dtype))), ..options };
                        let y = draw(4, 5, 1).attention(&draw(2, 6, 2), &draw(2, 6, 3), &options);
                        Values::from_f64(dtype, &y.shape(), &y.to_f64_vec().unwrap())
                    };
                    let want = made(&cpu);
                    for round in 0..3 {
                        let what = format!("{what} {dtype} {features}, turned {is_turned}, round {round}");
                        let before = attentions();
                        let off = close(&made(&device), &want, Tolerance::new(dtype, features));
                        assert!(off.is_ok(), "{what}: {off:?}");
                        let (done, refused) = (attentions().0 - before.0, attentions().1 - before.1);
                        let is_refused = features == REFUSED as usize;
                        assert_eq!(done, usize::from(*is_taken && !is_refused), "{what}");
                        assert!(refused == 0 || *is_taken && is_refused && round == 0, "{what}: {refused} refused");
                    }
                }
            }
        }
        assert!(attentions().1 > refused_before, "nothing was refused");
    }
}

/// Attention of halves and its gradients by a vendor's library, with grouped queries, odd lengths and any layout; the same bits again.
#[test]
fn a_vendors_library_attends() {
    let _alone = alone();
    let cpu = Device::open("cpu").unwrap();
    let devices: Vec<Device> = with_library().into_iter().filter(|device| device.backend() == "cuda").collect();
    if devices.is_empty() {
        println!("SKIPPED: no device here has a vendor's library of attention");
    }
    let mut right = true;
    let causal = AttentionOptions { causal: true, ..AttentionOptions::default() };
    let cases = [
        ("plain", AttentionOptions::default()),
        ("causal", causal.clone()),
        ("causal, moved", AttentionOptions { q_offset: Some(3.into()), ..causal }),
        ("a scale", AttentionOptions { scale: Some(0.25), ..AttentionOptions::default() }),
        ("valid keys", AttentionOptions { kv_len: Some(50.into()), ..AttentionOptions::default() }),
    ];
    // Query heads, key heads, queries, keys, features.
    // Taken are those of whole blocks of 64 positions, few and many, odd and even numbers of them.
    let all = [
        [4, 4, 64, 64, 64],
        [4, 2, 77, 133, 64],
        [2, 2, 128, 128, 128],
        [2, 1, 130, 130, 40],
        [1, 1, 192, 192, 64],
        [3, 3, 320, 320, 128],
        [2, 2, 1024, 1024, 64],
    ];
    for sizes in all {
        for (dtype, is_turned) in [(DType::F16, false), (DType::BF16, true), (DType::F16, true), (DType::BF16, false)] {
            for (what, options) in &cases {
                let [heads, kv_heads, q_len, k_len, features] = sizes;
                let made = |on: &Device| {
                    let draw = |heads: usize, len: usize, seed| {
                        let shape = if is_turned { [2, len, heads, features] } else { [2, heads, len, features] };
                        let x = stored(Tensor::from_vec(numbers(&shape, seed), shape, on).cast(dtype)).requires_grad();
                        let view = if is_turned { x.transpose(1, 2) } else { x.clone() };
                        (x, view)
                    };
                    let (q, k, v) = (draw(heads, q_len, 1), draw(kv_heads, k_len, 2), draw(kv_heads, k_len, 3));
                    let y = q.1.attention(&k.1, &v.1, options);
                    let dy = stored(Tensor::from_vec(numbers(&y.shape(), 4), y.shape(), on).cast(dtype));
                    let mut all = grad(&(&y * dy).sum(()), &[&q.0, &k.0, &v.0]).unwrap();
                    all.push(y);
                    Tensor::realize_all(&all.iter().collect::<Vec<_>>()).unwrap();
                    all.iter().map(|x| Values::from_f64(dtype, &x.shape(), &x.to_f64_vec().unwrap())).collect::<Vec<_>>()
                };
                let want = made(&cpu);
                for device in &devices {
                    let (got, again) = (made(device), made(device));
                    for (which, (got, want)) in ["dq", "dk", "dv", "value"].iter().zip(got.iter().zip(&want)) {
                        // Weights and their changes are rounded to halves, and there are as many as keys.
                        if let Err(off) = close(got, want, Tolerance::new(dtype, 8 * features).times(8.0)) {
                            println!("FAIL {} {sizes:?} {dtype} {what}, {which}: {off:?}", device.name());
                            right = false;
                        }
                    }
                    if got != again {
                        println!("FAIL {} {sizes:?} {dtype} {what}: other bits the second time", device.name());
                        right = false;
                    }
                }
            }
        }
    }
    assert!(right, "see the FAIL lines above");
}
