//! What a field of a module may be: tensors, modules, and lists, maps and options of those.
//!
//! In: a field and its name. Out: the field's tensors and modules, shown to a visitor under paths.
//! Always: a list's elements are named by their positions, a map's by their keys, in the map's order; a pair of a name and a part by that name.

use super::{Module, Visitor, VisitorMut};
use std::collections::BTreeMap;
use unigrad_tensor::Tensor;

/// A field of a module: a tensor, a module, or a list or an option of those.
pub trait Part {
    /// Shows it under `name`.
    fn visit_part<'m>(&'m self, name: &str, visitor: &mut dyn Visitor<'m>);
    /// As `visit_part`, with the right to change.
    fn visit_part_mut(&mut self, name: &str, visitor: &mut dyn VisitorMut);
    /// Shows it under `name`, as a buffer.
    fn visit_buffer<'m>(&'m self, name: &str, visitor: &mut dyn Visitor<'m>) {
        self.visit_part(name, visitor);
    }
    /// As `visit_buffer`, with the right to change.
    fn visit_buffer_mut(&mut self, name: &str, visitor: &mut dyn VisitorMut) {
        self.visit_part_mut(name, visitor);
    }
}

impl Part for Tensor {
    fn visit_part<'m>(&'m self, name: &str, visitor: &mut dyn Visitor<'m>) {
        visitor.parameter(name, self);
    }

    fn visit_part_mut(&mut self, name: &str, visitor: &mut dyn VisitorMut) {
        visitor.parameter(name, self);
    }

    fn visit_buffer<'m>(&'m self, name: &str, visitor: &mut dyn Visitor<'m>) {
        visitor.buffer(name, self);
    }

    fn visit_buffer_mut(&mut self, name: &str, visitor: &mut dyn VisitorMut) {
        visitor.buffer(name, self);
    }
}

impl<M: Module> Part for M {
    fn visit_part<'m>(&'m self, name: &str, visitor: &mut dyn Visitor<'m>) {
        visitor.enter(name);
        visitor.module(self);
        self.visit(visitor);
        visitor.leave();
    }

    fn visit_part_mut(&mut self, name: &str, visitor: &mut dyn VisitorMut) {
        visitor.enter(name);
        visitor.module(self);
        self.visit_mut(visitor);
        visitor.leave();
    }
}

impl<P: Part> Part for Option<P> {
    fn visit_part<'m>(&'m self, name: &str, visitor: &mut dyn Visitor<'m>) {
        self.iter().for_each(|part| part.visit_part(name, visitor));
    }

    fn visit_part_mut(&mut self, name: &str, visitor: &mut dyn VisitorMut) {
        self.iter_mut().for_each(|part| part.visit_part_mut(name, visitor));
    }

    fn visit_buffer<'m>(&'m self, name: &str, visitor: &mut dyn Visitor<'m>) {
        self.iter().for_each(|part| part.visit_buffer(name, visitor));
    }

    fn visit_buffer_mut(&mut self, name: &str, visitor: &mut dyn VisitorMut) {
        self.iter_mut().for_each(|part| part.visit_buffer_mut(name, visitor));
    }
}

/// Parts in order, each under a name that its position or key gives.
macro_rules! lists {
    ($([$($generics:tt)*] $list:ty, $iter:ident, $iter_mut:ident, |$at:ident| $name:expr;)*) => { $(
        impl<$($generics)*> Part for $list {
            fn visit_part<'m>(&'m self, name: &str, visitor: &mut dyn Visitor<'m>) {
                visitor.enter(name);
                $iter(self).for_each(|($at, part)| part.visit_part($name, visitor));
                visitor.leave();
            }

            fn visit_part_mut(&mut self, name: &str, visitor: &mut dyn VisitorMut) {
                visitor.enter(name);
                $iter_mut(self).for_each(|($at, part)| part.visit_part_mut($name, visitor));
                visitor.leave();
            }

            fn visit_buffer<'m>(&'m self, name: &str, visitor: &mut dyn Visitor<'m>) {
                visitor.enter(name);
                $iter(self).for_each(|($at, part)| part.visit_buffer($name, visitor));
                visitor.leave();
            }

            fn visit_buffer_mut(&mut self, name: &str, visitor: &mut dyn VisitorMut) {
                visitor.enter(name);
                $iter_mut(self).for_each(|($at, part)| part.visit_buffer_mut($name, visitor));
                visitor.leave();
            }
        }
    )* };
}
lists! {
    [P: Part] Vec<P>, positions, positions_mut, |at| &at.to_string();
    [P: Part, const N: usize] [P; N], positions, positions_mut, |at| &at.to_string();
    [P: Part] BTreeMap<String, P>, keys, keys_mut, |key| key;
}

fn positions<P>(list: &[P]) -> impl Iterator<Item = (usize, &P)> {
    list.iter().enumerate()
}

fn positions_mut<P>(list: &mut [P]) -> impl Iterator<Item = (usize, &mut P)> {
    list.iter_mut().enumerate()
}

fn keys<P>(map: &BTreeMap<String, P>) -> impl Iterator<Item = (&String, &P)> {
    map.iter()
}

fn keys_mut<P>(map: &mut BTreeMap<String, P>) -> impl Iterator<Item = (&String, &mut P)> {
    map.iter_mut()
}

/// A part with a name of its own: `Vec<(String, P)>` is a map in the order of its making.
impl<P: Part> Part for (String, P) {
    fn visit_part<'m>(&'m self, _: &str, visitor: &mut dyn Visitor<'m>) {
        self.1.visit_part(&self.0, visitor);
    }

    fn visit_part_mut(&mut self, _: &str, visitor: &mut dyn VisitorMut) {
        self.1.visit_part_mut(&self.0, visitor);
    }

    fn visit_buffer<'m>(&'m self, _: &str, visitor: &mut dyn Visitor<'m>) {
        self.1.visit_buffer(&self.0, visitor);
    }

    fn visit_buffer_mut(&mut self, _: &str, visitor: &mut dyn VisitorMut) {
        self.1.visit_buffer_mut(&self.0, visitor);
    }
}
