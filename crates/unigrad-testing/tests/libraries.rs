//! The hook for vendors' libraries, by the interpreter's library of products: cases of the op table, and trainings whose steps are prepared sequences.
//! A program of its own, for who does products is a setting of the process.

use std::sync::Mutex;
use unigrad::{prelude::*, tensor::Format};
use unigrad_device::{Config, Products};
use unigrad_interpreter::{REFUSED, products};
use unigrad_testing::{Values, cases, compare::Tolerance, compare::close, run};

/// The setting, and the counts of what the library has done, are the process's.
static ALONE: Mutex<()> = Mutex::new(());

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
    let _alone = ALONE.lock().unwrap();
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
    let _alone = ALONE.lock().unwrap();
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
    let _alone = ALONE.lock().unwrap();
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
            let scales = numbers(&w.shape()[..1], 5);
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
    Sine,
    /// As the left operand.
    Left,
    /// Several products with one weight.
    Batch,
    /// Both are made.
    Both,
}

const WAYS: [Way; 6] = [Way::Right, Way::Relu, Way::Sine, Way::Left, Way::Batch, Way::Both];

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
        Way::Sine => x(&[m, k]).matmul(&w).sin(),
        Way::Left => w.transpose(0, 1).matmul(&x(&[k, m])),
        Way::Batch => x(&[3, m, k]).matmul(&w.unsqueeze(0).expand([3, k, n])),
        Way::Both => read(&stored(store(&draw(&[m, k], 2)))).matmul(&w),
    }
}

/// A library reads operands that lie in memory as it multiplies them. Others are made there for it.
#[test]
fn a_library_multiplies_what_is_made_for_it() {
    let _alone = ALONE.lock().unwrap();
    let cpu = Device::open("cpu").unwrap();
    let mut right = true;
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
                        let wanted = if refuses { done == 0 && (refused == 1) == (round == 0) } else { (done, refused) == (1, 0) };
                        if counted && !wanted {
                            println!("FAIL {what}, round {round}: {done} done, {refused} refused");
                            right = false;
                        }
                    }
                }
            }
        }
    }
    assert!(right, "see the FAIL lines above");
}
