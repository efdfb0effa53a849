//! Programs nested far deeper than any compiler takes: a typed error from a small stack, and none for what is within the limit.

use unigrad_ir::{
    Builder, Dialect, MAX_NESTING, Program, Stmt, Target,
    interpret::{Argument, Interpreter, Options, Span},
    offline_targets, parse, parse_as, render, validate,
};
use unigrad_scalar::{DType, Literal};

/// Runs in a thread of 256 kB.
fn small(test: fn()) {
    let thread = std::thread::Builder::new().stack_size(256 << 10).spawn(test).unwrap();
    if let Err(panic) = thread.join() {
        std::panic::resume_unwind(panic);
    }
}

/// A kernel whose store stands within so many statements, each of one kind.
fn nested(kind: &str, levels: usize) -> String {
    let (open, close) = match kind {
        "if" => ("if %yes {\n", "}\n"),
        "else" => ("if %no {\n} else {\n", "}\n"),
        "for" => ("for %c#: u32 in 0..1 step 1 {\n", "}\n"),
        "loop" => ("loop {\n} while %no {\n", "}\n"),
        "check" => ("loop {\n", "} while %no {\n}\n"),
        other => panic!("{other}"),
    };
    let mut text = String::from("kernel deep(y: mut [f32]) threads(1, 1, 1) {\n%yes = const bool true\n%no = const bool false\n");
    (0..levels).for_each(|level| text += &open.replace('#', &level.to_string()));
    text += "store y[0], 7.0\n";
    text += &close.repeat(levels);
    text + "}\n"
}

const KINDS: [&str; 5] = ["if", "else", "for", "loop", "check"];

#[test]
fn text_of_any_depth() {
    small(|| {
        for kind in KINDS {
            for levels in [MAX_NESTING, MAX_NESTING + 1, 20_000, 200_000] {
                let error = parse(&nested(kind, levels)).unwrap_err();
                assert!(error.cause.contains("deep in each other"), "{kind}: {error}");
                assert!(error.line > MAX_NESTING, "{kind}: {error}");
            }
        }
        // Not closed, and as raw words.
        let open = nested("if", 20_000).replace('}', "");
        assert!(parse(&open).unwrap_err().cause.contains("deep in each other"));
        let signature = parse("kernel deep(y: mut [f32]) threads(1, 1, 1) {\n}\n").unwrap().program;
        assert!(parse_as(&nested("if", 20_000), &signature).unwrap_err().contains("deep in each other"));
    });
}

#[test]
fn within_the_limit_everything_works() {
    small(|| {
        for kind in KINDS {
            let program = parse(&nested(kind, MAX_NESTING - 1)).unwrap_or_else(|error| panic!("{kind}: {error}")).program;
            let again: Program = program.to_string().parse().unwrap();
            assert_eq!(again.to_string(), program.to_string());
            validate(&program, &Target::interpreter()).unwrap_or_else(|errors| panic!("{kind}: {}", errors[0]));
            for target in offline_targets() {
                render(&program, &target).unwrap_or_else(|error| panic!("{kind}: {error}"));
            }
            let interpreter = Interpreter::new(&program, &Target::interpreter()).unwrap();
            let mut memory = vec![vec![0u8; 4]];
            let y = Argument::Buffer(Span { allocation: 0, offset: 0, len: 4 });
            interpreter.run([1, 1, 1], &mut memory, &[y], Options::default()).unwrap();
            // The bodies of loops whose condition is false do not run.
            let want: f32 = if kind == "loop" { 0.0 } else { 7.0 };
            assert_eq!(memory[0], want.to_ne_bytes(), "{kind}");
        }
    });
}

#[test]
fn programs_made_by_hand() {
    small(|| {
        let mut b = Builder::new("deep", [1, 1, 1]);
        let yes = b.constant(Literal::int(DType::Bool, 1));
        let mut program = b.finish();
        for _ in 0..20_000 {
            let then = std::mem::take(&mut program.body);
            program.body.push(Stmt::If { condition: yes, then, otherwise: Vec::new() });
        }
        let errors = validate(&program, &Target::interpreter()).unwrap_err();
        assert!(errors[0].to_string().contains("deep in each other"), "{}", errors[0]);
        for target in offline_targets() {
            if target.dialect != Dialect::Ir {
                assert!(render(&program, &target).unwrap_err().cause.contains("deep in each other"));
            }
        }
        assert!(Interpreter::new(&program, &Target::interpreter()).is_err());
        assert!(program.to_string().len() < 1 << 16);
    });
}
