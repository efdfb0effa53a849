//! Half copies of parameters: they are written by updates, change no bit, and are never of an old value.

use std::sync::{Mutex, MutexGuard, PoisonError};
use unigrad_device::Config;
use unigrad_graph::Op;
use unigrad_tensor::*;

/// The setting is the process's: copies are on.
fn alone() -> MutexGuard<'static, ()> {
    static LOCK: Mutex<()> = Mutex::new(());
    unigrad_testing::devices();
    let alone = LOCK.lock().unwrap_or_else(PoisonError::into_inner);
    set(true);
    alone
}

fn set(half_copies: bool) {
    Config { half_copies, ..Config::current_or_default().as_ref().clone() }.apply();
}

struct Net {
    w: Tensor,
    b: Tensor,
    x: Tensor,
}

impl Net {
    fn new(device: &Device) -> Net {
        let values = |n: usize, by: usize| (0..n).map(|i| (i * by % 17) as f32 / 16.0 - 0.4).collect::<Vec<f32>>();
        let [w, b, x] = [(vec![6, 5], 7), (vec![6], 5), (vec![9, 5], 11)]
            .map(|(shape, by)| Tensor::from_vec(values(shape.iter().product(), by), shape, device));
        Net { w: w.requires_grad(), b: b.requires_grad(), x }
    }

    fn loss(&self, half: DType) -> Tensor {
        autocast(half, || self.x.linear(&self.w, Some(&self.b)).tanh().matmul(&self.w).square().mean(()))
    }

    /// A step with the gradients of so many losses, under a condition or none.
    fn step(&self, half: DType, losses: usize, condition: Option<bool>) -> Tensor {
        let device = self.x.device().unwrap();
        let last = (0..losses).map(|_| self.loss(half)).inspect(|loss| loss.backward().unwrap()).last().unwrap();
        no_grad(|| {
            for p in [&self.w, &self.b] {
                let next = p - p.grad().unwrap() * 0.25;
                match condition {
                    Some(truth) => p.assign_if(&next, &Tensor::new([truth], &device)).unwrap(),
                    None => p.assign(&next).unwrap(),
                }
                p.zero_grad();
            }
        });
        last
    }

    fn bits(&self) -> Vec<u32> {
        [&self.w, &self.b].iter().flat_map(|p| p.to_vec::<f32>().unwrap()).map(f32::to_bits).collect()
    }

    /// Casts of parameters that an evaluation of the loss would make.
    fn casts(&self, half: DType) -> usize {
        let loss = self.loss(half).expr();
        let capture = unigrad_plan::Capture::new(&[loss]).unwrap();
        let is_cast = |node: &&unigrad_graph::Expr| {
            *node.op() == Op::Cast
                && node.dtype() == half
                && node.input(0).is_some_and(|of| of.dtype() == DType::F32 && matches!(of.op(), Op::Variable(_)))
        };
        capture.passed().filter(is_cast).count()
    }
}

const ONE: &[(usize, Option<bool>)] = &[(1, None)];

#[test]
fn copies_change_no_bit() {
    let _alone = alone();
    for device in unigrad_testing::devices() {
        for half in [DType::F16, DType::BF16] {
            for steps in [ONE, &[(2, None), (1, Some(true)), (3, Some(false))]] {
                let run = |copies| {
                    set(copies);
                    let net = Net::new(&device);
                    (0..6).for_each(|i| {
                        let (losses, condition) = steps[i % steps.len()];
                        net.step(half, losses, condition).realize().unwrap();
                    });
                    let after = net.loss(half).item::<f32>().unwrap();
                    (net.bits(), after.to_bits())
                };
                let (off, on) = (run(false), run(true));
                assert_eq!(on, off, "{device} {half} {steps:?}");
            }
        }
    }
}

#[test]
fn an_update_makes_the_copies_that_a_scope_reads() {
    let _alone = alone();
    let net = Net::new(&Device::open("cpu").unwrap());
    let half = DType::BF16;
    assert!(net.casts(half) > 0, "nothing is copied before the first update");
    net.step(half, 1, None).realize().unwrap();
    assert_eq!(net.casts(half), 0);
    // Without an evaluation in between as well, and by two backward passes.
    net.step(half, 2, None);
    let loss = net.step(half, 2, None);
    loss.realize().unwrap();
    assert_eq!(net.casts(half), 0);
    // Another type has no copy, and makes it that of the next update.
    assert!(net.casts(DType::F16) > 0);
    net.step(DType::F16, 1, None).realize().unwrap();
    assert_eq!(net.casts(DType::F16), 0);
    // What nothing has asked for since the last update is not made again.
    for p in [&net.w, &net.b] {
        no_grad(|| p.assign(&(p * 0.5))).unwrap();
        p.realize().unwrap();
        no_grad(|| p.assign(&(p * 0.5))).unwrap();
    }
    assert!(net.casts(DType::F16) > 0);
    // A scope that only reads makes none.
    assert!(net.casts(DType::F16) > 0);
    set(false);
    net.step(half, 1, None).realize().unwrap();
    net.step(half, 1, None).realize().unwrap();
    assert!(net.casts(half) > 0);
}

#[test]
fn a_copy_is_never_of_an_old_value() {
    let _alone = alone();
    let device = Device::open("cpu").unwrap();
    let half = DType::BF16;
    let net = Net::new(&device);
    let plain = || {
        let fresh = Net { w: net.w.detach().requires_grad(), b: net.b.detach().requires_grad(), x: net.x.clone() };
        fresh.loss(half).item::<f32>().unwrap().to_bits()
    };
    let own = || net.loss(half).item::<f32>().unwrap().to_bits();
    net.step(half, 1, None).realize().unwrap();
    assert_eq!(own(), plain());
    // Another value, from elsewhere.
    no_grad(|| net.w.assign(&Tensor::full([6, 5], 0.125, DType::F32, &device))).unwrap();
    assert_eq!(own(), plain());
    net.step(half, 1, None).realize().unwrap();
    no_grad(|| net.b.set_data_of_any_shape(&Tensor::full([6], 0.5, DType::F32, &device))).unwrap();
    assert_eq!(own(), plain());
    // A step that fails leaves the values, and their loss, as they were.
    net.step(half, 1, None).realize().unwrap();
    let before = (net.bits(), own());
    let bad = Tensor::new([0.0f32, 1.0], &device).index_select(0, &Tensor::new([0i64, 9], &device)).sum(());
    net.loss(half).backward().unwrap();
    no_grad(|| net.w.assign(&(&net.w - net.w.grad().unwrap() * &bad))).unwrap();
    assert!(net.w.realize().is_err());
    net.w.zero_grad();
    net.b.zero_grad();
    assert_eq!((net.bits(), own()), before);
    assert_eq!(own(), plain());
    // Calls that are run again, between others.
    let twin = Net::new(&device);
    no_grad(|| twin.w.assign(&net.w.detach()).and_then(|()| twin.b.assign(&net.b.detach()))).unwrap();
    let [w, b, x] = [&net.w, &net.b, &net.x].map(Tensor::clone);
    let mut step = replay(move |_| {
        let net = Net { w: w.clone(), b: b.clone(), x: x.clone() };
        let gradients = take_gradients(&net.loss(half), &[w.clone(), b.clone()])?;
        no_grad(|| {
            w.assign(&(&w - &gradients[0] * 0.25))?;
            b.assign(&(&b - &gradients[1] * 0.25))
        })?;
        Ok(vec![net.loss(half)])
    });
    for i in 0..12 {
        if i % 5 == 4 {
            net.step(half, 1, None).realize().unwrap();
        } else {
            step.call(&[]).unwrap();
        }
        twin.step(half, 1, None).realize().unwrap();
        assert_eq!((net.bits(), own()), (twin.bits(), plain()), "step {i}");
    }
    assert!(step.n_replayed() > 0);
}

#[test]
fn copies_go_with_their_parameters() {
    let _alone = alone();
    let device = Device::open("cpu").unwrap();
    let before = device.memory_stats().allocated;
    let net = Net::new(&device);
    (0..3).for_each(|_| drop(net.step(DType::BF16, 1, None).realize().unwrap()));
    drop(net);
    assert_eq!(device.memory_stats().allocated, before);
}

/// A copy refers to the value that it is of, which the next update overwrites all the same.
#[test]
fn parameters_are_updated_in_place() {
    let _alone = alone();
    let device = Device::open("cpu").unwrap();
    const SIDE: usize = 512;
    let more = |copies| {
        set(copies);
        let [w, b, x] =
            [&[SIDE, SIDE][..], &[SIDE], &[2, SIDE]].map(|shape| Tensor::full(shape, 0.01, DType::F32, &device).realize().unwrap());
        let net = Net { w: w.requires_grad(), b: b.requires_grad(), x };
        (0..3).for_each(|_| drop(net.step(DType::BF16, 1, None).realize().unwrap()));
        let before = device.memory_stats().allocated;
        device.reset_peak();
        net.step(DType::BF16, 1, None).realize().unwrap();
        device.memory_stats().peak - before
    };
    let (off, on) = (more(false), more(true));
    set(true);
    println!("bytes of a step beside what stays: {off} without copies, {on} with");
    assert!(on <= off + ((SIDE + 1) * SIDE * 2) as u64, "{on} for {off}");
}
