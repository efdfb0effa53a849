//! A function that is replayed does what it would have done itself, on every device: results, parameters, state, running statistics and random numbers
//! bit for bit; what cannot be replayed is refused; what fails leaves everything as it was.

use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicUsize, Ordering},
};
use unigrad::device::testing::{Failure, Faults, FaultyDriver, Operation};
use unigrad::nn::{AdamW, BatchNorm, Dropout, Layer, Linear, Module, Optimizer, Sgd};
use unigrad::prelude::*;
use unigrad::{Replay, replay};

/// The generator is the process's.
fn alone() -> MutexGuard<'static, ()> {
    static LOCK: Mutex<()> = Mutex::new(());
    LOCK.lock().unwrap_or_else(PoisonError::into_inner)
}

#[derive(Module)]
struct Net {
    first: Linear,
    norm: BatchNorm,
    drop: Dropout,
    last: Linear,
}

impl Net {
    fn new(device: &Device) -> Net {
        Net { first: Linear::new(5, 7, device), norm: BatchNorm::new(7, device), drop: Dropout::new(0.25), last: Linear::new(7, 3, device) }
    }

    fn loss(&self, x: &Tensor, y: &Tensor) -> Tensor {
        let h = self.drop.forward(&self.norm.forward(&self.first.forward(x)).relu());
        self.last.forward(&h).cross_entropy(y)
    }
}

/// All that training changes, as bits.
fn state(net: &Net, optimizer: &Optimizer<impl unigrad::nn::Rule>) -> Vec<Vec<u32>> {
    let bits = |x: &Tensor| x.cast(DType::F32).to_vec::<f32>().unwrap().iter().map(|v| v.to_bits()).collect::<Vec<u32>>();
    let mut all: Vec<Vec<u32>> = net.state_dict().iter().map(|(_, tensor)| bits(tensor)).collect();
    all.extend(optimizer.state_dict().unwrap().values().map(|kept| kept.bytes.iter().map(|b| u32::from(*b)).collect()));
    all
}

fn batch(step: usize, rows: usize, device: &Device) -> (Tensor, Tensor) {
    let x: Vec<f32> = (0..rows * 5).map(|i| ((i * 37 + step * 11) % 23) as f32 * 0.1 - 1.0).collect();
    let y: Vec<i64> = (0..rows).map(|i| ((i + step) % 3) as i64).collect();
    (Tensor::from_vec(x, [rows, 5], device), Tensor::from_vec(y, [rows], device))
}

const STEPS: usize = 12;

#[test]
fn a_replayed_training_is_the_training() {
    let _alone = alone();
    for device in unigrad_testing::devices() {
        let run = |is_replayed: bool| {
            manual_seed(5);
            let net = Arc::new(Net::new(&device));
            let optimizer = Arc::new(Mutex::new(AdamW::new(net.parameters(), 0.01).unwrap()));
            let (of, by) = (Arc::clone(&net), Arc::clone(&optimizer));
            let mut step = replay(move |inputs| {
                let loss = of.loss(&inputs[0], &inputs[1]);
                by.lock().unwrap().minimize(&loss, &[])?;
                Ok(vec![loss])
            });
            let mut losses = Vec::new();
            for i in 0..STEPS {
                // A last batch of another size, and a learning rate that changes: both are recorded on their own.
                let (x, y) = batch(i, if i % 4 == 3 { 4 } else { 6 }, &device);
                if i == 9 {
                    optimizer.lock().unwrap().set_lr(0.003);
                }
                if !is_replayed {
                    step.record_again();
                }
                let loss = step.call(&[&x, &y]).unwrap().remove(0);
                losses.push(loss.item::<f32>().unwrap().to_bits());
            }
            let optimizer = optimizer.lock().unwrap();
            assert_eq!(optimizer.n_steps(), STEPS as u64, "{device}");
            (losses, state(&net, &optimizer), step.n_replayed())
        };
        let (want, got) = (run(false), run(true));
        assert_eq!(want.0, got.0, "{device}: losses");
        assert_eq!(want.1, got.1, "{device}: parameters and state");
        assert!(want.2 == 0 && got.2 >= 4, "{device}: {} of {STEPS} calls were replayed", got.2);
    }
}

#[test]
fn what_others_hold_is_not_overwritten() {
    let _alone = alone();
    for device in unigrad_testing::devices() {
        let total = Tensor::zeros([4], DType::F32, &device).realize().unwrap();
        let sum = total.clone();
        let mut add = replay(move |inputs| {
            sum.assign(&(&sum + &inputs[0]))?;
            Ok(vec![&sum * 2.0])
        });
        let mut held = Vec::new();
        for i in 1..=8 {
            let x = Tensor::full([4], f64::from(i), DType::F32, &device);
            let double = add.call(&[&x]).unwrap().remove(0);
            // The value as it is now, kept while later calls go on; and the tensor that was given.
            held.push((total.detach(), double, x));
        }
        let mut want = 0.0;
        for (i, (value, double, x)) in held.iter().enumerate() {
            want += (i + 1) as f32;
            assert_eq!(value.to_vec::<f32>().unwrap(), [want; 4], "{device}: call {i}");
            assert_eq!(double.to_vec::<f32>().unwrap(), [2.0 * want; 4], "{device}: call {i}");
            assert_eq!(x.to_vec::<f32>().unwrap(), [(i + 1) as f32; 4], "{device}: argument {i}");
        }
        assert!(add.n_replayed() >= 5, "{device}: {}", add.n_replayed());
        // Another value, given outside, is what the next call goes on from.
        total.assign(&Tensor::full([4], 100.0, DType::F32, &device)).unwrap();
        add.call(&[&Tensor::ones([4], DType::F32, &device)]).unwrap();
        assert_eq!(total.to_vec::<f32>().unwrap(), [101.0; 4], "{device}");
    }
}

#[test]
fn what_is_only_read_is_followed_or_recorded_again() {
    let _alone = alone();
    for device in unigrad_testing::devices() {
        let weight = Tensor::full([2], 3.0, DType::F32, &device).requires_grad();
        let shift = Tensor::full([2], 1.0, DType::F32, &device).realize().unwrap();
        let (w, s) = (weight.clone(), shift.clone());
        let mut f = replay(move |inputs| Ok(vec![&inputs[0] * &w + &s]));
        let x = Tensor::new([1.0f32, 2.0], &device);
        let mut value = || f.call(&[&x]).unwrap().remove(0).to_vec::<f32>().unwrap();
        for _ in 0..5 {
            assert_eq!(value(), [4.0, 7.0], "{device}");
        }
        no_grad(|| weight.assign(&Tensor::full([2], 10.0, DType::F32, &device))).unwrap();
        assert_eq!(value(), [11.0, 21.0], "{device}: a parameter");
        shift.assign(&Tensor::full([2], 5.0, DType::F32, &device)).unwrap();
        for _ in 0..5 {
            assert_eq!(value(), [15.0, 25.0], "{device}: another tensor");
        }
        assert!(f.n_replayed() > 4, "{device}: {}", f.n_replayed());
    }
}

#[test]
fn random_numbers_and_numbers_given_are_new_in_each_call() {
    let _alone = alone();
    for device in unigrad_testing::devices() {
        let run = |is_replayed: bool| {
            manual_seed(11);
            let of = device;
            let mut f = replay(move |inputs| {
                let noise = Tensor::rand([3], DType::F32, &of) + Tensor::randn([3], DType::F32, &of);
                Ok(vec![noise * &inputs[0]])
            });
            let call = |i: usize| {
                if !is_replayed {
                    f.record_again();
                }
                let number = Tensor::scalar(i as f64, DType::F32, &device);
                f.call(&[&number]).unwrap().remove(0).to_vec::<f32>().unwrap()
            };
            (0..7).map(call).collect::<Vec<Vec<f32>>>()
        };
        assert_eq!(run(false), run(true), "{device}");
    }
}

fn refusal<F: FnMut(&[Tensor]) -> Result<Vec<Tensor>>>(mut f: Replay<F>, x: &Tensor) -> String {
    for _ in 0..6 {
        if let Err(error) = f.call(&[x]) {
            assert_eq!(error.kind(), ErrorKind::Argument, "{error}");
            return error.to_string();
        }
    }
    String::new()
}

#[test]
fn what_cannot_be_replayed_is_refused() {
    let _alone = alone();
    let device = Device::open("cpu").unwrap();
    let x = Tensor::ones([2], DType::F32, &device);
    let reads = refusal(replay(|inputs| Ok(vec![&inputs[0] * f64::from(inputs[0].sum(()).item::<f32>()?)])), &x);
    assert!(reads.contains("reads a value"), "{reads}");
    let calls = AtomicUsize::new(0);
    let number = refusal(replay(|inputs| Ok(vec![&inputs[0] * calls.fetch_add(1, Ordering::Relaxed) as f64])), &x);
    assert!(number.contains("differs") && number.contains("replayed.rs"), "{number}");
    let made = refusal(
        replay(|inputs| Ok(vec![&inputs[0] + Tensor::from_vec((0..600).map(|i| i as f32).collect::<Vec<f32>>(), [300, 2], &device)])),
        &x,
    );
    assert!(made.contains("host's data"), "{made}");
    let grown = AtomicUsize::new(0);
    let other = refusal(
        replay(|inputs| {
            let n = grown.fetch_add(1, Ordering::Relaxed);
            Ok(vec![(0..n).fold(inputs[0].clone(), |x, _| x.exp())])
        }),
        &x,
    );
    assert!(other.contains("what it computes differs"), "{other}");
    let weight = Tensor::ones([2], DType::F32, &device).requires_grad();
    let left = refusal(
        replay(|inputs| {
            let loss = (&inputs[0] * &weight).sum(());
            loss.backward()?;
            Ok(vec![loss])
        }),
        &x,
    );
    assert!(left.contains("leaves gradients"), "{left}");
    let seeds = refusal(
        replay(|inputs| {
            manual_seed(3);
            Ok(vec![&inputs[0] + Tensor::rand([2], DType::F32, &device)])
        }),
        &x,
    );
    assert!(seeds.contains("sets the seed"), "{seeds}");
    let nested = refusal(replay(|inputs| replay(|inner| Ok(vec![&inner[0] + 1.0])).call(&[&inputs[0]])), &x);
    assert!(nested.contains("calls another one"), "{nested}");
    let twice = refusal(
        {
            let a = Tensor::zeros([2], DType::F32, &device).realize().unwrap();
            replay(move |inputs| {
                a.assign(&(&a + &inputs[0]))?;
                a.realize()?;
                a.assign(&(&a * 2.0))?;
                Ok(vec![a.clone()])
            })
        },
        &x,
    );
    assert!(twice.contains("once"), "{twice}");
}

#[test]
fn a_failed_call_changes_nothing() {
    let _alone = alone();
    let faults = Faults::default();
    unigrad::device::register(FaultyDriver::new("replayed", unigrad_cpu::CpuDriver, faults.clone()));
    let device = Device::open("replayed:0").unwrap();
    for (operation, failure) in [(Operation::Launch, Failure::Refused), (Operation::Launch, Failure::NoMemory)] {
        manual_seed(1);
        let net = Arc::new(Net::new(&device));
        let optimizer = Arc::new(Mutex::new(Sgd::new(net.parameters(), 0.1).unwrap().momentum(0.9).unwrap()));
        let (of, by) = (Arc::clone(&net), Arc::clone(&optimizer));
        let mut step = replay(move |inputs| {
            let loss = of.loss(&inputs[0], &inputs[1]);
            by.lock().unwrap().minimize(&loss, &[])?;
            Ok(vec![loss])
        });
        for i in 0..5 {
            let (x, y) = batch(i, 6, &device);
            step.call(&[&x, &y]).unwrap();
        }
        assert!(step.n_replayed() > 0);
        let before = state(&net, &optimizer.lock().unwrap());
        let (x, y) = batch(7, 6, &device);
        Tensor::realize_all(&[&x, &y]).unwrap();
        faults.fail(operation, 0, failure);
        let error = step.call(&[&x, &y]).unwrap_err();
        faults.clear();
        assert_eq!(before, state(&net, &optimizer.lock().unwrap()), "{error}");
        let replayed = step.n_replayed();
        step.call(&[&x, &y]).unwrap();
        assert!(step.n_replayed() > replayed, "it goes on");
        assert_ne!(before, state(&net, &optimizer.lock().unwrap()));
    }
}

#[test]
fn other_threads_wait_for_the_new_values() {
    let _alone = alone();
    for device in unigrad_testing::devices() {
        let total = Tensor::zeros([64], DType::F32, &device).realize().unwrap();
        let sum = total.clone();
        let one = Tensor::ones([64], DType::F32, &device).realize().unwrap();
        let mut add = replay(move |inputs| {
            sum.assign(&(&sum + &inputs[0]))?;
            Ok(vec![])
        });
        const CALLS: usize = 60;
        const READS: usize = 25;
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    let mut last = 0.0;
                    // With pauses: a driver's locks are not fair, and threads that read again and again would keep the writer out.
                    for _ in 0..READS {
                        std::thread::sleep(std::time::Duration::from_millis(1));
                        let seen = (&total * 1.0).to_vec::<f32>().unwrap();
                        assert!(seen.iter().all(|v| *v == seen[0]) && seen[0] >= last, "{device}: {seen:?} after {last}");
                        last = seen[0];
                    }
                });
            }
            for _ in 0..CALLS {
                add.call(&[&one]).unwrap();
            }
        });
        assert_eq!(total.to_vec::<f32>().unwrap(), [CALLS as f32; 64], "{device}");
    }
}

/// What else refers to a tensor while a function is recorded, in some calls and not in others, is not the function's doing.
#[test]
fn readers_do_not_make_it_another_function() {
    let _alone = alone();
    for device in unigrad_testing::devices() {
        let total = Tensor::zeros([64], DType::F32, &device).realize().unwrap();
        let (sum, one) = (total.clone(), Tensor::ones([64], DType::F32, &device).realize().unwrap());
        let mut add = replay(move |inputs| {
            sum.assign(&(&sum + &inputs[0]))?;
            Ok(vec![])
        });
        for call in 0..12 {
            let reader = (call % 2 == 1).then(|| &total * 1.0);
            add.call(&[&one]).unwrap_or_else(|error| panic!("{device}, call {call}: {error}"));
            let seen = reader.map(|reader| reader.to_vec::<f32>().unwrap());
            assert!(seen.is_none_or(|seen| seen == [call as f32; 64]), "{device}: a reader sees what was there when it was written");
        }
        for _ in 0..4 {
            add.call(&[&one]).unwrap();
        }
        assert!(add.n_replayed() > 0, "{device}");
        assert_eq!(total.to_vec::<f32>().unwrap(), [16.0; 64], "{device}");
    }
}

/// One step of a decode loop: a rotated key and a value go to a position that is an argument, and a query attends to what is there.
#[test]
fn a_cache_is_written_where_it_is() {
    const MOST: usize = 2048;
    const BYTES: u64 = (2 * MOST * 8 * 4) as u64;
    let _alone = alone();
    for device in unigrad_testing::devices() {
        let run = |is_replayed: bool| {
            manual_seed(3);
            let cache = [(); 2].map(|()| Tensor::zeros([1, 2, MOST, 8], DType::F32, &device).realize().unwrap());
            let all = Tensor::arange(0.0, MOST as f64, 1.0, DType::I64, &device);
            let (cos, sin) = Tensor::rope_tables(&all, 8, 100.0);
            let [cos, sin] = [cos, sin].map(|table| table.realize().unwrap());
            let [keys, values] = cache.clone();
            let mut step = replay(move |inputs| {
                let (x, at) = (&inputs[0], &inputs[1]);
                let [cos, sin] = [&cos, &sin].map(|table| table.dyn_slice(0, at, 1));
                let rotated = |x: Tensor| x.rope(&cos, &sin, unigrad::tensor::RopeLayout::Interleaved);
                keys.assign(&keys.dyn_update(2, &rotated(x.narrow(1, 4, 2)), at))?;
                values.assign(&values.dyn_update(2, &x.narrow(1, 6, 2), at))?;
                let options = AttentionOptions { causal: true, q_offset: Some(at.into()), ..AttentionOptions::default() };
                Ok(vec![rotated(x.narrow(1, 0, 4)).attention(&keys, &values, &options)])
            });
            let mut results: Vec<Vec<u32>> = Vec::new();
            for i in 0..9 {
                if !is_replayed {
                    step.record_again();
                }
                // The first and the last position, and one from behind.
                let position = [0, 1, 2, MOST as i64 - 1, 3, -1, 5, 6, 7][i];
                let x = Tensor::randn([1, 8, 1, 8], DType::F32, &device).realize().unwrap();
                device.synchronize().unwrap();
                device.reset_peak();
                let before = device.memory_stats().allocated;
                let y = step.call(&[&x, &Tensor::scalar(position as f64, DType::I64, &device)]).unwrap().remove(0);
                let more = device.memory_stats().peak - before;
                assert!(i < 4 || more < BYTES, "{device}: call {i} takes {more} more bytes, where a cache has {BYTES}");
                results.push(y.to_vec::<f32>().unwrap().iter().map(|x| x.to_bits()).collect());
            }
            let held = || cache.iter().map(|x| x.to_vec::<f32>().unwrap().iter().map(|x| x.to_bits()).collect()).collect::<Vec<Vec<u32>>>();
            // A position that is none leaves both as they are.
            let before = held();
            let x = Tensor::randn([1, 8, 1, 8], DType::F32, &device).realize().unwrap();
            let said = step
                .call(&[&x, &Tensor::scalar(MOST as f64, DType::I64, &device)])
                .and_then(|y| y[0].to_vec::<f32>())
                .expect_err("a position beyond the cache")
                .to_string();
            assert!(said.contains("out of range"), "{device}: {said}");
            assert_eq!(held(), before, "{device}: after a position that is none");
            let _ = device.synchronize();
            results.extend(before);
            (results, step.n_replayed())
        };
        let (want, got) = (run(false), run(true));
        assert!(want.0 == got.0, "{device}: a replayed call gives something else");
        assert!(want.1 == 0 && got.1 >= 4, "{device}: {} calls were replayed", got.1);
        // Of both caches only what was written is not zero.
        let written = |bits: &Vec<u32>| bits.iter().filter(|bits| f32::from_bits(**bits) != 0.0).count();
        let of_cache: Vec<usize> = got.0[9..].iter().map(written).collect();
        assert_eq!(of_cache, [8 * 16; 2], "{device}: positions 0 to 3, 5 to 7 and the last");
    }
}
