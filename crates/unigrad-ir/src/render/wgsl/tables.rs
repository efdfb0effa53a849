//! Tables of buffers: WGSL has no arrays of them, so each is a binding of its own, and what follows an index is written once for each buffer,
//! under a `switch`. Where that would be too long, or threads wait for each other in it, a function for each way to access them chooses.
//!
//! Always: all buffers of a table are declared alike, by what the program does with any of them. An index that is none gives the last one.
//! Never: atomics, fragments or words of the dialect's own on them.

use super::{Slot, Writer, v};
use crate::{Op, Param, Place, RenderError, Stmt, Type, Value, render::each_stmt};
use std::fmt::Write;

/// Statements that are written for all buffers together at most.
const MOST_WRITTEN: usize = 8192;

impl Writer<'_> {
    /// How many bindings a parameter is.
    pub(super) fn n_bindings(param: &Param) -> usize {
        match param {
            Param::Buffer { .. } => 1,
            Param::Table { count, .. } => *count as usize,
            Param::Scalar { .. } | Param::ScalarTable { .. } => 0,
        }
    }

    /// The buffers that are bound, in order: parameter, and which of its table.
    pub(super) fn bound(&self) -> Vec<(usize, usize)> {
        let params = self.program.params.iter().enumerate();
        params.flat_map(|(param, declared)| (0..Self::n_bindings(declared)).map(move |entry| (param, entry))).collect()
    }

    /// Gives each buffer its word for where it begins.
    pub(super) fn lay_out_offsets(&mut self) {
        if !self.options.offsets {
            return;
        }
        for (binding, (param, entry)) in self.bound().into_iter().enumerate() {
            if entry == 0 {
                self.offset_at[param] = self.words;
            }
            self.slots.push(Slot::Offset { binding, at: self.words });
            self.words += 1;
        }
    }

    /// The buffer of a table that an index is here, if that is certain.
    fn certain(&self, table: u32, which: Value) -> Option<u32> {
        let last = (Self::n_bindings(&self.program.params[table as usize]) as u32).saturating_sub(1);
        match (self.divided, &self.program.insts[which.index()].op) {
            (Some((value, entry)), _) if value == which => Some(entry.min(last)),
            (_, Op::Const(literal)) => Some((literal.to_raw() as u32).min(last)),
            _ => None,
        }
    }

    /// Of how many buffers a value chooses, if what follows it is to be written for each of them.
    pub(super) fn divides(&self, which: Value, rest: &[Stmt]) -> Option<u32> {
        if self.divided.is_some() || self.program.params.iter().all(|param| !matches!(param, Param::Table { .. })) {
            return None;
        }
        let (mut count, mut length, mut together) = (0, 0, false);
        each_stmt(rest, &mut |stmt| {
            length += 1;
            let place = match stmt {
                Stmt::Let(value) => {
                    let op = &self.program.insts[value.index()].op;
                    together |= matches!(op, Op::Subgroup(..) | Op::Raw(_));
                    if let Op::Load(place, _) = op { Some(place) } else { None }
                }
                Stmt::Store { place, .. } => Some(place),
                Stmt::Barrier | Stmt::FragmentStore { .. } | Stmt::Raw(_) => {
                    together = true;
                    None
                }
                Stmt::If { .. } | Stmt::For { .. } | Stmt::While { .. } => None,
            };
            if let Some(Place::Table(table, by)) = place
                && *by == which
            {
                count = count.max(Self::n_bindings(&self.program.params[*table as usize]));
            }
        });
        (count > 0 && !together && count * length <= MOST_WRITTEN).then_some(count as u32)
    }

    /// Writes what follows an index for each of the buffers.
    pub(super) fn divide(&mut self, which: Value, count: u32, rest: &[Stmt]) -> Result<(), RenderError> {
        self.line(format!("switch ({}) {{", v(which)));
        self.depth += 1;
        for entry in 0..count {
            self.divided = Some((which, entry));
            self.line(if entry + 1 == count { "default: {".to_owned() } else { format!("case {entry}u: {{") });
            self.nested(rest)?;
            self.line("}");
        }
        self.divided = None;
        self.depth -= 1;
        self.line("}");
        Ok(())
    }

    /// Where a buffer of a table begins after where it is bound.
    pub(super) fn table_offset(&self, table: u32, which: Value) -> String {
        if let Some(entry) = self.certain(table, which) {
            return Self::word(self.offset_at[table as usize] + entry as usize);
        }
        let at = format!("({}u + {})", self.offset_at[table as usize], self.index(which));
        format!("params[{at} >> 2u][{at} & 3u]")
    }

    /// Whether a program does with its tables what can be done with them here, and on this device.
    pub(super) fn check_tables(&self) -> Result<(), RenderError> {
        let Some(table) = self.program.params.iter().find(|param| matches!(param, Param::Table { .. })) else { return Ok(()) };
        if !self.target.tables {
            let cause = format!("table {}: the device has no arrays of buffers", table.name());
            return Err(self.error(None, cause, "pass the buffers one by one"));
        }
        let is_table = |place: &Place| matches!(place, Place::Table(..));
        let mut other = self.program.insts.iter().any(|inst| match &inst.op {
            Op::Atomic(_, place, ..) | Op::CompareExchange(place, ..) | Op::FragmentLoad { place, .. } => is_table(place),
            Op::Raw(raw) => raw.places.iter().any(is_table),
            // Loads are what tables are for.
            Op::Const(_)
            | Op::Scalar(_)
            | Op::TableScalar(..)
            | Op::Thread(_)
            | Op::Group(_)
            | Op::GroupCount(_)
            | Op::Lane
            | Op::Counter
            | Op::Unary(..)
            | Op::ApproxExp2(_)
            | Op::Binary(..)
            | Op::Fma(..)
            | Op::MulHi(..)
            | Op::Select(..)
            | Op::Cast(_)
            | Op::Bitcast(_)
            | Op::Load(..)
            | Op::Compose(_)
            | Op::Extract(..)
            | Op::Subgroup(..)
            | Op::FragmentFill(_)
            | Op::FragmentMma(..) => false,
        });
        each_stmt(&self.program.body, &mut |stmt| {
            other |= match stmt {
                Stmt::FragmentStore { place, .. } => is_table(place),
                Stmt::Raw(raw) => raw.places.iter().any(is_table),
                Stmt::Let(_) | Stmt::Store { .. } | Stmt::Barrier | Stmt::If { .. } | Stmt::For { .. } | Stmt::While { .. } => false,
            };
        });
        let cause = format!("table {} is used for more than loads and stores", table.name());
        if other { Err(self.error(None, cause, "pass the buffers one by one")) } else { Ok(()) }
    }

    /// The bindings of a table, each with what a part of the text is for it.
    fn each_entry(&mut self, table: u32, mut part: impl FnMut(&mut Self) -> Result<String, RenderError>) -> Result<String, RenderError> {
        let count = Self::n_bindings(&self.program.params[table as usize]) as u32;
        let mut text = "    switch (which) {\n".to_owned();
        for entry in 0..count {
            self.entry = Some(entry);
            let part = part(self)?;
            let label = if entry + 1 == count { "default".to_owned() } else { format!("case {entry}u") };
            let _ = writeln!(text, "        {label}: {{ {part} }}");
        }
        Ok(text + "    }\n")
    }

    /// An [`Op::Load`] from a table.
    pub(super) fn load_of_table(&mut self, table: u32, which: Value, index: Value, ty: Type) -> Result<String, RenderError> {
        let place = Place::Table(table, which);
        if let Some(entry) = self.certain(table, which) {
            let at = self.position(place, index);
            self.entry = Some(entry);
            return self.load_at(place, &at, ty);
        }
        let (which, at, result) = (self.index(which), self.position(place, index), self.type_name(ty)?);
        let name = format!("load{}_b{table}", ty.lanes());
        if !self.accessors.contains(&name) {
            let choice = self.each_entry(table, |writer| Ok(format!("return {};", writer.load_at(place, "at", ty)?)))?;
            self.accessor(name.clone(), |_| format!("(which: u32, at: u32) -> {result} {{\n{choice}}}"));
        }
        Ok(format!("{name}({which}, {at})"))
    }

    /// A [`Stmt::Store`] to a table.
    pub(super) fn store_to_table(&mut self, table: u32, which: Value, index: Value, value: Value) -> Result<(), RenderError> {
        let place = Place::Table(table, which);
        if let Some(entry) = self.certain(table, which) {
            let at = self.position(place, index);
            self.entry = Some(entry);
            return self.store_at(place, &at, value);
        }
        let ty = self.program.ty(value);
        let (which, at, argument) = (self.index(which), self.position(place, index), self.type_name(ty)?);
        let name = format!("store{}_b{table}", ty.lanes());
        if !self.accessors.contains(&name) {
            let (body, depth) = (std::mem::take(&mut self.body), std::mem::replace(&mut self.depth, 0));
            let choice = self.each_entry(table, |writer| {
                writer.store_at(place, "at", value)?;
                Ok(std::mem::take(&mut writer.body).trim_end().replace('\n', " "))
            });
            (self.body, self.depth) = (body, depth);
            let choice = choice?;
            // The value has the name that it has where it is stored first.
            self.accessor(name.clone(), |_| format!("(which: u32, at: u32, {}: {argument}) {{\n{choice}}}", v(value)));
        }
        self.line(format!("{name}({which}, {at}, {});", v(value)));
        Ok(())
    }
}
