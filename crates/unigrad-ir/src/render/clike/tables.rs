//! Tables of parameters: how they are declared, and how an index finds an entry.
//!
//! Where the dialect has no arrays of buffers, an index chooses among all entries with a `switch`, for all tables that it goes into at once and
//! where it is made: outside of the loops that use them. Entries are parameters of their own there and no structs, since some compilers copy a
//! struct that is indexed at run time to each thread's memory. An index that is none gives the last entry.

use super::{Tables, Writer, param_name, stored};
use crate::{Op, Param, Place, Program, Stmt, Value, render::each_stmt};
use std::collections::BTreeMap;

impl Writer<'_> {
    /// Declares the table that parameter `at` is.
    pub(super) fn table_params(&mut self, at: usize, list: &mut Vec<String>) {
        let program = self.program;
        let name = param_name(at, &program.params[at]);
        let (dtype, count, buffers) = match &program.params[at] {
            Param::Table { dtype, count, write, .. } => (stored(*dtype), *count, Some(*write)),
            Param::ScalarTable { dtype, count, .. } => (stored(*dtype), *count, None),
            Param::Buffer { .. } | Param::Scalar { .. } => return,
        };
        let fill = |template: &str, ty: &str, name: &str| template.replace("{t}", ty).replace("{n}", name);
        match (self.language.params.tables, buffers) {
            (Tables::None, _) => self.refuse(None, "a table of parameters", "lower it as one buffer per parameter"),
            _ if !self.target.tables => self.refuse(None, "a table of parameters", "lower it as one buffer per parameter"),
            (Tables::Struct(template), Some(write)) => {
                let constant = if write { "" } else { "const " };
                let ty = self.table_type(at, &format!("{constant}{dtype}* p[{count}];"));
                list.push(fill(template, &ty, &name));
            }
            (Tables::Struct(template), None) => {
                let ty = self.table_type(at, &format!("{dtype} p[{count}];"));
                list.push(fill(template, &ty, &name));
            }
            (Tables::Arguments { read, write, number, .. }, _) => {
                let template = match buffers {
                    Some(true) => write,
                    Some(false) => read,
                    None => number,
                };
                list.extend((0..count).map(|entry| fill(template, dtype, &format!("{name}_{entry}"))));
            }
        }
    }

    fn table_type(&mut self, at: usize, field: &str) -> String {
        let name = format!("ug_table{at}");
        self.prelude(&name, format!("struct {name} {{ {field} }};\n"));
        name
    }

    /// An entry of the table that parameter `at` is: a pointer, or a number.
    pub(super) fn table_entry(&self, at: u32, which: Value) -> String {
        let Tables::Arguments { begins, .. } = self.language.params.tables else {
            return format!("{}.p[{}]", param_name(at as usize, &self.program.params[at as usize]), self.value(which));
        };
        match self.constant(which) {
            Some(entry) => self.entry(begins, at, entry.to_raw() as u32),
            None => chosen(at, which),
        }
    }

    /// The entry of this number, or the last one.
    fn entry(&self, begins: &str, at: u32, entry: u32) -> String {
        let param = &self.program.params[at as usize];
        let name = param_name(at as usize, param);
        let name = |count: u32| format!("{name}_{}", entry.min(count.saturating_sub(1)));
        match param {
            Param::Table { count, .. } => begins.replace("{n}", &name(*count)),
            Param::ScalarTable { count, .. } => name(*count),
            Param::Buffer { .. } | Param::Scalar { .. } => String::new(),
        }
    }

    /// The choices by numbers that are parameters: visible everywhere.
    pub(super) fn choose_by_scalars(&mut self) {
        let which: Vec<Value> = self.choices.keys().copied().collect();
        for value in which {
            if matches!(self.program.insts[value.index()].op, Op::Scalar(_)) {
                self.choose(value);
            }
        }
    }

    /// Chooses the entries that this value is the index of.
    pub(super) fn choose(&mut self, which: Value) {
        let Tables::Arguments { begins, .. } = self.language.params.tables else { return };
        let Some(tables) = self.choices.remove(&which) else { return };
        let mut longest = 0;
        for at in &tables {
            let (ty, count) = match &self.program.params[*at as usize] {
                Param::Table { dtype, count, write, .. } => {
                    let constant = if *write { "" } else { "const " };
                    (format!("{}{constant}{}*", self.language.spaces.global, stored(*dtype)), *count)
                }
                Param::ScalarTable { dtype, count, .. } => (stored(*dtype).to_owned(), *count),
                Param::Buffer { .. } | Param::Scalar { .. } => continue,
            };
            longest = longest.max(count);
            self.line(&format!("{ty} {};", chosen(*at, which)));
        }
        let index = self.value(which);
        self.line(&format!("switch ({index}) {{"));
        for entry in 0..longest {
            let each = tables.iter().map(|at| format!("{} = {};", chosen(*at, which), self.entry(begins, *at, entry)));
            let each = each.collect::<Vec<_>>().join(" ");
            let label = if entry + 1 == longest { "default".to_owned() } else { format!("case {entry}") };
            self.line(&format!("{label}: {each} break;"));
        }
        self.line("}");
    }
}

/// The name of what a value chose from a table.
fn chosen(at: u32, which: Value) -> String {
    format!("e{at}_{}", which.0)
}

/// The tables that each value is an index of, where the dialect makes it choose.
pub(super) fn choices(program: &Program, tables: Tables) -> BTreeMap<Value, Vec<u32>> {
    let mut choices: BTreeMap<Value, Vec<u32>> = BTreeMap::new();
    if !matches!(tables, Tables::Arguments { .. }) {
        return choices;
    }
    let mut add = |at: u32, which: Value| {
        let tables = choices.entry(which).or_default();
        if !matches!(program.insts[which.index()].op, Op::Const(_)) && !tables.contains(&at) {
            tables.push(at);
        }
    };
    let mut place = |place: &Place| {
        if let Place::Table(at, which) = place {
            add(*at, *which);
        }
    };
    for inst in &program.insts {
        match &inst.op {
            Op::Load(at, _) | Op::Atomic(_, at, ..) | Op::CompareExchange(at, ..) | Op::FragmentLoad { place: at, .. } => place(at),
            Op::Raw(raw) => raw.places.iter().for_each(&mut place),
            // Numbers in tables come last.
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
            | Op::Compose(_)
            | Op::Extract(..)
            | Op::Subgroup(..)
            | Op::FragmentFill(_)
            | Op::FragmentMma(..) => {}
        }
    }
    each_stmt(&program.body, &mut |stmt| match stmt {
        Stmt::Store { place: at, .. } | Stmt::FragmentStore { place: at, .. } => place(at),
        Stmt::Raw(raw) => raw.places.iter().for_each(&mut place),
        Stmt::Let(_) | Stmt::Barrier | Stmt::If { .. } | Stmt::For { .. } | Stmt::While { .. } => {}
    });
    for inst in &program.insts {
        if let Op::TableScalar(at, which) = inst.op {
            add(at, which);
        }
    }
    choices.retain(|_, tables| !tables.is_empty());
    choices
}
