//! Products in 8-bit floats beside an oracle in `f64` that rounds in the same places by another way: forward, gradients, gradients of gradients; what is
//! stored for them; scales from steps before; rounding at random.

use unigrad_tensor::{
    DType, DelayedScaling, Device, Fp8Recipe, Tensor, autocast, autocast_fp8, checkpoint, eval, grad, grad_with, manual_seed, no_grad,
};
use unigrad_testing::{fast_devices, on_slow_devices};

/// The numbers of a format of 8 bits with so many bits of significand: the greatest, and the exponent of the least normal one.
#[derive(Clone, Copy)]
struct Format {
    mantissa: i32,
    greatest: f64,
    least: i32,
    infinite: bool,
}

const E4M3: Format = Format { mantissa: 3, greatest: 448.0, least: -6, infinite: false };
const E5M2: Format = Format { mantissa: 2, greatest: 57344.0, least: -14, infinite: true };

impl Format {
    /// The greatest power of two by which an amax stays in range.
    fn scale(self, amax: f64, margin: i32) -> f64 {
        if amax == 0.0 || !amax.is_finite() {
            return 1.0;
        }
        let mut power = 126;
        while amax * 2f64.powi(power) > self.greatest {
            power -= 1;
        }
        2f64.powi((power - margin).min(126))
    }

    fn nearest(self, x: f64) -> f64 {
        if x.is_nan() || x.is_infinite() {
            return if self.infinite { x } else { f64::NAN };
        }
        let mut exponent = self.least;
        while x.abs() >= 2f64.powi(exponent + 1) {
            exponent += 1;
        }
        let unit = 2f64.powi(exponent - self.mantissa);
        ((x / unit).round_ties_even() * unit).clamp(-self.greatest, self.greatest)
    }

    /// By a scale, and back.
    fn by(self, x: &[f64], scale: f64) -> Vec<f64> {
        x.iter().map(|x| self.nearest(x * scale) / scale).collect()
    }

    fn round(self, x: &[f64]) -> Vec<f64> {
        self.by(x, self.scale(amax(x), 0))
    }
}

fn amax(x: &[f64]) -> f64 {
    x.iter().fold(0.0, |most, x| if x.is_nan() { f64::NAN } else { f64::max(most, x.abs()) })
}

/// `[m, k] @ [k, n]`.
fn product(a: &[f64], b: &[f64], [m, k, n]: [usize; 3]) -> Vec<f64> {
    (0..m * n).map(|at| (0..k).map(|i| a[at / n * k + i] * b[i * n + at % n]).sum()).collect()
}

fn turned(x: &[f64], [rows, columns]: [usize; 2]) -> Vec<f64> {
    (0..rows * columns).map(|at| x[at % rows * columns + at / rows]).collect()
}

fn values(n: usize, seed: usize) -> Vec<f32> {
    (0..n).map(|i| (((i * 7919 + seed * 104_729 + i * i % 31) % 2003) as f32 / 1000.0 - 1.0) * 10f32.powi((i % 5) as i32 - 2)).collect()
}

fn wide(x: &[f32]) -> Vec<f64> {
    x.iter().map(|x| f64::from(*x)).collect()
}

/// Equal to a relative error of the half type, of the greatest number.
fn near(what: &str, got: &Tensor, want: &[f64], error: f64) {
    let got = got.to_f64_vec().unwrap_or_else(|e| panic!("{what}: {e}"));
    assert_eq!(got.len(), want.len(), "{what}");
    let scale = want.iter().fold(0.0f64, |most, x| most.max(x.abs()));
    for (i, (got, want)) in got.iter().zip(want).enumerate() {
        assert!((got - want).abs() <= error * scale, "{what}: element {i} is {got}, not {want} (of {scale})");
    }
}

fn products_on(device: &Device) {
    for (half, error) in [(DType::BF16, 2f64.powi(-8)), (DType::F16, 2f64.powi(-10))] {
        for [m, k, n] in [[1, 1, 1], [1, 7, 3], [5, 3, 1], [17, 33, 9], [16, 32, 48], [3, 129, 2], [0, 3, 2], [2, 0, 3], [2, 3, 0]] {
            let what = format!("{} {half} {m} {k} {n}", device.name());
            let (a, b, dy) = (values(m * k, 1), values(n * k, 2), values(m * n, 3));
            let x = Tensor::from_vec(a.clone(), [m, k], device).requires_grad();
            let w = Tensor::from_vec(b.clone(), [n, k], device).requires_grad();
            let bias = Tensor::from_vec(vec![0.5f32; n], [n], device).requires_grad();
            let recipe = Fp8Recipe { half, ..Fp8Recipe::default() };
            let y = autocast_fp8(&recipe, || x.linear(&w, Some(&bias)));
            assert_eq!((y.dtype(), y.shape()), (half, vec![m, n]), "{what}");
            let (qa, qb) = (E4M3.round(&wide(&a)), E4M3.round(&wide(&b)));
            let want = product(&qa, &turned(&qb, [n, k]), [m, k, n]);
            near(&what, &y, &want.iter().map(|y| y + 0.5).collect::<Vec<_>>(), 2.0 * error);
            // A gradient that the half type holds, so that only rounding to 8 bits counts.
            let dy = Tensor::from_vec(dy, [m, n], device).cast(half).cast(DType::F32);
            let qdy = E5M2.round(&dy.to_f64_vec().unwrap());
            let got = grad_with(&y, &dy, &[&x, &w, &bias]).unwrap();
            assert!(got.iter().all(|g| g.dtype() == DType::F32), "{what}");
            near(&format!("{what} dx"), &got[0], &product(&qdy, &qb, [m, n, k]), error);
            near(&format!("{what} dw"), &got[1], &product(&turned(&qdy, [m, n]), &qa, [n, m, k]), error);
            let plain: Vec<f64> = (0..n).map(|j| (0..m).map(|i| dy.to_f64_vec().unwrap()[i * n + j]).sum()).collect();
            near(&format!("{what} dbias"), &got[2], &plain, 4.0 * error);
        }
    }
    // One factor is the identity: rounded numbers themselves, all of them.
    for (role, format) in [("first", E4M3), ("second", E4M3), ("gradient", E5M2)] {
        for top in [1.0f32, 1.75, 1.7500001, 1.9999999, 3e-39, 1e-30, 2e38] {
            let n = 16;
            let mut x: Vec<f32> = values(n * n, 5).iter().map(|x| x * (top / 100.0)).collect();
            x[3] = top;
            x[4] = -0.0;
            let tensor = Tensor::from_vec(x.clone(), [n, n], device);
            let one = Tensor::eye(n, n, DType::F32, device);
            let got = match role {
                "first" => autocast_fp8(&Fp8Recipe::default(), || tensor.matmul(&one)),
                "second" => autocast_fp8(&Fp8Recipe::default(), || one.matmul(&tensor)),
                _ => {
                    let w = one.requires_grad();
                    let y = autocast_fp8(&Fp8Recipe::default(), || w.matmul(&w.detach()));
                    grad_with(&y, &tensor, &[&w]).unwrap().remove(0)
                }
            };
            // The gradient is a bf16 before it is rounded.
            let given = if role == "gradient" { tensor.cast(DType::BF16).to_f64_vec().unwrap() } else { wide(&x) };
            let want = format.round(&given);
            let least = f64::from(f32::MIN_POSITIVE);
            for (i, (got, want)) in got.to_f64_vec().unwrap().iter().zip(&want).enumerate() {
                // What is subnormal in f32 may be 0.
                assert!(got == want || want.abs() < least * 2.0, "{} {role} of {top}: {i} is {got}, not {want}", device.name());
            }
        }
    }
}

#[test]
fn products_and_gradients_are_those_of_rounded_numbers() {
    fast_devices().iter().for_each(products_on);
    assert!(on_slow_devices("products_and_gradients_are_those_of_rounded_numbers"), "see above");
}

/// What is no number shows, on every device in the same place; what is 0 stays 0.
#[test]
fn infinities_nan_and_zeros() {
    for device in &fast_devices() {
        let one = || Tensor::eye(2, 2, DType::F32, device);
        for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            let x = Tensor::from_vec(vec![1.0f32, 0.5, bad, 1000.0], [2, 2], device).requires_grad();
            let y = autocast_fp8(&Fp8Recipe::default(), || x.matmul(&one())).to_f64_vec().unwrap();
            // Without a scale, 1000 saturates.
            assert!(y[..2] == [1.0, 0.5] && y[2].is_nan() && y[3].is_nan(), "{bad}: {y:?}");
            let w = one().requires_grad();
            let out = autocast_fp8(&Fp8Recipe::default(), || w.matmul(&one()));
            let dy = grad_with(&out, &x.detach(), &[&w]).unwrap()[0].to_f64_vec().unwrap();
            assert!(dy[..2] == [1.0, 0.5] && !dy[2].is_finite(), "{bad}: {dy:?}");
        }
        let x = Tensor::from_vec(vec![1.0f32, f32::INFINITY, 1000.0, -1e30], [4, 1], device);
        let y = autocast_fp8(&Fp8Recipe::default(), || x.matmul(&Tensor::ones([1, 1], DType::F32, device))).to_f64_vec().unwrap();
        assert!(y[0] == 1.0 && y[1].is_nan() && y[2..] == [448.0, -448.0], "{y:?}");
        let zero = Tensor::zeros([3, 2], DType::F32, device).requires_grad();
        let y = autocast_fp8(&Fp8Recipe::default(), || zero.matmul(&one()));
        assert_eq!(y.to_f64_vec().unwrap(), [0.0; 6]);
        assert_eq!(grad_with(&y, &y.zeros_like(), &[&zero]).unwrap()[0].to_f64_vec().unwrap(), [0.0; 6]);
    }
}

/// Every method that multiplies matrices, with inputs of several dtypes: the half type, or what it would be without a scope.
#[test]
fn methods_that_multiply_take_the_recipe() {
    unigrad_testing::register();
    let d = Device::open("cpu").unwrap();
    let x = |shape: &[usize], seed| Tensor::from_vec(values(shape.iter().product(), seed), shape, &d);
    let (a, b, v, c) = (x(&[4, 5], 1), x(&[5, 3], 2), x(&[5], 3), x(&[4, 3], 4));
    let round = |x: &Tensor| Tensor::from_vec(E4M3.round(&x.to_f64_vec().unwrap()), x.shape(), &d);
    let (qa, qb, qv) = (round(&a), round(&b), round(&v));
    // By way of the half type.
    let (ha, hb, hv) = (round(&a.cast(DType::BF16)), round(&b.cast(DType::BF16)), round(&v.cast(DType::BF16)));
    let call = |f: &dyn Fn() -> Tensor| autocast_fp8(&Fp8Recipe::default(), f);
    let c64 = c.cast(DType::F64);
    for (what, got, want) in [
        ("matmul", call(&|| a.matmul(&b)), qa.matmul(&qb)),
        ("dot", call(&|| v.dot(&v)), qv.dot(&qv)),
        ("addmm", call(&|| c.addmm(&a, &b)), c64.addmm(&qa, &qb)),
        ("addmv", call(&|| x(&[4], 5).addmv(&a, &v, 0.5, 2.0)), x(&[4], 5).cast(DType::F64).addmv(&qa, &qv, 0.5, 2.0)),
        ("baddbmm", call(&|| c.unsqueeze(0).baddbmm(&a.unsqueeze(0), &b.unsqueeze(0), 1.0, 1.0)), c64.addmm(&qa, &qb)),
        ("tensordot", call(&|| a.tensordot(&b, 1_i64, 0_i64)), qa.tensordot(&qb, 1_i64, 0_i64)),
        ("einsum", call(&|| Tensor::einsum("ij,jk->ik", &[&a, &b])), ha.matmul(&hb)),
        ("inner", call(&|| a.inner(&v)), ha.inner(&hv)),
        ("multi_dot", call(&|| Tensor::multi_dot(&[&a, &b])), ha.matmul(&hb)),
        ("batched", call(&|| x(&[2, 1, 4, 5], 1).matmul(&x(&[3, 5, 3], 2))), {
            round(&x(&[2, 1, 4, 5], 1)).matmul(&round(&x(&[3, 5, 3], 2)))
        }),
    ] {
        assert_eq!(got.dtype(), DType::BF16, "{what}");
        near(what, &got, &want.to_f64_vec().unwrap(), 2f64.powi(-7));
    }
    // What is not of at most 32 bits stays as it is, and what is added is not rounded to 8 bits.
    assert_eq!(call(&|| a.cast(DType::F64).matmul(&b.cast(DType::F64))).to_f64_vec().unwrap(), {
        a.cast(DType::F64).matmul(&b.cast(DType::F64)).to_f64_vec().unwrap()
    });
    let whole = Tensor::from_vec((0..9i64).collect::<Vec<_>>(), [3, 3], &d);
    assert_eq!(call(&|| whole.matmul(&whole)).dtype(), DType::I64);
    assert_eq!(a.matmul(&b).dtype(), DType::F32);
    // A wrong shape, a wrong recipe.
    let error = call(&|| a.matmul(&a)).realize().unwrap_err().to_string();
    assert!(error.contains("inner sizes differ"), "{error}");
    let wrong = Fp8Recipe { margin: Fp8Recipe::MAX_MARGIN + 1, ..Fp8Recipe::default() };
    assert!(autocast_fp8(&wrong, || a.matmul(&b)).realize().unwrap_err().to_string().contains("margin"));
    let wrong = Fp8Recipe { half: DType::F32, ..Fp8Recipe::default() };
    assert!(autocast_fp8(&wrong, || a.matmul(&b)).realize().unwrap_err().to_string().contains("BF16 or F16"));
}

#[test]
fn scopes_nest_and_gradients_of_gradients_are_straight_through() {
    unigrad_testing::register();
    let d = Device::open("cpu").unwrap();
    let x = Tensor::from_vec(values(12, 1), [3, 4], &d).requires_grad();
    let w = Tensor::from_vec(values(20, 2), [5, 4], &d).requires_grad();
    let bytes = |t: Tensor| t.to_bytes().unwrap();
    let fp8 = || autocast_fp8(&Fp8Recipe::default(), || bytes(x.linear(&w, None)));
    let (outer, half) = (fp8(), autocast(DType::BF16, || bytes(x.linear(&w, None))));
    assert_ne!(outer, half);
    autocast(DType::BF16, || {
        assert_eq!(fp8(), outer);
        assert_eq!(bytes(x.linear(&w, None)), half);
    });
    autocast_fp8(&Fp8Recipe::default(), || {
        assert_eq!(autocast(DType::BF16, || bytes(x.linear(&w, None))), half);
        assert_eq!(autocast(DType::F32, || x.linear(&w, None).dtype()), DType::F32);
        // Attention's own products stay in the half type.
        let q = x.reshape([1, 1, 3, 4]);
        let attended = q.attention(&q, &q, &Default::default());
        assert_eq!(bytes(attended), autocast(DType::BF16, || bytes(q.attention(&q, &q, &Default::default()))));
        assert_eq!(bytes(x.linear(&w, None)), outer);
    });
    assert_eq!(x.linear(&w, None).dtype(), DType::F32);
    // d/dx of the sum of squares of dw, where y is linear: by hand of rounded numbers.
    let y = autocast_fp8(&Fp8Recipe::default(), || x.linear(&w, None)).cast(DType::F32);
    let dw = grad(&y.square().sum(()), &[&w]).unwrap().remove(0);
    let got = grad(&dw.square().sum(()), &[&x]).unwrap().remove(0);
    let like = |x: &Tensor, values: Vec<f64>| Tensor::from_vec(values, x.shape(), &d);
    let q = |format: Format, t: &Tensor| like(t, format.round(&t.to_f64_vec().unwrap()));
    let (qx, qw) = (q(E4M3, &x), q(E4M3, &w));
    let half = |t: &Tensor| t.cast(DType::BF16).cast(DType::F64);
    let dy = half(&(half(&qx.matmul(&qw.t())) * 2.0));
    let qdy = q(E5M2, &dy);
    let dw = qdy.t().matmul(&qx);
    // Through `x` as a factor of dw, and through dy.
    let g = &dw * 2.0;
    let through_x = qdy.matmul(&g);
    let through_dy = qx.matmul(&g.t()) * 2.0;
    let want = through_x + q(E5M2, &half(&through_dy)).matmul(&qw);
    near("gradient of a gradient", &got, &want.to_f64_vec().unwrap(), 0.15);
}

/// Codes are stored, a byte each and once, and the products of both passes read them.
#[test]
fn what_products_read_is_a_byte_an_element() {
    unigrad_testing::register();
    for name in ["cpu", "interpreter:0"] {
        let d = Device::open(name).unwrap();
        let [m, k, n] = [32, 64, 48];
        let x = Tensor::from_vec(values(m * k, 1), [m, k], &d).requires_grad();
        let w = Tensor::from_vec(values(n * k, 2), [n, k], &d).requires_grad();
        let y = autocast_fp8(&Fp8Recipe::default(), || x.linear(&w, None)).cast(DType::F32);
        let loss = y.square().sum(());
        let gradients = grad(&loss, &[&x, &w]).unwrap();
        let plan = eval::plan_text(&[loss.expr(), gradients[0].expr(), gradients[1].expr()]).unwrap();
        let reads: Vec<f64> = plan
            .lines()
            .filter(|line| line.contains(" contract "))
            .map(|line| {
                let mut words = line.split("read").nth(1).unwrap().split_whitespace();
                let number: f64 = words.next().unwrap().parse().unwrap();
                number * if words.next().unwrap() == "kB" { 1000.0 } else { 1.0 }
            })
            .collect();
        // Forward, and the two gradients: codes of two operands and their two scales.
        assert_eq!(reads.len(), 3, "{plan}");
        let want = [m * k + n * k, m * n + n * k, m * n + m * k].map(|bytes| bytes as f64);
        for want in want {
            assert!(reads.iter().any(|read| (read - want).abs() < 100.0), "{name}: {want} of {reads:?}\n{plan}");
        }
        println!("{plan}");
    }
}

#[test]
fn delayed_scales_are_those_of_steps_before() {
    for device in &fast_devices() {
        let scaling = DelayedScaling::new(2).unwrap();
        let recipe = Fp8Recipe { margin: 1, ..Fp8Recipe::delayed(&scaling) };
        let one = Tensor::ones([1, 1], DType::F32, device);
        let w = one.clone().requires_grad();
        let mut history: Vec<f64> = Vec::new();
        for (step, amax) in [3.0f32, 900.0, 0.01, 2.0, f32::INFINITY, 0.0, 5.0].into_iter().enumerate() {
            let x = Tensor::from_vec(vec![amax, 0.3 * amax], [2, 1], device).realize().unwrap();
            let greatest = history.iter().rev().take(2).fold(0.0f64, |most, x| most.max(*x));
            let scale = E4M3.scale(if history.is_empty() { amax.into() } else { greatest }, 1);
            // In use, nothing is recorded.
            let used = no_grad(|| autocast_fp8(&recipe, || x.matmul(&w)).to_f64_vec().unwrap());
            // A block that is recorded twice counts once, with the scale of the first time.
            let block = {
                let w = w.clone();
                move |x: &[Tensor]| x[0].matmul(&w)
            };
            let y = autocast_fp8(&recipe, || if step % 2 == 0 { x.matmul(&w) } else { checkpoint(block, &[&x]) });
            y.cast(DType::F32).sum(()).backward().unwrap();
            let got = y.to_f64_vec().unwrap();
            w.grad().unwrap().realize().unwrap();
            let want = E4M3.by(&[amax.into(), (0.3 * amax).into()], scale);
            assert_eq!(used.iter().map(|x| x.to_bits()).collect::<Vec<_>>(), got.iter().map(|x| x.to_bits()).collect::<Vec<_>>());
            for (got, want) in got.iter().zip(&want) {
                assert!(got == want || got.is_nan() && want.is_nan(), "{} step {step}: {got}, not {want}", device.name());
            }
            history.push(if amax.is_finite() { amax.into() } else { 0.0 });
            let state = scaling.state();
            assert_eq!(state.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["0.first", "0.second", "0.gradient"]);
            let newest: Vec<f64> = history.iter().rev().copied().chain([0.0]).take(2).collect();
            assert_eq!(state[0].1.to_f64_vec().unwrap(), newest.iter().map(|x| f64::from(*x as f32)).collect::<Vec<_>>(), "step {step}");
            assert_eq!(state[2].1.to_f64_vec().unwrap()[0], 1.0);
            // What was saved goes on alike.
            let other = DelayedScaling::new(2).unwrap();
            other.load_state(&state).unwrap();
            assert_eq!(other.state()[0].1.to_f64_vec().unwrap(), state[0].1.to_f64_vec().unwrap());
        }
        assert!(DelayedScaling::new(3).unwrap().load_state(&scaling.state()).is_err());
        assert!(scaling.load_state(&[("0.third".to_owned(), one.clone())]).is_err());
        assert!(DelayedScaling::new(0).is_err());
        assert_eq!(scaling.state().len(), 3, "what failed changed nothing");
    }
}

/// The mean of what is rounded at random is what was given; each is one of its two neighbours.
#[test]
fn rounding_at_random_is_right_on_the_average() {
    for device in &fast_devices() {
        manual_seed(3);
        let n = 4096;
        for (value, below, above) in [(1.1f32, 1.0, 1.25), (-0.3, -0.3125, -0.25), (2f32.powi(-30), 0.0, 2f64.powi(-30)), (1.0, 1.0, 1.0)] {
            // 1.0 sets the scale: 2^15.
            let mut dy = vec![value; n];
            dy[0] = 1.25;
            let w = Tensor::ones([n, 1], DType::F32, device).requires_grad();
            let recipe = Fp8Recipe { stochastic_rounding: true, ..Fp8Recipe::default() };
            let y = autocast_fp8(&recipe, || w.matmul(&Tensor::ones([1, 1], DType::F32, device))).cast(DType::F32);
            let given = f64::from(unigrad_tensor::bf16::from_f32(value).to_f32());
            let got = grad_with(&y, &Tensor::from_vec(dy, [n, 1], device), &[&w]).unwrap()[0].to_f64_vec().unwrap();
            let rest = &got[1..];
            assert!(rest.iter().all(|x| *x == below || *x == above), "{value}: {:?}", &rest[..8]);
            let mean = rest.iter().sum::<f64>() / rest.len() as f64;
            let deviation = (above - below) / (rest.len() as f64).sqrt();
            // The gradient is a bf16, or still an f32 in the same kernel.
            let off = (mean - given).abs().min((mean - f64::from(value)).abs());
            assert!(off <= 4.0 * deviation, "{} {value}: a mean of {mean}", device.name());
        }
    }
}
