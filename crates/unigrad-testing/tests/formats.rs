//! Storage formats on every device, against their exact meaning: casts to and from 8-bit floats and blocks of q4_0, bit by bit; products whose
//! operands are decoded while they are read, against the same products of operands in memory.

use unigrad_tensor::{DType, Device, F8E4M3, F8E5M2, Format, Quantized, Tensor};
use unigrad_testing::{Values, compare::Tolerance, compare::close, fast_devices, on_lower_tiers, on_slow_devices, watch};

const GOLDENS: &str = include_str!("../goldens/float8.txt");
/// Lower halves of the floats that are rounded; as in `scripts/golden_float8.py`.
const LOW: [u32; 8] = [0x0000, 0x0001, 0x7fff, 0x8000, 0x8001, 0xc000, 0xfffe, 0xffff];

fn encode(dtype: DType, x: f32) -> u8 {
    match dtype {
        DType::F8E4M3 => F8E4M3::from_f32(x).to_bits(),
        DType::F8E5M2 => F8E5M2::from_f32(x).to_bits(),
        other => unreachable!("{other} has no codes"),
    }
}

fn decode(dtype: DType, code: u8) -> f32 {
    match dtype {
        DType::F8E4M3 => F8E4M3::from_bits(code).to_f32(),
        DType::F8E5M2 => F8E5M2::from_bits(code).to_f32(),
        other => unreachable!("{other} has no codes"),
    }
}

fn singles() -> Vec<f32> {
    LOW.iter().flat_map(|low| (0..1u32 << 16).map(move |high| f32::from_bits(high << 16 | low))).collect()
}

/// FNV-1a.
fn checksum(bytes: impl Iterator<Item = u8>) -> u64 {
    bytes.fold(0xcbf2_9ce4_8422_2325, |state, byte| (state ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[test]
fn codes_are_those_of_pytorch() {
    let line = |start: String| GOLDENS.lines().find_map(|line| line.strip_prefix(&start)).unwrap().trim();
    for dtype in DType::STORED {
        let decoded: Vec<f32> = line(format!("{dtype} decode ")).split(' ').map(|x| x.parse().unwrap()).collect();
        assert_eq!(decoded.len(), 256);
        for (code, want) in decoded.iter().enumerate() {
            let got = decode(dtype, code as u8);
            assert!(got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan(), "{dtype} {code:#x}: {got}, not {want}");
        }
        let halves = || 0..=u16::MAX;
        let sums = [
            ("f32", checksum(singles().into_iter().map(|x| encode(dtype, x)))),
            ("f16", checksum(halves().map(|bits| encode(dtype, unigrad_tensor::f16::from_bits(bits).to_f32())))),
            ("bf16", checksum(halves().map(|bits| encode(dtype, unigrad_tensor::bf16::from_bits(bits).to_f32())))),
        ];
        for (kind, sum) in sums {
            assert_eq!(format!("{sum:016x}"), line(format!("{dtype} encode {kind} ")), "{dtype} of {kind}");
        }
    }
}

/// What differs, at most five of them.
fn differences<T: PartialEq + std::fmt::Debug>(what: &str, got: &[T], want: impl Iterator<Item = T>) -> bool {
    let wrong: Vec<String> = want
        .zip(got)
        .enumerate()
        .filter(|(_, (want, got))| want != *got)
        .map(|(i, (want, got))| format!("{i}: {got:?}, not {want:?}"))
        .collect();
    wrong.iter().take(5).for_each(|line| println!("FAIL {what} {line}"));
    wrong.is_empty()
}

fn casts_on(device: &Device) -> bool {
    let mut right = true;
    // Sequences of all sizes around registers, blocks and a whole table.
    let singles = singles();
    for dtype in DType::STORED {
        let x = Tensor::from_slice(&singles, [singles.len()], device);
        let codes = x.cast(dtype).to_bytes().unwrap();
        // Subnormal f32 may be 0 on a device, and both are 0 here.
        right &= differences(&format!("{} f32 to {dtype}", device.name()), &codes, singles.iter().map(|x| encode(dtype, *x)));
        for half in [DType::F16, DType::BF16] {
            let bytes: Vec<u8> = (0..=u16::MAX).flat_map(u16::to_le_bytes).collect();
            let x = Tensor::from_bytes(&bytes, [1 << 16], half, device);
            let want = (0..=u16::MAX).map(|bits| match half {
                DType::F16 => encode(dtype, unigrad_tensor::f16::from_bits(bits).to_f32()),
                _ => encode(dtype, unigrad_tensor::bf16::from_bits(bits).to_f32()),
            });
            // A GPU's conversion from f16 gives one NaN for all, so its sign may be lost.
            let nan = |code: u8| if decode(dtype, code).is_nan() { 0x7f } else { code };
            let got: Vec<u8> = x.cast(dtype).to_bytes().unwrap().into_iter().map(nan).collect();
            right &= differences(&format!("{} {half} to {dtype}", device.name()), &got, want.map(nan));
        }
        for n in [1, 7, 16, 255, 256, 1000] {
            let codes: Vec<u8> = (0..n).map(|i| (i % 256) as u8).collect();
            let stored = Tensor::from_bytes(&codes, [n], dtype, device);
            let bits = |x: f32| if x.is_nan() { 0x7fc0_0000 } else { x.to_bits() };
            let got: Vec<u32> = stored.cast(DType::F32).to_vec::<f32>().unwrap().into_iter().map(bits).collect();
            let want = codes.iter().map(|code| bits(decode(dtype, *code)));
            right &= differences(&format!("{} {dtype} to f32, {n}", device.name()), &got, want.clone());
            // Of a view, through a half type, and beside arithmetic.
            let turned = stored.flip([0]).cast(DType::BF16).cast(DType::F32).flip([0]).to_vec::<f32>().unwrap();
            let got: Vec<u32> = turned.into_iter().map(bits).collect();
            right &= differences(&format!("{} {dtype} to bf16, {n}", device.name()), &got, want);
            let doubled = (stored.cast(DType::F32) * 0.5).cast(dtype).to_bytes().unwrap();
            let want = codes.iter().map(|code| encode(dtype, decode(dtype, *code) * 0.5));
            let nan = |code: u8| if decode(dtype, code).is_nan() { 0x7f } else { code };
            let got: Vec<u8> = doubled.into_iter().map(nan).collect();
            right &= differences(&format!("{} {dtype} * 0.5, {n}", device.name()), &got, want.map(nan));
        }
        // Integers and bools, both ways.
        let whole: Vec<i32> = (-600..600).collect();
        let x = Tensor::from_slice(&whole, [whole.len()], device);
        let got = x.cast(dtype).to_bytes().unwrap();
        right &= differences(&format!("{} i32 to {dtype}", device.name()), &got, whole.iter().map(|i| encode(dtype, *i as f32)));
        let got = x.cast(dtype).cast(DType::I32).to_vec::<i32>().unwrap();
        let want = whole.iter().map(|i| decode(dtype, encode(dtype, *i as f32)) as i32);
        right &= differences(&format!("{} {dtype} to i32", device.name()), &got, want);
        let got = x.cast(dtype).cast(DType::Bool).to_vec::<bool>().unwrap();
        right &= differences(&format!("{} {dtype} to bool", device.name()), &got, whole.iter().map(|i| *i != 0));
    }
    right
}

#[test]
fn casts_are_exact() {
    let here = fast_devices().iter().fold(true, |all, device| casts_on(device) & all);
    let apart = on_slow_devices("casts_are_exact");
    let lower = on_lower_tiers("casts_are_exact");
    assert!(here && apart && lower, "see the FAIL lines above");
}

/// What moves elements works on codes; what computes is an error that says what to do.
fn moves_on(device: &Device) {
    for dtype in DType::STORED {
        let codes: Vec<u8> = (0..24).map(|i| (i * 11) as u8).collect();
        let x = Tensor::from_bytes(&codes, [4, 6], dtype, device);
        let bytes = |x: &Tensor| x.to_bytes().unwrap_or_else(|error| panic!("{}: {error}", device.name()));
        assert_eq!(bytes(&x.transpose(0, 1).transpose(0, 1)), codes);
        assert_eq!(bytes(&x.narrow(1, 2, 2)), codes.chunks(6).flat_map(|row| row[2..4].to_vec()).collect::<Vec<_>>());
        assert_eq!(bytes(&Tensor::concat(&[&x, &x], 0)), [codes.clone(), codes.clone()].concat());
        let index = Tensor::from_slice(&[3i64, 0], [2], device);
        assert_eq!(bytes(&x.index_select(0, &index)), [&codes[18..], &codes[..6]].concat(), "{dtype} on {}", device.name());
        let one = encode(dtype, 1.0);
        assert_eq!(bytes(&Tensor::full([3], 1.0, dtype, device)), [one; 3]);
        assert_eq!(bytes(&x.bitcast(DType::U8)), codes);
        assert_eq!(bytes(&x.bitcast(DType::U8).bitcast(dtype)), codes);
        assert_eq!(x.narrow(0, 0, 1).to_f64_vec().unwrap()[1], f64::from(decode(dtype, codes[1])));
        for (what, wrong) in [
            ("add", &x + &x),
            ("neg", x.neg()),
            ("sum", x.sum(())),
            ("matmul", x.matmul(&x.transpose(0, 1))),
            ("where", Tensor::where_(&x.cast(DType::Bool), &x, x.cast(DType::F32))),
            ("concat", Tensor::concat(&[&x, &x.cast(DType::F32)], 0)),
        ] {
            let error = wrong.to_bytes().expect_err(what).to_string();
            assert!(error.contains("cast"), "{what}: {error}");
        }
    }
}

#[test]
fn elements_move_and_do_not_compute() {
    fast_devices().iter().for_each(moves_on);
    assert!(on_slow_devices("elements_move_and_do_not_compute"), "see above");
}

/// Small numbers without a pattern that a stride would hit.
fn numbers(n: usize, seed: usize) -> Vec<f32> {
    (0..n).map(|i| ((i * 7919 + seed * 104_729 + i * i % 31) % 257) as f32 / 64.0 - 2.0).collect()
}

fn blocks_on(device: &Device) -> bool {
    let Format::Blocks(block) = Format::Q4_0 else { unreachable!("q4_0 has blocks") };
    let mut right = true;
    // Random bytes are blocks as well, and have scales that are NaN, infinite and subnormal.
    let every: Vec<u8> = (0..block.bytes() * 64).map(|i| ((i * 197 + i / 18 * 89 + 13) % 256) as u8).collect();
    let quiet = |x: f32| if x.is_nan() { 0x7fc0_0000 } else { x.to_bits() };
    for shape in [vec![block.len], vec![64 * block.len], vec![4, 16 * block.len], vec![8, 2, 4 * block.len], vec![64, block.len]] {
        let n: usize = shape.iter().product();
        let bytes = &every[..Format::Q4_0.bytes_for(&shape).unwrap()];
        let tensor = Quantized::from_bytes(bytes, shape.as_slice(), Format::Q4_0, device).unwrap();
        assert_eq!(tensor.to_bytes().unwrap(), bytes);
        let got: Vec<u32> = tensor.dequantize(DType::F32).to_vec::<f32>().unwrap().into_iter().map(quiet).collect();
        let want = block.decode(bytes).unwrap();
        right &= differences(&format!("{} q4_0 {shape:?}", device.name()), &got, want.iter().map(|x| quiet(*x)));
        let values = Tensor::from_vec(numbers(n, 1), shape.as_slice(), device);
        let made = values.quantize(Format::Q4_0).unwrap();
        assert_eq!(made.to_bytes().unwrap(), block.encode(&numbers(n, 1)).unwrap(), "{}", device.name());
        let turned = made.dequantize(DType::F32).flip([0]).flip([0]).to_vec::<f32>().unwrap();
        right &= differences(
            &format!("{} q4_0 turned {shape:?}", device.name()),
            &turned,
            block.decode(&made.to_bytes().unwrap()).unwrap().into_iter(),
        );
    }
    let error = Tensor::from_vec(numbers(33, 0), [33], device).quantize(Format::Q4_0).unwrap_err().to_string();
    assert!(error.contains("blocks of 32") && error.contains("help: pad the last axis"), "{error}");
    let error = Quantized::from_bytes(&every[..17], [32], Format::Q4_0, device).unwrap_err().to_string();
    assert!(error.contains("18 bytes, and 17 were given"), "{error}");
    right
}

#[test]
fn blocks_are_exact() {
    let here = fast_devices().iter().fold(true, |all, device| blocks_on(device) & all);
    assert!(here && on_slow_devices("blocks_are_exact") && on_lower_tiers("blocks_are_exact"), "see the FAIL lines above");
}

/// One operand of a product: what is read, and the same in memory.
type Operand = (&'static str, fn(&Tensor) -> Tensor);

/// A weight `[k, n]` (or `[n, k]`, turned) in each format, decoded as a part of the graph.
const OPERANDS: &[Operand] = &[
    ("f8e4m3", |w| stored(&w.cast(DType::F8E4M3)).cast(DType::F32)),
    ("f8e5m2 to bf16", |w| stored(&w.cast(DType::F8E5M2)).cast(DType::BF16)),
    ("f32 to bf16", |w| w.cast(DType::BF16)),
    ("f32 to f16", |w| w.cast(DType::F16)),
    ("q4_0", |w| w.quantize(Format::Q4_0).unwrap().dequantize(DType::F32)),
    ("q4_0 to f16", |w| w.quantize(Format::Q4_0).unwrap().dequantize(DType::F16)),
    ("i8 with scales", |w| {
        let scales = Tensor::from_vec(numbers(w.shape()[0], 5), [w.shape()[0], 1], &w.device().unwrap());
        stored(&(w * 40.0).cast(DType::I8)).cast(DType::F32) * stored(&scales)
    }),
];

/// In memory, without a graph behind it.
fn stored(x: &Tensor) -> Tensor {
    x.realize().unwrap();
    x.detach()
}

fn products_on(device: &Device) -> bool {
    watch::plans();
    let cpu = Device::open("cpu").unwrap();
    // A compiler for processors takes a tenth of a second for each kernel, the interpreter a microsecond for each multiplication.
    let (one_in, largest) = if device.info().software { (7, 200_000) } else { (1, usize::MAX) };
    let (mut right, mut number) = (true, 0);
    // One, few and many rows; columns and sums below, at and above tiles, in whole blocks of q4_0 along the last axis of the weight.
    // Then those of native loops: instructions of warps and of warpgroups, runs of 8 that fill tiles and do not, parts of `k`, operands made first.
    let few = [[1, 64, 64], [1, 33, 96], [3, 96, 32], [9, 32, 64], [17, 65, 160], [70, 129, 64], [33, 320, 352]];
    let native = [[20, 264, 96], [24, 128, 4096], [50, 136, 200], [64, 256, 576], [200, 320, 1088], [1032, 72, 160], [72, 1032, 160]];
    for [m, n, k] in few.into_iter().chain(native) {
        for (name, decode) in OPERANDS {
            for turned in [false, true] {
                let shape = if turned { [n, k] } else { [k, n] };
                number += 1;
                if name.starts_with("q4_0") && shape[1] % 32 != 0 || number % one_in != 0 || m * n * k > largest {
                    continue;
                }
                let sides = |device: &Device| {
                    let weight = stored(&Tensor::from_vec(numbers(n * k, 3), shape, device));
                    let w = decode(&weight);
                    (weight, stored(&Tensor::from_vec(numbers(m * k, 2), [m, k], device).cast(w.dtype())), w)
                };
                let (weight, x, w) = sides(device);
                // The same in memory.
                let (_, want_x, want_w) = sides(&cpu);
                let want_w = stored(&want_w);
                let view = |w: &Tensor| if turned { w.transpose(0, 1) } else { w.clone() };
                let what = format!("{} {name} {m}x{n}x{k}{}", device.name(), if turned { " turned" } else { "" });
                let mut case = |which: &str, got: Tensor, want: Tensor| {
                    let values = |x: Tensor| Values::from_f64(x.dtype(), &x.shape(), &x.to_f64_vec().unwrap());
                    if let Err(difference) = close(&values(got), &values(want), Tolerance::new(w.dtype(), k)) {
                        println!("FAIL {what}, {which}: {difference:?}");
                        right = false;
                    }
                };
                case("right", x.matmul(&view(&w)), want_x.matmul(&view(&want_w)));
                let left = |w: &Tensor, x: &Tensor| (view(w).transpose(0, 1).matmul(&x.transpose(0, 1)) * 0.5).relu();
                case("left, with an epilogue", left(&decode(&weight), &x), left(&want_w, &want_x));
                let batch = |x: &Tensor| stored(&Tensor::concat(&[x, x], 0).reshape([2, m, k]));
                case("for a batch", batch(&x).matmul(&view(&decode(&weight))), batch(&want_x).matmul(&view(&want_w)));
            }
        }
    }
    right
}

#[test]
fn products_decode_their_operands() {
    let here = fast_devices().iter().fold(true, |all, device| products_on(device) & all);
    let apart = on_slow_devices("products_decode_their_operands");
    let lower = on_lower_tiers("products_decode_their_operands");
    assert!(here && apart && lower, "see the FAIL lines above");
}
