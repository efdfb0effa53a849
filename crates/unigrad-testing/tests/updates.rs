//! Updates at a run-time position: only what changes is written, where it lies, and the values are right on every device.

use unigrad_tensor::{Arguments, Composite, DType, Device, Element, Tensor, eval, grad};

fn at(position: i64, device: &Device) -> Tensor {
    Tensor::scalar(position as f64, DType::I64, device)
}

/// Small whole numbers, which every dtype has.
fn numbers(shape: &[usize], dtype: DType, from: usize, device: &Device) -> Tensor {
    let n: usize = shape.iter().product();
    let values: Vec<f32> = (0..n).map(|i| if dtype == DType::Bool { (i + from) % 2 } else { (i * 7 + from) % 23 } as f32).collect();
    Tensor::from_slice(&values, shape, device).cast(dtype).realize().unwrap()
}

/// What an update along the middle axis of `[a, n, b]` gives.
fn updated(x: &[f64], update: &[f64], [a, n, b]: [usize; 3], len: usize, start: usize) -> Vec<f64> {
    let mut out = x.to_vec();
    for i in 0..a {
        for j in 0..len {
            for k in 0..b {
                out[(i * n + start + j) * b + k] = update[(i * len + j) * b + k];
            }
        }
    }
    out
}

#[test]
fn every_dtype_at_every_position() {
    for device in unigrad_testing::devices() {
        for dtype in DType::ALL {
            if dtype == DType::F64 && unigrad_testing::without_f64(&device).is_some() {
                continue;
            }
            let shape = [2, 5, 3];
            // All of them where kernels are there at once.
            let lens: &[usize] = if device.compiles_slowly() { &[2] } else { &[1, 2, 5] };
            for &len in lens {
                let places = (5 - len + 1) as i64;
                let update = numbers(&[2, len, 3], dtype, 100, &device);
                for start in (-places..places).filter(|start| !device.compiles_slowly() || [-1, 0, 3].contains(start)) {
                    let x = numbers(&shape, dtype, 1, &device);
                    let before = x.to_f64_vec().unwrap();
                    let y = x.dyn_update(1, &update, &at(start, &device));
                    // The tensor is held, so it stays as it is; let go, it is overwritten.
                    let held = y.to_f64_vec().unwrap();
                    assert_eq!(x.to_f64_vec().unwrap(), before);
                    let y = x.dyn_update(1, &update, &at(start, &device));
                    drop(x);
                    let from = if start < 0 { start + places } else { start } as usize;
                    let want = updated(&before, &update.to_f64_vec().unwrap(), shape, len, from);
                    assert_eq!(held, want, "{dtype}, {len} at {start}, on {device}");
                    assert_eq!(y.to_f64_vec().unwrap(), want, "{dtype}, {len} at {start} in place, on {device}");
                }
            }
        }
    }
}

#[test]
fn a_ring() {
    for device in unigrad_testing::devices() {
        let cache = Tensor::zeros([2, 4, 3], DType::F32, &device).realize().unwrap();
        let mut want = vec![0.0; 24];
        for step in 0..11usize {
            let update = numbers(&[2, 1, 3], DType::F32, step, &device);
            want = updated(&want, &update.to_f64_vec().unwrap(), [2, 4, 3], 1, step % 4);
            cache.assign(&cache.dyn_update(1, &update, &at((step % 4) as i64, &device))).unwrap();
            assert_eq!(cache.to_f64_vec().unwrap(), want, "step {step} on {device}");
        }
    }
}

#[test]
fn several_updates_in_one_evaluation() {
    for device in unigrad_testing::devices() {
        let caches = [1, 2].map(|from| numbers(&[2, 6, 3], DType::F32, from, &device));
        let mut want = caches.each_ref().map(|cache| cache.to_f64_vec().unwrap());
        for round in 0..3usize {
            for step in 0..3usize {
                for (cache, want) in caches.iter().zip(&mut want) {
                    // The update is computed, from data and from what it replaces.
                    let (start, update) = ((round + 2 * step) % 5, numbers(&[2, 2, 3], DType::F32, step, &device));
                    let was = cache.dyn_slice(1, &at(start as i64, &device), 2);
                    let old: Vec<f64> = (0..12).map(|i| want[(i / 6 * 6 + start + i % 6 / 3) * 3 + i % 3]).collect();
                    let new: Vec<f64> = update.to_f64_vec().unwrap().iter().zip(&old).map(|(new, old)| new * 2.0 + old).collect();
                    *want = updated(want, &new, [2, 6, 3], 2, start);
                    let value = cache.dyn_update(1, &(update * 2.0 + was), &at(start as i64, &device));
                    cache.assign(&value).unwrap();
                }
            }
            Tensor::realize_all(&[&caches[0], &caches[1]]).unwrap();
            for (cache, want) in caches.iter().zip(&want) {
                assert_eq!(cache.to_f64_vec().unwrap(), *want, "round {round} on {device}");
            }
        }
    }
}

#[test]
fn an_update_made_from_elsewhere_in_what_it_updates() {
    for device in unigrad_testing::devices() {
        let x = numbers(&[2, 6, 3], DType::F32, 3, &device);
        let before = x.to_f64_vec().unwrap();
        // Elements move by one place: read beside where is written.
        let moved = x.dyn_update(1, &x.dyn_slice(1, &at(0, &device), 5), &at(1, &device));
        drop(x);
        let update: Vec<f64> = (0..30).map(|i| before[(i / 15 * 6 + i % 15 / 3) * 3 + i % 3]).collect();
        assert_eq!(moved.to_f64_vec().unwrap(), updated(&before, &update, [2, 6, 3], 5, 1), "on {device}");
    }
}

/// An update whose parts are stacked or joined along the innermost axis: few are written out, a store for each, and more are chosen from. Its parts read
/// what is updated: each element beside the other one that it is written over.
#[test]
fn updates_made_of_parts() {
    for device in unigrad_testing::devices() {
        for (n_parts, width) in [(2, 1), (3, 1), (4, 1), (5, 1), (2, 3), (2, 8), (4, 2)] {
            let size = n_parts * width;
            let shape = [2, 3, size];
            for from_itself in [false, true] {
                let x = numbers(&shape, DType::F32, 3, &device);
                let before = x.to_f64_vec().unwrap();
                let other = numbers(&[2, 2, size], DType::F32, 40, &device);
                let source = if from_itself { x.dyn_slice(1, &at(1, &device), 2) } else { other };
                let values = source.to_f64_vec().unwrap();
                // In another order, and changed by which part it is.
                let part = |i: usize| source.narrow(2, (n_parts - 1 - i) * width, width) * (i as f64 + 1.0);
                let parts: Vec<Tensor> = (0..n_parts).map(part).collect();
                let joined = Tensor::concat(&parts.iter().collect::<Vec<_>>(), 2);
                let stacked = (width == 1).then(|| {
                    let parts: Vec<Tensor> = parts.iter().map(|part| part.squeeze(2)).collect();
                    Tensor::stack(&parts.iter().collect::<Vec<_>>(), -1)
                });
                let update: Vec<f64> = (0..2 * 2 * size)
                    .map(|i| {
                        let (row, column) = (i / size, i % size);
                        let part = column / width;
                        values[row * size + (n_parts - 1 - part) * width + column % width] * (part as f64 + 1.0)
                    })
                    .collect();
                let want = updated(&before, &update, shape, 2, 1);
                for (how, made) in
                    [("joined", Some(&joined)), ("stacked", stacked.as_ref())].into_iter().filter_map(|(how, made)| Some((how, made?)))
                {
                    let y = x.dyn_update(1, made, &at(1, &device));
                    assert_eq!(y.to_f64_vec().unwrap(), want, "{n_parts} of {width} {how}, from itself {from_itself}, on {device}");
                }
                // As an assignment, which takes the memory over where nothing but the elements that are written is read.
                drop(source);
                x.assign(&x.dyn_update(1, stacked.as_ref().unwrap_or(&joined), &at(1, &device))).unwrap();
                drop((parts, joined, stacked));
                assert_eq!(x.to_f64_vec().unwrap(), want, "{n_parts} of {width} assigned, from itself {from_itself}, on {device}");
            }
        }
    }
}

/// Rotated keys, `[batch, heads, 1, features]`: no condition is left of their pairs, and the rest of the cache stays.
#[test]
fn pairs_are_written_out() {
    unigrad_testing::devices();
    let device = Device::open("cpu").unwrap();
    let cache = numbers(&[1, 4, 64, 8], DType::F32, 3, &device);
    let x = numbers(&[1, 1, 32], DType::F32, 9, &device);
    let (cos, sin) = Tensor::rope_tables(&Tensor::arange(0.0, 64.0, 1.0, DType::I64, &device), 8, 100.0);
    let [cos, sin] = [cos, sin].map(|table| table.realize().unwrap());
    let position = at(7, &device);
    let [c, s] = [&cos, &sin].map(|table| table.dyn_slice(0, &position, 1));
    let keys = x.unflatten(2, [4, 8]).transpose(1, 2).rope(&c, &s, unigrad_tensor::RopeLayout::Interleaved);
    cache.assign(&cache.dyn_update(2, &keys, &position)).unwrap();
    let text = eval::plan_text(&[cache.expr()]).unwrap();
    assert!(!text.contains("copy") && !text.contains("rem i64") && !text.contains("select"), "{text}");
    let got = cache.narrow(2, 7, 1).to_f64_vec().unwrap();
    let want = keys.to_f64_vec().unwrap();
    assert!(got.iter().zip(&want).all(|(a, b)| (a - b).abs() < 1e-5), "{got:?} {want:?}");
}

#[test]
fn what_others_read_stays() {
    for device in unigrad_testing::devices() {
        let x = numbers(&[2, 6, 3], DType::F32, 3, &device);
        let before = x.to_f64_vec().unwrap();
        let update = numbers(&[2, 1, 3], DType::F32, 50, &device);
        // Read before, read after, and computed instead of held: the sum takes the old values, whatever runs first.
        let (twice, new) = (&x * 2.0, x.dyn_update(1, &update, &at(4, &device)));
        let late = (&new - &x).sum(());
        let computed = (&x + 1.0).dyn_update(1, &update, &at(2, &device));
        drop(x);
        Tensor::realize_all(&[&twice, &new, &late, &computed]).unwrap();
        let want = updated(&before, &update.to_f64_vec().unwrap(), [2, 6, 3], 1, 4);
        assert_eq!(new.to_f64_vec().unwrap(), want, "on {device}");
        assert_eq!(twice.to_f64_vec().unwrap(), before.iter().map(|x| x * 2.0).collect::<Vec<_>>(), "on {device}");
        assert_eq!(late.to_f64().unwrap(), want.iter().zip(&before).map(|(a, b)| a - b).sum::<f64>(), "on {device}");
        let more: Vec<f64> = before.iter().map(|x| x + 1.0).collect();
        assert_eq!(computed.to_f64_vec().unwrap(), updated(&more, &update.to_f64_vec().unwrap(), [2, 6, 3], 1, 2), "on {device}");
    }
}

#[test]
fn gradients() {
    for device in unigrad_testing::devices() {
        let x = numbers(&[2, 6, 3], DType::F32, 3, &device).requires_grad();
        let update = numbers(&[2, 2, 3], DType::F32, 9, &device).requires_grad();
        let weight = numbers(&[2, 6, 3], DType::F32, 5, &device);
        let y = x.dyn_update(1, &update, &at(3, &device));
        let gradients = grad(&(&y * &y * &weight).sum(()), &[&x, &update]).unwrap();
        let (y, weight) = (y.to_f64_vec().unwrap(), weight.to_f64_vec().unwrap());
        let dy: Vec<f64> = y.iter().zip(&weight).map(|(y, w)| 2.0 * y * w).collect();
        assert_eq!(gradients[0].to_f64_vec().unwrap(), updated(&dy, &[0.0; 12], [2, 6, 3], 2, 3), "on {device}");
        let want: Vec<f64> = (0..12).map(|i| dy[(i / 6 * 6 + 3 + i % 6 / 3) * 3 + i % 3]).collect();
        assert_eq!(gradients[1].to_f64_vec().unwrap(), want, "on {device}");
    }
}

#[test]
fn a_position_out_of_range_is_an_error() {
    for device in unigrad_testing::devices() {
        for start in [5, -6, i64::MAX >> 12] {
            let x = numbers(&[2, 6, 3], DType::F32, 3, &device);
            let update = numbers(&[2, 2, 3], DType::F32, 9, &device);
            let y = x.dyn_update(1, &update, &at(start, &device));
            let error = y.to_vec::<f32>().map(|_| ()).expect_err("out of range").to_string();
            assert!(error.contains(&start.to_string()), "{start} on {device}: {error}");
            let empty = x.dyn_update(1, &Tensor::zeros([2, 0, 3], DType::F32, &device), &at(6, &device));
            assert_eq!(empty.to_f64_vec().unwrap(), numbers(&[2, 6, 3], DType::F32, 3, &device).to_f64_vec().unwrap(), "on {device}");
        }
    }
}

/// Bytes that the plan's launches write, and how many launches there are.
fn written(tensor: &Tensor) -> (f64, usize) {
    let plan = eval::plan_of(&[tensor.expr()]).unwrap();
    (plan.launches.iter().map(|launch| launch.traffic().1).sum(), plan.launches.len())
}

#[test]
fn only_the_update_is_written() {
    for name in ["cpu", "interpreter:0"] {
        unigrad_testing::devices();
        let device = Device::open(name).unwrap();
        let fresh = || numbers(&[4, 512, 64], DType::F32, 3, &device);
        let (bytes, whole) = ((4 * 64 * size_of::<f32>()) as f64, (4 * 512 * 64 * size_of::<f32>()) as f64);
        let input = numbers(&[4, 1, 64], DType::F32, 9, &device);
        // A chain that is dear to compute, and no handle to the cache.
        let update = || (&input * 0.01).exp().sin().tanh();
        let y = fresh().dyn_update(1, &update(), &at(100, &device));
        assert_eq!(written(&y), (bytes, 1), "{}", eval::plan_text(&[y.expr()]).unwrap());
        let cast = fresh().reshape([4, 512, 64, 1]).dyn_update(1, &update().unsqueeze(-1), &at(100, &device));
        assert_eq!(written(&cast), (bytes, 1), "{}", eval::plan_text(&[cast.expr()]).unwrap());
        let twice = fresh().dyn_update(1, &update(), &at(100, &device)).dyn_update(1, &update(), &at(101, &device));
        assert_eq!(written(&twice), (2.0 * bytes, 2), "{}", eval::plan_text(&[twice.expr()]).unwrap());
        let computed = (fresh() * 2.0).dyn_update(1, &update(), &at(100, &device));
        assert_eq!(written(&computed), (whole + bytes, 2), "{}", eval::plan_text(&[computed.expr()]).unwrap());
        // It is held: it is copied first.
        let held = fresh();
        let y = held.dyn_update(1, &update(), &at(100, &device));
        assert_eq!(written(&y), (whole + bytes, 2), "{}", eval::plan_text(&[y.expr()]).unwrap());
        // As an assignment, and with a reader in the same evaluation.
        let cache = fresh();
        cache.assign(&cache.dyn_update(1, &update(), &at(7, &device))).unwrap();
        assert_eq!(written(&cache), (bytes, 1), "{}", eval::plan_text(&[cache.expr()]).unwrap());
        let total = cache.sum(());
        total.realize().unwrap();
        assert_eq!(cache.narrow(1, 7, 1).to_vec::<f32>().unwrap(), update().to_vec::<f32>().unwrap());
    }
}

#[test]
fn elements_of_any_type_are_read_back() {
    fn check<T: Element + PartialEq + std::fmt::Debug>(device: &Device) {
        let x = numbers(&[1, 3, 1], T::DTYPE, 1, device);
        let update = numbers(&[1, 1, 1], T::DTYPE, 2, device);
        let got = x.dyn_update(1, &update, &at(1, device)).to_vec::<T>().unwrap();
        assert_eq!(got[1], update.to_vec::<T>().unwrap()[0]);
        assert_eq!([got[0], got[2]], [x.to_vec::<T>().unwrap()[0], x.to_vec::<T>().unwrap()[2]]);
    }
    unigrad_testing::devices();
    let device = Device::open("cpu").unwrap();
    check::<i8>(&device);
    check::<u64>(&device);
    check::<f64>(&device);
    check::<bool>(&device);
}

/// What is read at a run-time position is as well in rows whose memory is found before they run: lengths around those that are (multiples of 64).
#[test]
fn rows_at_a_position() {
    for device in unigrad_testing::fast_devices() {
        for columns in [63, 64, 65, 128, 256, 320, 512, 1024] {
            let table = numbers(&[9, columns], DType::F32, 3, &device);
            let wide = numbers(&[4, columns + 9], DType::F32, 5, &device);
            let token = Tensor::from_slice(&[7i64], [1], &device);
            for position in [0, 5] {
                let (rows, from) = (table.narrow(0, position, 2), wide.narrow(1, position, columns));
                let at = at(position as i64, &device);
                let (moved, along) = (table.dyn_slice(0, &at, 2), wide.dyn_slice(1, &at, columns));
                let pairs = [
                    (moved.softmax(1), rows.softmax(1)),
                    (moved.sum(1), rows.sum(1)),
                    (table.dyn_slice(0, &at, 1).sum(1), rows.narrow(0, 0, 1).sum(1)),
                    (along.rms_norm(None, 1e-5), from.rms_norm(None, 1e-5)),
                    (along.layer_norm(None, None, 1e-5), from.layer_norm(None, None, 1e-5)),
                    (table.embedding(&token).sum(-1), table.narrow(0, 7, 1).sum(-1)),
                    // Written at a position as well.
                    (
                        table.dyn_update(0, &moved.softmax(1), &at),
                        Tensor::concat(&[&table.narrow(0, 0, position), &rows.softmax(1), &table.narrow(0, position + 2, 7 - position)], 0),
                    ),
                ];
                for (which, (got, want)) in pairs.into_iter().enumerate() {
                    let (got, want) = (got.to_f64_vec().unwrap(), want.to_f64_vec().unwrap());
                    let off = got.iter().zip(&want).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
                    assert!(off <= 1e-5 && got.len() == want.len(), "{device} {which}, {columns} columns from {position}: {off}");
                }
            }
        }
    }
}

/// A function of two tensors as one node, whose results are the tensors' next values.
#[test]
fn results_of_a_composite_are_assigned() {
    for device in unigrad_testing::devices() {
        let [x, y] = [1usize, 5].map(|from| numbers(&[2, 3], DType::F32, from, &device));
        let (mut a, mut b) = (x.to_f64_vec().unwrap(), y.to_f64_vec().unwrap());
        // The second result has another shape than the first, and is what it takes as well.
        let rows = numbers(&[3], DType::F32, 2, &device);
        let mut c = rows.to_f64_vec().unwrap();
        let next = |t: &[Tensor]| vec![&t[0] + &t[1], t[0].sum(0) + &t[2], &t[0] - &t[1]];
        let composite = Composite::record("next", &[&x, &y, &rows], next).unwrap();
        let assign = |condition: Option<&Tensor>| {
            let arguments = Arguments::of(&[&x, &y, &rows]);
            assert!(composite.assign(arguments, &[&x, &rows, &y], condition).unwrap(), "it is no node on {device}");
        };
        let mut want = |a: &mut Vec<f64>, b: &mut Vec<f64>| {
            let (before, other) = (a.clone(), b.clone());
            *a = before.iter().zip(&other).map(|(x, y)| x + y).collect();
            *b = before.iter().zip(&other).map(|(x, y)| x - y).collect();
            (0..3).for_each(|j| c[j] += before[j] + before[3 + j]);
            c.clone()
        };
        let check = |[a, b, c]: [&[f64]; 3], what: &str| {
            assert_eq!(x.to_f64_vec().unwrap(), a, "{what}, on {device}");
            assert_eq!(y.to_f64_vec().unwrap(), b, "{what}, on {device}");
            assert_eq!(rows.to_f64_vec().unwrap(), c, "{what}, on {device}");
        };
        assign(None);
        let now = want(&mut a, &mut b);
        check([&a, &b, &now], "once");
        // Again before the first was computed: the second is of the first's values.
        assign(None);
        assign(None);
        want(&mut a, &mut b);
        let now = want(&mut a, &mut b);
        check([&a, &b, &now], "twice");
        let yes = x.sum(()).isfinite().realize().unwrap();
        assign(Some(&yes.logical_not()));
        check([&a, &b, &now], "where it does not hold");
        assign(Some(&yes));
        let now = want(&mut a, &mut b);
        check([&a, &b, &now], "where it holds");
        // What is read in the same evaluation sees the new values; an evaluation that fails leaves the old ones.
        assign(None);
        let seen = (&x * 2.0).realize().unwrap();
        let now = want(&mut a, &mut b);
        assert_eq!(seen.to_f64_vec().unwrap(), a.iter().map(|x| x * 2.0).collect::<Vec<_>>(), "on {device}");
        check([&a, &b, &now], "seen");
        assign(None);
        let beyond = x.gather(1, &Tensor::from_slice(&[7i64, 7], [2, 1], &device));
        assert!(beyond.to_f64_vec().is_err(), "on {device}");
        check([&a, &b, &now], "after an error");
        // Another shape than the result's, and a tensor too many, are errors that change nothing.
        for targets in [&[&rows, &x][..], &[&x, &rows, &y, &x]] {
            assert!(composite.assign(Arguments::of(&[&x, &y, &rows]), targets, None).is_err());
        }
        check([&a, &b, &now], "after wrong calls");
    }
}
