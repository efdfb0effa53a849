//! Every rule: a program that breaks it, and what the error says; and programs that look wrong and are not.

use unigrad_scalar::{BinaryOp, DType, ReduceOp, UnaryOp};

use super::*;
use crate::{
    Array, AtomicOp, Builder, Dialect, Fragment, FragmentRole, FragmentShape, Inst, MapDim, Param, Place, Raw, SubgroupOp, TensorMap,
};

fn errors(b: Builder) -> Vec<String> {
    errors_for(b, &Target::interpreter())
}

fn errors_for(b: Builder, target: &Target) -> Vec<String> {
    match validate(&b.finish(), target) {
        Ok(()) => Vec::new(),
        Err(errors) => errors.into_iter().map(|error| error.cause).collect(),
    }
}

/// Exactly one error, with these words.
#[track_caller]
fn only(errors: Vec<String>, words: &str) {
    assert!(errors.len() == 1 && errors[0].contains(words), "expected one error with `{words}`: {errors:#?}");
}

fn simple(write: impl FnOnce(&mut Builder, Place)) -> Builder {
    let mut b = Builder::new("simple", [64, 1, 1]);
    let y = b.buffer_mut("y", DType::F32);
    write(&mut b, y);
    b
}

#[test]
fn errors_point_at_the_node() {
    let mut b = Builder::new("scale", [64, 1, 1]);
    let (x, y) = (b.buffer("x", DType::F32), b.buffer_mut("y", DType::F32));
    b.shared("tile", DType::F32, 4);
    let i = b.global_index();
    let v = b.load(x, i);
    let r = b.mul(v, i);
    b.store(y, i, r);
    let program = b.finish();
    let errors = validate(&program, &Target::interpreter()).unwrap_err();
    assert_eq!(errors.len(), 1);
    let expected =
        "scale:9: %6 = mul f32 %5, %4\n                          ^^ %4 is u32, %5 is f32\n help: cast it, or make it with the right type";
    assert_eq!(errors[0].to_string(), expected);
    assert_eq!(program.to_string().lines().nth(8).map(str::trim), Some("%6 = mul f32 %5, %4"));
}

#[test]
fn types_of_operations() {
    let with = |write: &dyn Fn(&mut Builder)| errors(simple(|b, _| write(b)));
    only(
        with(&|b| {
            let h = b.float(DType::F16, 1.0);
            b.add(h, h);
        }),
        "storage format",
    );
    only(
        with(&|b| {
            let t = b.float(DType::F32, 1.0);
            b.unary(UnaryOp::Not, t);
        }),
        "`not` does not take f32",
    );
    only(
        with(&|b| {
            let t = b.thread(0);
            b.unary(UnaryOp::Exp, t);
        }),
        "`exp` does not take u32",
    );
    only(
        with(&|b| {
            let t = b.thread(0);
            b.binary(BinaryOp::Div, t, t);
        }),
        "`div` does not take u32",
    );
    only(
        with(&|b| {
            let t = b.thread(0);
            b.fma(t, t, t);
        }),
        "`fma` does not take u32",
    );
    only(
        with(&|b| {
            let (t, f) = (b.thread(0), b.float(DType::F32, 1.0));
            b.select(t, f, f);
        }),
        "a condition is bool",
    );
    only(
        with(&|b| {
            let t = b.thread(0);
            b.inst(Op::Bitcast(t), Type::Scalar(DType::F64));
        }),
        "the bits of u32",
    );
    only(
        with(&|b| {
            let t = b.thread(0);
            b.inst(Op::Unary(UnaryOp::Neg, t), Type::Scalar(DType::F32));
        }),
        "the result is u32, not f32",
    );
    only(
        with(&|b| {
            let t = b.thread(0);
            b.inst(Op::Thread(3), Type::Scalar(DType::U32));
            b.add(t, t);
        }),
        "no axis 3",
    );
    only(
        with(&|b| {
            let (t, f) = (b.thread(0), b.float(DType::F32, 1.0));
            b.compose(&[t, f]);
        }),
        "is f32, not u32",
    );
    only(
        with(&|b| {
            let t = b.thread(0);
            let v = b.compose(&[t, t]);
            b.extract(v, 2);
        }),
        "no lane 2",
    );
    only(
        with(&|b| {
            let t = b.thread(0);
            let lanes = [t; 8];
            b.compose(&lanes);
        }),
        "no vector u32x8",
    );
    only(
        with(&|b| {
            b.inst(Op::Counter, Type::Scalar(DType::U32));
        }),
        "a counter outside of a loop",
    );
}

#[test]
fn values_are_visible_where_they_are_used() {
    let mut b = simple(|b, y| {
        let t = b.thread(0);
        let low = b.lt(t, t);
        let mut inner = t;
        b.when(low, |b| inner = b.add(t, t));
        let f = b.float(DType::F32, 1.0);
        b.store(y, inner, f);
    });
    only(errors(b), "not visible here");
    b = simple(|b, _| {
        let t = b.thread(0);
        b.stmt(Stmt::Let(t));
    });
    only(errors(b), "made a second time");
    b = simple(|b, _| {
        let later = Value(b.program().insts.len() as u32 + 1);
        b.inst(Op::Unary(UnaryOp::BitNot, later), Type::Scalar(DType::U32));
        b.thread(0);
    });
    assert!(errors(b)[0].contains("used before it is made"));
    only(
        errors(simple(|b, y| {
            let t = b.thread(0);
            b.store(y, t, Value(99));
        })),
        "no such value",
    );
}

#[test]
fn memory_is_what_it_is_declared_to_be() {
    only(
        errors(simple(|b, _| {
            let x = b.buffer("x", DType::F32);
            let (t, f) = (b.thread(0), b.float(DType::F32, 0.0));
            b.store(x, t, f);
        })),
        "x is only read",
    );
    only(
        errors(simple(|b, y| {
            let t = b.thread(0);
            b.store(y, t, t);
        })),
        "y holds f32, not u32",
    );
    only(
        errors(simple(|b, y| {
            let f = b.float(DType::F32, 0.0);
            b.store(y, f, f);
        })),
        "an index is u32",
    );
    only(
        errors(simple(|b, _| {
            let s = b.shared("s", DType::F32, 8);
            let eight = b.u32(8);
            b.load(s, eight);
        })),
        "there are 8 elements",
    );
    only(
        errors(simple(|b, _| {
            let s = b.shared("s", DType::F32, 8);
            let two = b.u32(2);
            b.load_vector(s, two, 4);
        })),
        "no multiple of 4 lanes",
    );
    only(
        errors(simple(|b, y| {
            let (t, one) = (b.thread(0), b.float(DType::F32, 1.0));
            b.atomic(AtomicOp::Add, y, t, one);
        })),
        "not declared for atomics",
    );
    only(
        errors(simple(|b, _| {
            let t = b.thread(0);
            b.load(Place::Shared(3), t);
        })),
        "not memory of this kind",
    );
    let atomic = |op, dtype, target: &Target| {
        let mut b = Builder::new("atomic", [64, 1, 1]);
        let y = b.buffer_atomic("y", dtype);
        let (t, one) = (b.thread(0), b.constant(unigrad_scalar::Literal::one(dtype)));
        b.atomic(op, y, t, one);
        errors_for(b, target)
    };
    let little = Target { atomic_f32: false, atomic_i64: false, ..Target::interpreter() };
    assert!(atomic(AtomicOp::Add, DType::F32, &Target::interpreter()).is_empty());
    only(atomic(AtomicOp::Add, DType::F32, &little), "no such atomic of f32");
    only(atomic(AtomicOp::Max, DType::F32, &Target::interpreter()), "no such atomic of f32");
    only(atomic(AtomicOp::Max, DType::I64, &little), "no such atomic of i64");
    only(atomic(AtomicOp::Max, DType::I16, &little), "no such atomic of i16");
}

#[test]
fn limits_of_the_target() {
    let target = Target {
        max_threads: 32,
        shared_bytes: 64,
        max_buffers: 2,
        max_param_bytes: 32,
        f64: false,
        tables: false,
        ..Target::interpreter()
    };
    let with = |block: u32, write: &dyn Fn(&mut Builder)| {
        let mut b = Builder::new("limits", [block, 1, 1]);
        write(&mut b);
        errors_for(b, &target)
    };
    assert!(with(32, &|_| {}).is_empty());
    only(with(33, &|_| {}), "33 threads in a group");
    only(with(0, &|_| {}), "0 threads in a group");
    only(
        with(1, &|b| {
            b.shared("a", DType::F32, 16);
            b.shared("c", DType::U8, 1);
        }),
        "65 bytes of shared arrays",
    );
    only(
        with(1, &|b| {
            (0..3).for_each(|i| {
                b.buffer(&format!("x{i}"), DType::F32);
            })
        }),
        "3 buffers",
    );
    only(
        with(1, &|b| {
            (0..9).for_each(|i| {
                b.scalar(&format!("x{i}"), DType::F32);
            })
        }),
        "36 bytes of parameters",
    );
    only(
        with(1, &|b| {
            b.table("xs", DType::F32, 2, false);
        }),
        "no tables",
    );
    only(
        with(1, &|b| {
            b.buffer("x", DType::F64);
        }),
        "no f64",
    );
    only(
        with(1, &|b| {
            b.shared("a", DType::F32, 0);
        }),
        "no elements",
    );
    only(
        with(1, &|b| {
            b.buffer("2x", DType::F32);
        }),
        "not an identifier",
    );
    // A buffer takes what its dialect passes for it.
    for (dialect, bytes) in [(Dialect::OpenCl, 2 * 3 * 16 + 3 * 4), (Dialect::Cuda, 2 * 3 * 8 + 3 * 4), (Dialect::Wgsl, 2 * 3 * 4 + 3 * 4)]
    {
        let of = |max_param_bytes| {
            let mut b = Builder::new("tables", [1; 3]);
            b.table("xs", DType::F32, 3, false);
            (0..3).for_each(|i| {
                b.buffer(&format!("y{i}"), DType::F32);
            });
            b.scalar_table("numbers", DType::F32, 3);
            errors_for(b, &Target { dialect, max_param_bytes, ..Target::interpreter() })
        };
        assert!(of(bytes).is_empty(), "{dialect:?}");
        only(of(bytes - 1), &format!("{bytes} bytes of parameters"));
    }
    let mut b = Builder::new("names", [1; 3]);
    b.buffer("x", DType::F32);
    let mut program = b.finish();
    program.locals.push(Array { name: "x".to_owned(), ty: Type::Scalar(DType::F32), len: 1 });
    assert!(validate(&program, &target).unwrap_err()[0].cause.contains("`x` is taken"));
    program.locals.clear();
    program.params.push(Param::Scalar { name: "h".to_owned(), dtype: DType::F16 });
    assert!(validate(&program, &target).unwrap_err()[0].cause.contains("storage format"));
}

#[test]
fn barriers_are_reached_by_all() {
    let under = |condition: &dyn Fn(&mut Builder) -> Value| {
        errors(simple(|b, _| {
            let c = condition(b);
            b.when(c, |b| b.barrier());
        }))
    };
    only(
        under(&|b| {
            let (t, n) = (b.thread(0), b.u32(32));
            b.lt(t, n)
        }),
        "not all threads of the group",
    );
    assert!(
        under(&|b| {
            let (g, n) = (b.group(0), b.u32(32));
            b.lt(g, n)
        })
        .is_empty()
    );
    assert!(
        under(&|b| {
            let (t, n) = (b.thread(1), b.u32(32));
            b.lt(t, n)
        })
        .is_empty()
    );
    // A loop whose variable all threads change alike.
    let tree = |distance: &dyn Fn(&mut Builder) -> Value| {
        errors(simple(|b, _| {
            let first = distance(b);
            let d = b.variable("d", first);
            b.repeat_while(
                |b| {
                    let (now, zero) = (b.get(d), b.u32(0));
                    b.binary(BinaryOp::Gt, now, zero)
                },
                |b| {
                    b.barrier();
                    let now = b.get(d);
                    let half = b.div_const(now, 2);
                    b.set(d, half);
                },
            );
        }))
    };
    assert!(tree(&|b| b.u32(32)).is_empty());
    only(tree(&|b| b.thread(0)), "not all threads of the group");
    // Set by some threads only: from the next turn on it differs.
    let sometimes = errors(simple(|b, _| {
        let (t, zero) = (b.thread(0), b.u32(0));
        let d = b.variable("d", zero);
        let (five, one) = (b.u32(5), b.u32(1));
        b.repeat(zero, five, one, |b, _| {
            let now = b.get(d);
            let go = b.binary(BinaryOp::Eq, now, zero);
            b.when(go, |b| b.barrier());
            let low = b.lt(t, five);
            b.when(low, |b| b.set(d, one));
        });
    }));
    only(sometimes, "not all threads of the group");
}

#[test]
fn all_threads_find_the_same_in_shared_memory() {
    let under = |atomic: bool, own: bool| {
        errors(simple(|b, _| {
            let shared = b.shared("flags", DType::U32, 64);
            let (t, zero) = (b.thread(0), b.u32(0));
            if atomic {
                b.atomic(AtomicOp::Max, shared, zero, t);
            } else {
                b.store(shared, t, t);
            }
            b.barrier();
            let flag = b.load(shared, if own { t } else { zero });
            let set = b.binary(BinaryOp::Ne, flag, zero);
            b.when(set, |b| b.barrier());
        }))
    };
    assert!(under(false, false).is_empty());
    only(under(false, true), "not all threads of the group");
    // An atomic operation of another thread may come between two loads.
    only(under(true, false), "not all threads of the group");
}

#[test]
fn subgroup_operations_are_reached_by_whole_subgroups() {
    let under = |condition: &dyn Fn(&mut Builder) -> Value| {
        errors(simple(|b, _| {
            let (c, t) = (condition(b), b.thread(0));
            b.when(c, |b| {
                b.subgroup(SubgroupOp::Reduce(ReduceOp::Sum), t);
            });
        }))
    };
    only(
        under(&|b| {
            let (t, n) = (b.thread(0), b.u32(33));
            b.lt(t, n)
        }),
        "not all threads of the subgroup",
    );
    assert!(
        under(&|b| {
            let (t, n) = (b.thread(0), b.u32(32));
            b.lt(t, n)
        })
        .is_empty()
    );
    assert!(
        under(&|b| {
            let (t, n) = (b.thread(0), b.u32(1));
            let w = b.div_const(t, 32);
            b.lt(w, n)
        })
        .is_empty()
    );
    assert!(
        under(&|b| {
            let (t, five, n) = (b.thread(0), b.u32(5), b.u32(1));
            let w = b.binary(BinaryOp::Shr, t, five);
            b.lt(w, n)
        })
        .is_empty()
    );
    only(
        under(&|b| {
            let (t, n) = (b.thread(0), b.u32(1));
            let w = b.div_const(t, 16);
            b.lt(w, n)
        }),
        "not all threads of the subgroup",
    );
    // One subgroup's own sum decides for all of it, but not for the group.
    let by_sum = |barrier: bool| {
        errors(simple(|b, _| {
            let t = b.thread(0);
            let (sum, n) = (b.subgroup(SubgroupOp::Reduce(ReduceOp::Max), t), b.u32(40));
            let low = b.lt(sum, n);
            b.when(low, |b| {
                if barrier {
                    b.barrier()
                } else {
                    b.subgroup(SubgroupOp::ShuffleXor(1), t);
                }
            });
        }))
    };
    assert!(by_sum(false).is_empty());
    only(by_sum(true), "not all threads of the group");
    let ragged = |threads| {
        let mut b = Builder::new("ragged", [threads, 1, 1]);
        let t = b.thread(0);
        b.subgroup(SubgroupOp::Broadcast(0), t);
        b
    };
    only(errors(ragged(48)), "no multiple of the subgroup's 32");
    only(errors_for(ragged(64), &Target { subgroup: None, ..Target::interpreter() }), "not known");
    only(
        errors(simple(|b, _| {
            let t = b.thread(0);
            b.subgroup(SubgroupOp::ShuffleXor(32), t);
        })),
        "no lane 32",
    );
}

#[test]
fn fragments_fit_the_target() {
    let shape = FragmentShape { m: 16, n: 16, k: 16, input: DType::F16, sum: DType::F32 };
    let target = Target { fragments: vec![shape], ..Target::interpreter() };
    let ty = |role| Type::Fragment(Fragment { shape, role });
    let program = |stride: u32, role: FragmentRole, varying: bool| {
        let mut b = Builder::new("mma", [32, 1, 1]);
        let (x, y) = (b.buffer("x", DType::F16), b.buffer_mut("y", DType::F32));
        let (zero, stride) = (b.u32(0), b.u32(stride));
        let at = if varying {
            let t = b.thread(0);
            b.mul_const(t, 8)
        } else {
            zero
        };
        let a = b.inst(Op::FragmentLoad { place: x, index: at, stride, transposed: false }, ty(FragmentRole::A));
        let w = b.inst(Op::FragmentLoad { place: x, index: zero, stride, transposed: true }, ty(role));
        let nothing = b.float(DType::F32, 0.0);
        let c = b.inst(Op::FragmentFill(nothing), ty(FragmentRole::C));
        let r = b.inst(Op::FragmentMma(a, w, c), ty(FragmentRole::C));
        b.stmt(Stmt::FragmentStore { place: y, index: zero, stride, value: r });
        b
    };
    assert_eq!(errors_for(program(16, FragmentRole::B, false), &target), Vec::<String>::new());
    only(errors_for(program(16, FragmentRole::A, false), &target), "not frag<b");
    only(errors_for(program(16, FragmentRole::B, true), &target), "differs between threads");
    assert!(errors_for(program(12, FragmentRole::B, false), &target).iter().all(|e| e.contains("no multiple of 8")));
    assert!(errors(program(16, FragmentRole::B, false)).iter().all(|e| e.contains("multiplies no fragments 16x16x16")));
}

#[test]
fn loops_count_integers() {
    let with = |ty: DType, step: i64, unroll: bool, end_varies: bool| {
        errors(simple(|b, _| {
            let (start, step) = (b.constant(unigrad_scalar::Literal::int(ty, 0)), b.constant(unigrad_scalar::Literal::int(ty, step)));
            let end = if end_varies {
                let t = b.thread(0);
                b.cast(t, ty)
            } else {
                b.constant(unigrad_scalar::Literal::int(ty, 8))
            };
            let counter = Value(b.program().insts.len() as u32);
            // A counter is made by its loop, not by a `Let`.
            let body = b.block(|b| {
                b.inst(Op::Counter, Type::Scalar(ty));
            });
            b.stmt(Stmt::For { counter, start, end, step, unroll, body: body.into_iter().filter(|s| *s != Stmt::Let(counter)).collect() });
        }))
    };
    assert!(with(DType::I32, 1, true, false).is_empty());
    only(with(DType::I32, 0, false, false), "not greater than 0");
    only(with(DType::F32, 1, false, false), "a counter is an integer");
    only(with(DType::I32, 1, true, true), "not a constant");
    assert!(with(DType::I32, 1, false, true).is_empty());
}

#[test]
fn raw_words_are_for_the_dialect() {
    let with = |dialect: Dialect, text: &str| {
        errors(simple(|b, _| {
            let t = b.thread(0);
            b.raw(Raw { texts: vec![(dialect, text.to_owned())], preludes: Vec::new(), values: vec![t], places: Vec::new() });
        }))
    };
    assert!(with(Dialect::Ir, "{v0}").is_empty());
    only(with(Dialect::Cuda, "{v0}"), "no words for the dialect ir");
    only(with(Dialect::Ir, "{v1}"), "`{v1}` in raw text");
}

#[test]
fn malformed_programs_are_errors_too() {
    let mut b = Builder::new("malformed", [64, 1, 1]);
    let t = b.thread(0);
    b.inst(Op::Binary(BinaryOp::Add, t, Value(77)), Type::Scalar(DType::U32));
    b.load(Place::Param(9), Value(78));
    b.stmt(Stmt::If { condition: Value(80), then: vec![Stmt::Let(Value(81))], otherwise: vec![Stmt::Barrier] });
    b.stmt(Stmt::For { counter: Value(82), start: t, end: t, step: t, unroll: true, body: Vec::new() });
    let mut program = b.finish();
    program.insts.push(Inst { op: Op::Scalar(4), ty: Type::Scalar(DType::F32) });
    program.body.push(Stmt::Let(Value(program.insts.len() as u32 - 1)));
    assert!(validate(&program, &Target::interpreter()).unwrap_err().len() >= 6);
}

#[test]
fn what_is_asked_for_ahead_is_a_part_of_a_buffer() {
    let with = |numbers: [u32; 4], param: u32| {
        errors(simple(|b, _| {
            b.scalar("n", DType::U32);
            b.prefetch(Place::Param(param), numbers);
        }))
    };
    assert!(with([4, 16, 128, 128], 0).is_empty());
    only(with([4, 16, 129, 128], 0), "129 bytes of each of 4 rows, which have 128");
    only(with([0, 16, 128, 128], 0), "of each of 0 rows");
    only(with([4, 16, 0, 128], 0), "0 bytes");
    only(with([4, 16, 128, 128], 77), "is no buffer");
}

#[test]
fn tensor_maps_are_what_the_driver_takes() {
    let hopper = Target { dialect: Dialect::Cuda, arch: "sm_90".to_owned(), ..Target::interpreter() };
    let line = MapDim { size: 700, stride: 1, boxed: 32 };
    let rows = MapDim { size: 4096, stride: 704, boxed: 256 };
    let with = |target: &Target, map: TensorMap| {
        let mut b = Builder::new("maps", [32, 1, 1]);
        let (x, y) = (b.buffer("x", DType::F32), b.buffer_mut("y", DType::BF16));
        let (zero, one) = (b.u32(0), b.float(DType::BF16, 1.0));
        b.store(y, zero, one);
        b.tensor_map(if map.param == 0 { x } else { y }, map);
        let found = validate(&b.finish(), target).err().unwrap_or_default();
        found.into_iter().map(|error| error.cause).collect::<Vec<_>>()
    };
    let map = |dims: &[MapDim]| TensorMap { param: 0, offset: 8, rounded: true, dims: dims.to_vec() };
    let refused = |map: TensorMap, cause: &str| {
        let causes = with(&hopper, map);
        assert!(causes.len() == 1 && causes[0].contains(cause), "{causes:?} for {cause}");
    };
    assert!(with(&hopper, map(&[line, rows])).is_empty());
    assert!(with(&Target::interpreter(), map(&[line, rows]))[0].contains("no tensor maps"));
    refused(TensorMap { offset: 2, ..map(&[line, rows]) }, "an offset or a stride");
    refused(map(&[line, MapDim { stride: 702, ..rows }]), "an offset or a stride");
    refused(map(&[line, MapDim { boxed: 257, ..rows }]), "size or box");
    refused(map(&[line, MapDim { size: 0, ..rows }]), "size or box");
    refused(map(&[MapDim { boxed: 64, ..line }, rows]), "2 dimensions");
    refused(map(&[MapDim { stride: 2, ..line }, rows]), "2 dimensions");
    refused(map(&[line, rows, rows, rows, rows, rows]), "6 dimensions");
    refused(map(&[]), "without dimensions");
    refused(TensorMap { param: 1, ..map(&[MapDim { boxed: 64, ..line }, rows]) }, "rounded to TF32");
}

#[test]
fn workgroups_at_once_fit_a_unit() {
    let with = |workgroups: u32| errors(simple(|b, _| b.at_once(workgroups)));
    assert!(with(1).is_empty() && with(32).is_empty());
    only(with(0), "0 workgroups of 64 threads at once");
    only(with(33), "33 workgroups of 64 threads at once");
}
