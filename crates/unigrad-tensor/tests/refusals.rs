//! What is refused, and how: sizes that no memory has, arguments that hide a mistake, labels that are no class; and what is taken at rank 0.

use unigrad_tensor::{BagMode, ConvOptions, CrossEntropyOptions, DType, Device, EmbeddingBagOptions, PadMode, Tensor, grad};

const MAX: usize = usize::MAX;

fn device() -> Device {
    unigrad_device::register(unigrad_cpu::CpuDriver);
    Device::open("cpu").unwrap()
}

fn zeros(shape: &[usize]) -> Tensor {
    Tensor::zeros(shape, DType::F32, &device())
}

/// The call is refused with an error that names it and has a remedy.
#[track_caller]
fn refused(op: &str, tensor: &Tensor) {
    let error = tensor.error().expect("it is accepted").to_string();
    assert!(error.starts_with(&format!("{op}: ")) && error.contains("help: "), "{error}");
    assert!(error.contains("refusals.rs"), "another place than the caller's: {error}");
}

#[test]
fn numbers_that_integers_do_not_hold() {
    let d = device();
    let held: [(DType, i64, i64); 7] = [
        (DType::U8, -255, 255),
        (DType::I8, -128, 127),
        (DType::U16, -65535, 65535),
        (DType::I16, -32768, 32767),
        (DType::U32, -0xffff_ffff, 0xffff_ffff),
        (DType::I32, i32::MIN as i64, i32::MAX as i64),
        (DType::I64, i64::MIN, i64::MAX),
    ];
    for (dtype, least, most) in held {
        let like = Tensor::zeros([2], dtype, &d);
        for value in [least, most] {
            // In two's complement, where a negative one has as many digits.
            let want = if value < 0 && dtype.is_unsigned_int() { value + most + 1 } else { value };
            for full in [
                Tensor::full_int([2], value, dtype, &d),
                like.new_full([2], value),
                Tensor::zeros([2], DType::F32, &d).full_like_as(value, dtype),
            ] {
                assert_eq!(full.cast(DType::I64).to_vec::<i64>().unwrap(), [want; 2], "{dtype} {value}");
            }
        }
        for value in [least.checked_sub(1), most.checked_add(1)].into_iter().flatten() {
            refused("full", &Tensor::full_int([2], value, dtype, &d));
            refused("new_full", &like.new_full([2], value));
            refused("full_like_as", &like.full_like_as(value, dtype));
            let mask = Tensor::new([true, false], &d);
            refused("masked_fill", &like.masked_fill(&mask, value));
            refused("where", &mask.where_(value, &like));
            refused("where", &mask.where_(&like, value));
            refused("index_fill", &like.index_fill(0, &Tensor::new([0i64], &d), value));
        }
        // A fraction is left out first.
        assert!(!Tensor::full([2], 127.9, dtype, &d).is_invalid());
        for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e30, -1e30, most as f64 + 1.0] {
            refused("full", &Tensor::full([2], value, dtype, &d));
            refused("full_like", &like.full_like(value));
            refused("pad", &like.pad_with(&[(1, 0)], PadMode::Constant(value)));
        }
        assert_eq!(like.pad_with(&[(1, 0)], PadMode::Constant(1.9)).narrow(0, 0, 1).cast(DType::I64).to_vec::<i64>().unwrap(), [1]);
    }
    assert_eq!(Tensor::full_int([1], -1, DType::U64, &d).to_vec::<u64>().unwrap(), [u64::MAX]);
    refused("full", &Tensor::full([1], -1.0, DType::U64, &d));
    refused("full", &Tensor::full([1], 18_446_744_073_709_551_616.0, DType::U64, &d));
    for dtype in [DType::F16, DType::F32, DType::Bool] {
        assert!(!Tensor::full([1], 1e300, dtype, &d).is_invalid(), "{dtype}");
    }
}

#[test]
fn offsets_that_begin_no_bag() {
    let d = device();
    let table = Tensor::new([[1.0f32], [10.0], [100.0]], &d);
    let bags = |offsets: &[i64], include_last_offset: bool| {
        let offsets = Tensor::from_slice(offsets, [offsets.len()], &d);
        let options = EmbeddingBagOptions { mode: BagMode::Sum, offsets: Some(offsets), include_last_offset, ..Default::default() };
        table.embedding_bag(&Tensor::new([0i64, 1, 2], &d), &options).to_vec::<f32>()
    };
    assert_eq!(bags(&[0, 2, 2, 3], false).unwrap(), [11.0, 0.0, 100.0, 0.0]);
    assert_eq!(bags(&[0, 2, 3], true).unwrap(), [11.0, 100.0]);
    assert_eq!(bags(&[0], false).unwrap(), [111.0]);
    assert!(bags(&[], false).unwrap().is_empty());
    // Without numbers there is none to look up, and the offsets have to be 0.
    let of_none = |offsets: &[i64]| {
        let options = EmbeddingBagOptions { offsets: Some(Tensor::from_slice(offsets, [offsets.len()], &d)), ..Default::default() };
        table.embedding_bag(&Tensor::zeros([0], DType::I64, &d), &options).to_vec::<f32>()
    };
    assert_eq!(of_none(&[0, 0]).unwrap(), [0.0; 2]);
    assert!(of_none(&[0, 3]).is_err() && of_none(&[-1]).is_err() && of_none(&[1, 0]).is_err());
    for wrong in [&[1, 2][..], &[-1, 2], &[0, 4], &[0, 2, 1], &[0, -1], &[0, i64::MAX, 1], &[0, i64::MIN]] {
        let error = bags(wrong, false).unwrap_err().to_string();
        assert!(error.contains("is out of range"), "{wrong:?}: {error}");
    }
}

#[test]
fn sizes_that_no_memory_has() {
    let d = device();
    for shape in [&[0, 1 << 63][..], &[MAX, 0], &[1 << 40, 0, 1 << 40], &[1 << 62], &[MAX, MAX]] {
        assert!(zeros(shape).is_invalid(), "{shape:?}");
        assert!(Tensor::from_bytes(&[], shape, DType::F32, &d).is_invalid(), "{shape:?}");
        assert!(Tensor::randn(shape, DType::F32, &d).is_invalid(), "{shape:?}");
    }
    assert!(zeros(&[0, 1 << 60]).dims().is_ok());
    refused("conv", &zeros(&[1, 1, 5]).conv(&zeros(&[1, 1, 3]), None, MAX, &ConvOptions::default()));
    refused("conv", &zeros(&[1, 1, 5]).conv1d(&zeros(&[1, 1, 3]), None, &ConvOptions::new(MAX, MAX / 4)));
    refused("adaptive_avg_pool", &zeros(&[1, 1, 5]).adaptive_avg_pool(&[MAX]));
    refused("one_hot", &Tensor::new([0i64], &d).one_hot(MAX));
    refused("split", &zeros(&[1 << 40]).split(1, 0)[0]);
    refused("unbind", &zeros(&[1 << 40]).unbind(0)[0]);
    // Not -1, which would be found out.
    refused("reshape", &zeros(&[4]).reshape([MAX]));
    refused("index", &zeros(&[4]).i(MAX));
    refused("sum", &zeros(&[4]).sum(MAX));
    // As many bytes as memory can have, and too many in the type that both are compared in: zeros of that type are a constant anew.
    let (boundaries, values) = (Tensor::zeros([1 << 62], DType::U8, &d), Tensor::new([1i64], &d));
    assert!(!boundaries.is_invalid());
    refused("const", &values.bucketize(&boundaries, false));
    refused("const", &boundaries.searchsorted(&values, true));
    // One window, wherever the next one would be.
    let x = zeros(&[5]).requires_grad();
    let y = x.unfold(0, 3, MAX);
    assert_eq!(y.shape(), [1, 3]);
    assert_eq!(grad(&y.sum(()), &[&x]).unwrap()[0].to_vec::<f32>().unwrap(), [1.0, 1.0, 1.0, 0.0, 0.0]);
    let far = ConvOptions { dilation: vec![MAX], stride: vec![MAX], ..ConvOptions::default() };
    assert_eq!(zeros(&[1, 1, 5]).conv1d(&zeros(&[1, 1, 1]), None, &far).to_vec::<f32>().unwrap(), [0.0]);
}

#[test]
fn what_hides_a_mistake() {
    let (x, one) = (zeros(&[2, 3, 4]), zeros(&[1]));
    refused("conv", &x.conv1d(&zeros(&[5, 3, 1]), Some(&one), &ConvOptions::default()));
    refused("conv_transpose", &x.conv_transpose1d(&zeros(&[3, 5, 1]), Some(&one), &ConvOptions::default()));
    refused("group_norm", &x.group_norm(3, Some(&one), None, 1e-5));
    refused("instance_norm", &x.instance_norm(None, Some(&one), 1e-5));
    refused("batch_norm", &x.batch_norm(&one, &one, None, None, 1e-5));
    refused("batch_norm", &x.batch_norm_train(Some(&one), None, 1e-5).0);
    refused("batch_norm", &zeros(&[3]).batch_norm_train(None, None, 1e-5).0);
    refused("batch_norm", &zeros(&[3]).batch_norm(&zeros(&[3]), &zeros(&[3]), None, None, 1e-5));
    refused("layer_norm", &x.layer_norm(Some(&one), None, 1e-5));
    refused("layer_norm", &x.layer_norm(Some(&zeros(&[4])), Some(&zeros(&[3, 4])), 1e-5));
    refused("rms_norm", &x.rms_norm(Some(&one), 1e-5));
    refused("linear", &x.linear(&zeros(&[5, 4]), Some(&one)));
    refused("linear", &x.linear(&zeros(&[5, 4]), Some(&zeros(&[7, 2, 3, 5]))));
    let (column, row) = (zeros(&[3, 1]), zeros(&[3]));
    refused("bce_loss", &column.bce_loss(&row));
    refused("bce_with_logits", &column.bce_with_logits(&row));
    refused("mse_loss", &column.mse_loss(&row));
    refused("l1_loss", &column.l1_loss(&row));
    refused("huber_loss", &column.huber_loss(&row, 1.0));
    refused("smooth_l1_loss", &column.smooth_l1_loss(&row, 1.0));
    refused("kl_div", &column.kl_div(&row, false, Default::default()));
    // An axis that is not there.
    refused("unbind", &x.unbind(3)[0]);
    refused("split", &x.split(2, 3)[0]);
    refused("split_sizes", &x.split_sizes(&[], 3)[0]);
    refused("split_sizes", &x.split_sizes(&[], 0)[0]);
    refused("chunk", &x.chunk(0, 0)[0]);
    refused("meshgrid", &Tensor::meshgrid(&[&x])[0]);
    // No axis is named, so nothing is reduced.
    assert_eq!(x.sum([] as [isize; 0]).shape(), [2, 3, 4]);
}

#[test]
fn labels_are_classes() {
    let d = device();
    let logits = zeros(&[3, 4]);
    let labels = Tensor::new([0i64, -1, 2], &d);
    let none = |result: Tensor| result.to_f64_vec().unwrap_err().to_string();
    assert!(none(logits.cross_entropy(&labels)).contains("-1"), "{}", none(logits.cross_entropy(&labels)));
    assert!(none(logits.nll_loss(&labels)).contains("-1"));
    assert!(none(labels.one_hot(4).sum(())).contains("-1"));
    let ignored = CrossEntropyOptions { ignore_index: Some(-1), ..CrossEntropyOptions::default() };
    assert!((logits.cross_entropy_with(&labels, &ignored).item::<f32>().unwrap() - 4f32.ln()).abs() < 1e-6);
    // Positions count from the end.
    let x = Tensor::new([1i64, 2, 3], &d);
    assert_eq!(x.index_select(0, &labels).to_vec::<i64>().unwrap(), [1, 3, 3]);
    assert_eq!(x.gather(0, &labels).to_vec::<i64>().unwrap(), [1, 3, 3]);
    assert_eq!(x.scatter(0, &Tensor::new([-1i64], &d), &Tensor::new([9i64], &d)).to_vec::<i64>().unwrap(), [1, 2, 9]);
}

#[test]
fn rank_zero() {
    let d = device();
    let x = Tensor::scalar(3.0, DType::F32, &d);
    let (value, at) = x.max_with_index(0);
    assert_eq!((value.item::<f32>().unwrap(), at.item::<i64>().unwrap(), value.rank()), (3.0, 0, 0));
    assert_eq!(x.min_with_index(-1).1.item::<i64>().unwrap(), 0);
    let zero = Tensor::new([0i64], &d);
    assert_eq!(x.index_add(0, &zero, &Tensor::new([2.0f32], &d)).item::<f32>().unwrap(), 5.0);
    assert_eq!(x.index_copy(0, &zero.squeeze(0), &Tensor::scalar(2.0, DType::F32, &d)).item::<f32>().unwrap(), 2.0);
    assert_eq!((x.squeeze(0).rank(), x.transpose(0, -1).rank(), x.movedim(0, 0).rank()), (0, 0, 0));
    assert_eq!(x.unfold(0, 1, 1).shape(), [1]);
    refused("squeeze", &x.squeeze(1));
    refused("transpose", &x.transpose(0, 1));
    refused("index_copy", &x.index_copy(2, &zero, &x));
}
