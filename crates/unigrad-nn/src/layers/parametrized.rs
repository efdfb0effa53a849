//! Weights that are computed from others: weight norm and spectral norm, with the names of PyTorch's `nn.utils.parametrizations`.
//!
//! In: a layer, and the name of one of its parameters. Out: a layer whose parameter is computed in each forward pass.
//! Always: the layer's other parameters keep their names; what the computed one is made of is below `parametrizations`.

use super::Layer;
use crate::{Module, Visitor, VisitorMut};
use std::any::Any;
use unigrad_tensor::{Error, Origin, Result, Tensor, no_grad};

/// Shows all but one parameter of a layer.
struct Without<'a, V: ?Sized> {
    visitor: &'a mut V,
    name: &'a str,
    depth: usize,
}

impl<'m, V: Visitor<'m> + ?Sized> Visitor<'m> for Without<'_, V> {
    fn enter(&mut self, name: &str) {
        self.depth += 1;
        self.visitor.enter(name);
    }
    fn leave(&mut self) {
        self.depth -= 1;
        self.visitor.leave();
    }
    fn module(&mut self, module: &'m dyn Module) {
        self.visitor.module(module);
    }
    fn parameter(&mut self, name: &str, tensor: &'m Tensor) {
        if self.depth > 0 || name != self.name {
            self.visitor.parameter(name, tensor);
        }
    }
    fn buffer(&mut self, name: &str, tensor: &'m Tensor) {
        self.visitor.buffer(name, tensor);
    }
}

impl<V: VisitorMut + ?Sized> VisitorMut for Without<'_, V> {
    fn enter(&mut self, name: &str) {
        self.depth += 1;
        self.visitor.enter(name);
    }
    fn leave(&mut self) {
        self.depth -= 1;
        self.visitor.leave();
    }
    fn module(&mut self, module: &mut dyn Module) {
        self.visitor.module(module);
    }
    fn parameter(&mut self, name: &str, tensor: &mut Tensor) {
        if self.depth > 0 || name != self.name {
            self.visitor.parameter(name, tensor);
        }
    }
    fn buffer(&mut self, name: &str, tensor: &mut Tensor) {
        self.visitor.buffer(name, tensor);
    }
}

/// Shows a layer but for the parameter that is computed, and below `parametrizations` what it is computed from.
fn show<'m, L: Module>(layer: &'m L, name: &str, visitor: &mut dyn Visitor<'m>, parts: impl FnOnce(&mut dyn Visitor<'m>)) {
    layer.visit(&mut Without { visitor, name, depth: 0 });
    visitor.enter("parametrizations");
    visitor.enter(name);
    parts(visitor);
    visitor.leave();
    visitor.leave();
}

/// As [`show`], with the right to change.
fn show_mut<L: Module>(layer: &mut L, name: &str, visitor: &mut dyn VisitorMut, parts: impl FnOnce(&mut dyn VisitorMut)) {
    layer.visit_mut(&mut Without { visitor, name, depth: 0 });
    visitor.enter("parametrizations");
    visitor.enter(name);
    parts(visitor);
    visitor.leave();
    visitor.leave();
}

/// The own parameter of this name; put in its place is `new`, if there is one.
fn exchange<L: Module>(layer: &mut L, name: &str, new: Option<&Tensor>) -> Option<Tensor> {
    struct Exchange<'a> {
        name: &'a str,
        new: Option<&'a Tensor>,
        depth: usize,
        found: Option<Tensor>,
    }
    impl VisitorMut for Exchange<'_> {
        fn enter(&mut self, _: &str) {
            self.depth += 1;
        }
        fn leave(&mut self) {
            self.depth -= 1;
        }
        fn parameter(&mut self, name: &str, tensor: &mut Tensor) {
            if self.depth == 0 && name == self.name {
                self.found = Some(tensor.clone());
                if let Some(new) = self.new {
                    *tensor = new.clone();
                }
            }
        }
    }
    let mut exchange = Exchange { name, new, depth: 0, found: None };
    layer.visit_mut(&mut exchange);
    exchange.found
}

fn own_parameter<L: Module>(layer: &mut L, name: &str) -> Result<Tensor> {
    exchange(layer, name, None).ok_or_else(|| {
        let known: Vec<String> = layer.named_parameters().into_iter().map(|(name, _)| name).filter(|name| !name.contains('.')).collect();
        let cause = format!("a {} has no parameter `{name}` of its own", layer.type_name());
        Error::argument(cause, format!("name one of these: {}", known.join(", ")))
    })
}

/// The layer with `weight` as its parameter.
fn with_weight<L: Module + Clone>(layer: &L, name: &str, weight: &Tensor) -> L {
    let mut layer = layer.clone();
    exchange(&mut layer, name, Some(weight));
    layer
}

/// All axes but one; all without one.
fn other_axes(rank: usize, axis: Option<usize>) -> Vec<usize> {
    (0..rank).filter(|at| Some(*at) != axis).collect()
}

/// A layer whose weight is `g * v / |v|` (Salimans and Kingma, 2016): a length and a direction, for each index of an axis.
///
/// ```
/// # extern crate unigrad_nn as unigrad;
/// # unigrad_device::register(unigrad_cpu::CpuDriver::default());
/// use unigrad::nn::{Layer, Linear, Module, WeightNorm};
/// use unigrad_tensor::{DType, Device, Tensor};
///
/// let device = Device::open("cpu")?;
/// let layer = WeightNorm::new(Linear::new(4, 3, &device), "weight", Some(0))?;
/// let names: Vec<String> = layer.named_parameters().into_iter().map(|(name, _)| name).collect();
/// assert_eq!(names, ["bias", "parametrizations.weight.original0", "parametrizations.weight.original1"]);
/// assert_eq!(layer.forward(&Tensor::ones([2, 4], DType::F32, &device)).dims()?, [2, 3]);
/// # Ok::<(), unigrad::Error>(())
/// ```
#[derive(Clone)]
pub struct WeightNorm<L> {
    /// Its parameter is `v`.
    layer: L,
    name: String,
    axis: Option<usize>,
    /// Lengths.
    g: Tensor,
    /// Directions.
    v: Tensor,
}

impl<L: Module + Clone> WeightNorm<L> {
    /// Of a layer's own parameter `name`, with a length for each index of `axis` (PyTorch's default: 0), or one for all without. The layer computes what
    /// it did before. An error if it has no such parameter or the parameter no such axis.
    #[track_caller]
    pub fn new(mut layer: L, name: &str, axis: Option<usize>) -> Result<WeightNorm<L>> {
        let _origin = Origin::enter_caller();
        let weight = own_parameter(&mut layer, name)?;
        let rank = weight.dims()?.len();
        if let Some(axis) = axis.filter(|axis| *axis >= rank) {
            return Err(Error::argument(format!("axis {axis} of `{name}` {:?}", weight.shape()), format!("choose one of 0..{rank}")));
        }
        let g = no_grad(|| lengths(&weight.detach(), axis)).requires_grad();
        let v = weight.detach().requires_grad();
        exchange(&mut layer, name, Some(&v));
        Ok(WeightNorm { layer, name: name.to_owned(), axis, g, v })
    }

    /// The layer with its computed weight: to be called as the layer is.
    #[track_caller]
    pub fn layer(&self) -> L {
        let _origin = Origin::enter_caller();
        with_weight(&self.layer, &self.name, &(&self.v * (&self.g / lengths(&self.v, self.axis))))
    }
}

/// The Euclidean norm for each index of an axis, which broadcasts over the tensor; rank 0 without an axis.
#[track_caller]
fn lengths(x: &Tensor, axis: Option<usize>) -> Tensor {
    match axis {
        Some(_) => x.norm_keepdim(2.0, other_axes(x.rank(), axis)),
        None => x.norm(2.0, ()),
    }
}

impl<L: Module + Clone> Module for WeightNorm<L> {
    fn visit<'m>(&'m self, visitor: &mut dyn Visitor<'m>) {
        show(&self.layer, &self.name, visitor, |visitor| {
            visitor.parameter("original0", &self.g);
            visitor.parameter("original1", &self.v);
        });
    }

    fn visit_mut(&mut self, visitor: &mut dyn VisitorMut) {
        show_mut(&mut self.layer, &self.name, visitor, |visitor| {
            visitor.parameter("original0", &mut self.g);
            visitor.parameter("original1", &mut self.v);
        });
    }

    fn on_mode(&mut self, training: bool) {
        self.layer.on_mode(training);
    }

    fn as_any(&self) -> Option<&dyn Any> {
        Some(self)
    }

    fn as_any_mut(&mut self) -> Option<&mut dyn Any> {
        Some(self)
    }
}

impl<L: Layer + Clone> Layer for WeightNorm<L> {
    #[track_caller]
    fn forward(&self, x: &Tensor) -> Tensor {
        self.layer().forward(x)
    }
}

/// A layer whose weight is divided by its greatest singular value (Miyato et al., 2018), which power iteration follows while training.
///
/// ```
/// # extern crate unigrad_nn as unigrad;
/// # unigrad_device::register(unigrad_cpu::CpuDriver::default());
/// use unigrad::nn::{Layer, Linear, Module, SpectralNorm};
/// use unigrad_tensor::{DType, Device, Tensor};
///
/// let device = Device::open("cpu")?;
/// let layer = SpectralNorm::new(Linear::new(4, 3, &device), "weight", 0, 1)?;
/// let names: Vec<String> = layer.state_dict().into_iter().map(|(name, _)| name).collect();
/// assert_eq!(names[1..], ["parametrizations.weight.original", "parametrizations.weight.0._u", "parametrizations.weight.0._v"]);
/// assert_eq!(layer.forward(&Tensor::ones([2, 4], DType::F32, &device)).dims()?, [2, 3]);
/// # Ok::<(), unigrad::Error>(())
/// ```
#[derive(Clone)]
pub struct SpectralNorm<L> {
    /// Its parameter is the original weight.
    layer: L,
    name: String,
    axis: usize,
    n_power_iterations: usize,
    original: Tensor,
    /// The left and the right singular vector, of matrices.
    vectors: Option<[Tensor; 2]>,
    /// What a vector's length is at least.
    pub eps: f64,
    training: bool,
}

/// Iterations before the first step, as PyTorch has it.
const FIRST_ITERATIONS: usize = 15;

impl<L: Module + Clone> SpectralNorm<L> {
    /// Of a layer's own parameter `name` as a matrix whose rows are the indices of `axis` (0; 1 for transposed convolutions), with so many power
    /// iterations in each forward pass (PyTorch's default: 1). An error if there is no such parameter or axis.
    #[track_caller]
    pub fn new(mut layer: L, name: &str, axis: usize, n_power_iterations: usize) -> Result<SpectralNorm<L>> {
        let _origin = Origin::enter_caller();
        let weight = own_parameter(&mut layer, name)?;
        let shape = weight.dims()?;
        if axis >= shape.len() || n_power_iterations == 0 {
            let cause = format!("axis {axis} of `{name}` {shape:?} and {n_power_iterations} power iterations");
            return Err(Error::argument(cause, format!("choose an axis of 0..{} and at least one iteration", shape.len())));
        }
        let original = weight.detach().requires_grad();
        exchange(&mut layer, name, Some(&original));
        let mut norm =
            SpectralNorm { layer, name: name.to_owned(), axis, n_power_iterations, original, vectors: None, eps: 1e-12, training: true };
        if shape.len() > 1 {
            let vectors = no_grad(|| -> Result<[Tensor; 2]> {
                let matrix = norm.matrix().detach();
                let device = matrix.device()?;
                let random = |n: usize| Tensor::randn([n], matrix.dtype(), &device).normalize(2.0, 0, norm.eps);
                let first = [random(matrix.dim(0)?), random(matrix.dim(1)?)];
                // Recorded like all initial values: a program that loads others never computes them.
                Ok(norm.iterated(&matrix, first, FIRST_ITERATIONS))
            })?;
            norm.vectors = Some(vectors);
        }
        Ok(norm)
    }

    /// The weight with `axis` first and all others as one.
    #[track_caller]
    fn matrix(&self) -> Tensor {
        let moved = if self.axis == 0 { self.original.clone() } else { self.original.movedim(self.axis as isize, 0) };
        let rows = moved.shape().first().copied().unwrap_or(1);
        let columns = moved.numel() / rows.max(1);
        moved.reshape([rows, columns])
    }

    #[track_caller]
    fn iterated(&self, matrix: &Tensor, [mut u, mut v]: [Tensor; 2], n: usize) -> [Tensor; 2] {
        for _ in 0..n {
            u = matrix.matmul(&v).normalize(2.0, 0, self.eps);
            v = matrix.t().matmul(&u).normalize(2.0, 0, self.eps);
        }
        [u, v]
    }

    #[track_caller]
    fn weight(&self) -> Result<Tensor> {
        let Some([u, v]) = &self.vectors else { return Ok(self.original.normalize(2.0, 0, self.eps)) };
        let matrix = self.matrix();
        let mut vectors = [u.detach(), v.detach()];
        if self.training {
            vectors = no_grad(|| -> Result<[Tensor; 2]> {
                let new = self.iterated(&matrix.detach(), vectors, self.n_power_iterations);
                let new = [new[0].cast(u.dtype()), new[1].cast(v.dtype())];
                u.assign(&new[0])?;
                v.assign(&new[1])?;
                Ok(new)
            })?;
        }
        let sigma = vectors[0].dot(&matrix.matmul(&vectors[1]));
        Ok(&self.original / sigma)
    }

    /// The layer with its computed weight: to be called as the layer is. While training, each call iterates.
    #[track_caller]
    pub fn layer(&self) -> L {
        let _origin = Origin::enter_caller();
        let weight = match self.weight() {
            Ok(weight) => weight,
            Err(error) => Tensor::from_error(&error),
        };
        with_weight(&self.layer, &self.name, &weight)
    }
}

impl<L: Module + Clone> Module for SpectralNorm<L> {
    fn visit<'m>(&'m self, visitor: &mut dyn Visitor<'m>) {
        show(&self.layer, &self.name, visitor, |visitor| {
            visitor.parameter("original", &self.original);
            if let Some([u, v]) = &self.vectors {
                visitor.enter("0");
                visitor.buffer("_u", u);
                visitor.buffer("_v", v);
                visitor.leave();
            }
        });
    }

    fn visit_mut(&mut self, visitor: &mut dyn VisitorMut) {
        show_mut(&mut self.layer, &self.name, visitor, |visitor| {
            visitor.parameter("original", &mut self.original);
            if let Some([u, v]) = &mut self.vectors {
                visitor.enter("0");
                visitor.buffer("_u", u);
                visitor.buffer("_v", v);
                visitor.leave();
            }
        });
    }

    fn on_mode(&mut self, training: bool) {
        self.training = training;
        self.layer.on_mode(training);
    }

    fn as_any(&self) -> Option<&dyn Any> {
        Some(self)
    }

    fn as_any_mut(&mut self) -> Option<&mut dyn Any> {
        Some(self)
    }
}

impl<L: Layer + Clone> Layer for SpectralNorm<L> {
    #[track_caller]
    fn forward(&self, x: &Tensor) -> Tensor {
        self.layer().forward(x)
    }
}
