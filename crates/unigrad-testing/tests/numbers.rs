//! Numbers beside tensors whose dtype does not have them, on every device: what is rounded is the result, and what is compared is the number.

use unigrad_tensor::{DType, Device, Tensor, grad};
use unigrad_testing::Values;

const HALVES: [DType; 2] = [DType::F16, DType::BF16];
const INTS: [DType; 8] = [DType::U8, DType::I8, DType::U16, DType::I16, DType::U32, DType::I32, DType::U64, DType::I64];

fn on(dtype: DType, values: &[f64], device: &Device) -> Tensor {
    let values = Values::from_f64(dtype, &[values.len()], values);
    Tensor::from_bytes(&values.to_bytes(), values.shape.as_slice(), dtype, device)
}

/// The numbers that a half type has for these of `f32`.
fn rounded(dtype: DType, values: impl Iterator<Item = f32>) -> Vec<f64> {
    let values: Vec<f64> = values.map(f64::from).collect();
    Values::from_f64(dtype, &[values.len()], &values).to_f64()
}

fn read(x: &Tensor) -> Vec<f64> {
    x.cast(DType::F32).to_vec::<f32>().unwrap().into_iter().map(f64::from).collect()
}

#[test]
fn halves_are_rounded_after_an_op_with_a_number() {
    for device in unigrad_testing::devices() {
        for dtype in HALVES {
            // More than a vector's lanes, and no multiple of them.
            let numbers: Vec<f64> = (0..1031).map(|i| f64::from(i - 500) * 0.37).collect();
            let x = on(dtype, &numbers, &device).requires_grad();
            let wide: Vec<f32> = read(&x).into_iter().map(|x| x as f32).collect();
            for number in [0.1, 1.0 / 3.0, 1e-6, 3e-8, 1e6, 65537.0] {
                let n = number as f32;
                let one = Tensor::from_slice(&[n], [], &device);
                for (name, got, want) in [
                    ("x * n", &x * number, rounded(dtype, wide.iter().map(|x| x * n))),
                    ("n * x", number * &x, rounded(dtype, wide.iter().map(|x| x * n))),
                    ("x * tensor", &x * &one, rounded(dtype, wide.iter().map(|x| x * n))),
                    ("tensor * x", &one * &x, rounded(dtype, wide.iter().map(|x| x * n))),
                    ("x + n", &x + number, rounded(dtype, wide.iter().map(|x| x + n))),
                    ("n - x", number - &x, rounded(dtype, wide.iter().map(|x| n - x))),
                ] {
                    assert_eq!(got.dtype(), dtype);
                    assert_eq!(read(&got), want, "{name}, {dtype}, {number}, {device:?}");
                }
                let slope = grad(&(&x * number).sum(()), &[&x]).unwrap().remove(0);
                assert_eq!(slope.dtype(), dtype);
                assert_eq!(read(&slope), rounded(dtype, std::iter::repeat_n(n, numbers.len())), "gradient, {dtype}, {number}, {device:?}");
            }
        }
    }
}

#[test]
fn an_8_bit_float_of_rank_0_meets_no_half() {
    let device = Device::open("cpu").unwrap();
    let one = Tensor::scalar(1.0, DType::F32, &device);
    for dtype in HALVES {
        let x = on(dtype, &[1.0, 2.0], &device);
        for small in [DType::F8E4M3, DType::F8E5M2] {
            let mixed = &x * one.cast(small);
            assert!(mixed.to_bytes().unwrap_err().to_string().contains("no common dtype"));
        }
    }
}

#[test]
fn integers_beside_numbers_that_they_do_not_have() {
    for device in unigrad_testing::devices() {
        for dtype in INTS {
            let x = on(dtype, &[0.0, 1.0, 7.0, 100.0], &device);
            let bits = 8 * dtype.size() as u32;
            let is_unsigned = matches!(dtype, DType::U8 | DType::U16 | DType::U32 | DType::U64);
            let greater = (bits < 64).then(|| [1_i64 << bits, i64::MAX]);
            let less = if is_unsigned { Some([-1, i64::MIN]) } else { (bits < 64).then(|| [-(1_i64 << bits), i64::MIN]) };
            let told = |x: Tensor| x.cast(DType::I32).to_vec::<i32>().unwrap();
            let cases = greater.into_iter().flatten().map(|n| (n, true)).chain(less.into_iter().flatten().map(|n| (n, false)));
            for (number, is_greater) in cases {
                let all = |holds: bool| vec![i32::from(holds); 4];
                let what = format!("{dtype} and {number}, {device:?}");
                assert_eq!(told(x.lt(number)), all(is_greater), "{what}");
                assert_eq!(told(x.le(number)), all(is_greater), "{what}");
                assert_eq!(told(x.gt(number)), all(!is_greater), "{what}");
                assert_eq!(told(x.ge(number)), all(!is_greater), "{what}");
                assert_eq!(told(x.eq(number)), all(false), "{what}");
                assert_eq!(told(x.ne(number)), all(true), "{what}");
                let kept = if is_greater { x.minimum(number) } else { x.maximum(number) };
                assert_eq!(told(kept), [0, 1, 7, 100], "{what}");
            }
            assert_eq!(told(x.clamp(i64::MIN, i64::MAX)), [0, 1, 7, 100], "{dtype}, {device:?}");
            let y = on(dtype, &[1.0, 0.0, 7.0, 101.0], &device);
            assert_eq!(told(x.isclose(&y, 0.0, 0.0, false)), [0, 0, 1, 0], "{dtype}, {device:?}");
            assert_eq!(told(x.isclose(&y, 0.0, 1.0, false)), [1, 1, 1, 1], "{dtype}, {device:?}");
        }
    }
}
