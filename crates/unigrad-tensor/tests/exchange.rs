//! Memory that is another library's, and memory that another library reads.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering::SeqCst},
};
use unigrad_device::Buffer;
use unigrad_tensor::{DType, Device, ErrorKind, IndexItem, Tensor, no_grad};

fn device() -> Device {
    unigrad_device::register(unigrad_cpu::CpuDriver);
    Device::open("cpu").unwrap()
}

/// Counts the drops of an owner, which has the memory.
struct Owner {
    _memory: Arc<Vec<f32>>,
    drops: Arc<AtomicUsize>,
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.drops.fetch_add(1, SeqCst);
    }
}

fn adopted(memory: &Arc<Vec<f32>>, from: usize, drops: &Arc<AtomicUsize>) -> Buffer {
    let owner = Owner { _memory: Arc::clone(memory), drops: Arc::clone(drops) };
    let start = memory[from..].as_ptr().expose_provenance() as u64;
    // SAFETY: the owner keeps the vector, which is not changed.
    unsafe { device().adopt(start, 4 * (memory.len() - from), Box::new(owner)) }.unwrap()
}

#[test]
fn adopted_memory_is_read_in_place_and_never_written() {
    let memory: Arc<Vec<f32>> = Arc::new((0..1003).map(|i| i as f32).collect());
    let drops = Arc::new(AtomicUsize::new(0));
    // Every place that an element may begin at.
    for from in 0..17 {
        let buffer = adopted(&memory, from, &drops);
        assert!(buffer.is_adopted() && !buffer.is_unique());
        assert!(buffer.upload(0, &[0; 4]).is_err() && buffer.copy_from(0, &device().allocate_with(&[0; 4]).unwrap(), 0, 4).is_err());
        let n = memory.len() - from;
        // The only handle is the graph's: of memory of its own the evaluation would take it over.
        let x = Tensor::from_buffer(buffer, [n], DType::F32);
        let y = (x + 1.0) * 2.0;
        let expected: Vec<f32> = memory[from..].iter().map(|x| (x + 1.0) * 2.0).collect();
        assert_eq!(y.to_vec::<f32>().unwrap(), expected);
        drop(y);
        assert_eq!(drops.load(SeqCst), from + 1);
    }
    assert!(memory.iter().enumerate().all(|(i, x)| *x == i as f32));
    // A parameter of adopted memory: its first update goes to memory of its own.
    let w = Tensor::from_buffer(adopted(&memory, 1, &drops), [memory.len() - 1], DType::F32).requires_grad();
    for step in 1..4 {
        no_grad(|| w.assign(&(&w - 1.0))).unwrap();
        assert_eq!(w.i(4).item::<f32>().unwrap(), 5.0 - step as f32);
    }
    assert_eq!((memory[5], drops.load(SeqCst)), (5.0, 18));
}

#[test]
fn what_is_on_loan_keeps_its_values() {
    let w = Tensor::from_vec(vec![1.0_f32; 4096], [4096], &device()).requires_grad();
    for _ in 0..5 {
        let loan = w.buffer().unwrap().lend(None).unwrap();
        let before = loan.buffer().to_vec().unwrap();
        assert_eq!(loan.address(), loan.buffer().address());
        no_grad(|| w.assign(&(&w * 3.0))).unwrap();
        w.realize().unwrap();
        assert_eq!(loan.buffer().to_vec().unwrap(), before);
        assert!(!w.buffer().unwrap().same(loan.buffer()));
    }
}

#[test]
fn buffers_that_do_not_fit_are_refused() {
    let buffer = device().allocate(16).unwrap();
    for (shape, dtype) in [(vec![5], DType::F32), (vec![2], DType::F32), (vec![4], DType::F64), (vec![usize::MAX, 4], DType::F32)] {
        let error = Tensor::from_buffer(buffer.clone(), shape, dtype).error().unwrap();
        assert_eq!(error.kind(), ErrorKind::Shape);
    }
    // SAFETY: no byte is there, and none is read.
    let nothing = unsafe { device().adopt(0, 0, Box::new(())) }.unwrap();
    assert_eq!(Tensor::from_buffer(nothing, [3, 0], DType::F32).sum(()).item::<f32>().unwrap(), 0.0);
    // SAFETY: it is refused.
    assert!(unsafe { device().adopt(0, 8, Box::new(())) }.is_err());
    // SAFETY: it is refused.
    assert!(unsafe { device().adopt(u64::MAX - 3, 8, Box::new(())) }.is_err());
}

#[test]
fn masks_have_the_sizes_of_their_axes() {
    let x = Tensor::from_vec((0..6).map(|i| i as f32).collect::<Vec<f32>>(), [2, 3], &device());
    let mask = |shape: Vec<usize>| IndexItem::Tensor(Tensor::zeros(shape, DType::Bool, &device()));
    for shape in [vec![3], vec![2, 2], vec![1], vec![2, 3, 1]] {
        assert!(x.i(vec![mask(shape)]).is_invalid());
    }
    for shape in [vec![2], vec![2, 3], vec![0], vec![0, 3]] {
        assert_eq!(x.i(vec![mask(shape)]).numel(), 0);
    }
    assert!(x.i(vec![IndexItem::Ellipsis, mask(vec![2])]).is_invalid());
    assert_eq!(x.i(vec![IndexItem::Ellipsis, mask(vec![3])]).shape(), [2, 0]);
}

#[test]
fn zeros_keep_their_sign() {
    let x = Tensor::from_vec(vec![-0.0_f32, 0.0, -0.0], [3], &device());
    let bits = |x: Tensor| x.to_vec::<f32>().unwrap().into_iter().map(f32::to_bits).collect::<Vec<u32>>();
    let zero = |negative: bool| if negative { (-0.0_f32).to_bits() } else { 0 };
    assert_eq!(bits(x.asinh()), [true, false, true].map(zero));
}
