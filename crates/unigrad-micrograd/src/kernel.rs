//! The program that computes a tape: an interpreter of it in kernel IR, which every device takes.
//!
//! In: the words and numbers of a [`Tape`](crate::Tape). Out: the values and slopes of its entries, and with a way back their gradients.
//! Always: one workgroup goes from level to level, its threads side by side in each; so one launch computes an expression of any shape, and its
//! gradient, and no expression is compiled.

use crate::{op::Function, tape::code};

/// The entry point of [`kernel`].
pub fn kernel_name(threads: u32, has_way_back: bool) -> String {
    format!("scalars_{}_{threads}", if has_way_back { "and_gradients" } else { "forward" })
}

/// The program for numbers of a type (`f32` or `f64`), run by one workgroup of so many threads.
///
/// Its parameters: the tape's words (`u32`), its numbers, the results (values, slopes, and with a way back gradients: each as many as entries; then
/// the steps that each thread has made: drivers exist that end loops before they are done), the number of entries, the number of levels.
pub fn kernel(float: &str, threads: u32, has_way_back: bool) -> String {
    let name = kernel_name(threads, has_way_back);
    let back = if has_way_back { BACK } else { "" };
    let text = format!(
        "kernel {name}(words: [u32], numbers: [FLOAT], out: mut [FLOAT], n: u32, levels: u32) threads(THREADS, 1, 1) {{{FORWARD}{back}{END}\n}}\n"
    );
    let text = text.replace("VALUES", &each("is", value)).replace("SLOPES", &each("has", slope));
    // Longer names first: some begin as others do.
    let kinds = [
        ("LINEAR_RELU", code::LINEAR_RELU),
        ("LINEAR", code::LINEAR),
        ("POW_OF", code::POW_OF),
        ("POW", code::POW),
        ("MUL", code::MUL),
        ("ADD", code::ADD),
    ];
    let text = kinds.iter().fold(text, |text, (name, code)| text.replace(name, &code.to_string()));
    text.replace("FLOAT", float).replace("SECTIONS", if has_way_back { "%n3" } else { "%n2" }).replace("THREADS", &threads.to_string())
}

/// What the program has for each function, under the condition `name` that the entry is of its kind; `KIND` in it is the kind's number.
fn each(name: &str, part: fn(Function) -> String) -> String {
    let one = |(i, function): (usize, &Function)| {
        let text = format!("%{name}_KIND = eq u32 %kind, KIND\nif %{name}_KIND {{\n{}\n}}\n", part(*function));
        text.replace("KIND", &(code::CALL as usize + i).to_string())
    };
    Function::ALL.iter().enumerate().map(one).collect()
}

fn value(function: Function) -> String {
    let op = match function {
        Function::Relu => "relu",
        Function::Tanh => "tanh",
        Function::Exp => "exp",
        Function::Log => "log",
        Function::Sigmoid => "sigmoid",
    };
    format!("%x_KIND = load FLOAT out[%a]\n%y_KIND = {op} FLOAT %x_KIND\nstore y[0], %y_KIND")
}

/// The derivative, from the argument `out[%a]` and the value `%value`, as [`Function::slope`] has it.
fn slope(function: Function) -> String {
    let steps = match function {
        Function::Relu => "%on_KIND = gt FLOAT %value, 0.0\n%s_KIND = cast FLOAT %on_KIND",
        Function::Tanh => "%yy_KIND = mul FLOAT %value, %value\n%s_KIND = sub FLOAT 1.0, %yy_KIND",
        Function::Exp => return "store slope[0], %value".to_owned(),
        Function::Log => "%at_KIND = load FLOAT out[%a]\n%s_KIND = div FLOAT 1.0, %at_KIND",
        Function::Sigmoid => "%rest_KIND = sub FLOAT 1.0, %value\n%s_KIND = mul FLOAT %value, %rest_KIND",
    };
    format!("{steps}\nstore slope[0], %s_KIND")
}

const FORWARD: &str = "
    local y: [FLOAT; 1]
    local slope: [FLOAT; 1]
    local steps: [FLOAT; 1]
    store steps[0], 0.0
    %n = param n
    %levels = param levels
    %thread = thread.x
    %n2 = mul u32 %n, 2
    %n3 = mul u32 %n, 3
    %n4 = mul u32 %n, 4
    %level_starts = add u32 %n4, 1
    for %level: u32 in 0..%levels step 1 {
        %f0 = add u32 %level_starts, %level
        %f1 = add u32 %f0, 1
        %from = load u32 words[%f0]
        %to = load u32 words[%f1]
        %first = add u32 %from, %thread
        for %i: u32 in %first..%to step THREADS {
            %entry_steps = load FLOAT steps[0]
            %entry_step = add FLOAT %entry_steps, 1.0
            store steps[0], %entry_step
            %a_at = add u32 %n, %i
            %b_at = add u32 %n2, %i
            %word = load u32 words[%i]
            %a = load u32 words[%a_at]
            %b = load u32 words[%b_at]
            %kind = and u32 %word, 15
            %own = load FLOAT numbers[%i]
            store y[0], %own
            %due = lt u32 %word, 16
            if %due {
                %is_binary = le u32 %kind, MUL
                %is_entry = ge u32 %kind, ADD
                %is_two = and bool %is_binary, %is_entry
                if %is_two {
                    %va = load FLOAT out[%a]
                    %vb = load FLOAT out[%b]
                    %sum = add FLOAT %va, %vb
                    %product = mul FLOAT %va, %vb
                    %is_sum = eq u32 %kind, ADD
                    %two = select FLOAT %is_sum, %sum, %product
                    store y[0], %two
                }
                %is_pow = eq u32 %kind, POW
                if %is_pow {
                    %px = load FLOAT out[%a]
                    %pe = load FLOAT numbers[%a_at]
                    %p = pow FLOAT %px, %pe
                    store y[0], %p
                }
                %is_pow_of = eq u32 %kind, POW_OF
                if %is_pow_of {
                    %qx = load FLOAT out[%a]
                    %qb = load FLOAT numbers[%a_at]
                    %q = pow FLOAT %qb, %qx
                    store y[0], %q
                }
                %is_linear = eq u32 %kind, LINEAR
                %is_linear_relu = eq u32 %kind, LINEAR_RELU
                %is_neuron = or bool %is_linear, %is_linear_relu
                if %is_neuron {
                    %bias_at = load u32 words[%a]
                    %bias = load FLOAT out[%bias_at]
                    store y[0], %bias
                    %first_pair = add u32 %a, 1
                    for %w_at: u32 in %first_pair..%b step 2 {
                        %term_steps = load FLOAT steps[0]
                        %term_step = add FLOAT %term_steps, 1.0
                        store steps[0], %term_step
                        %x_at = add u32 %w_at, 1
                        %w_of = load u32 words[%w_at]
                        %x_of = load u32 words[%x_at]
                        %w = load FLOAT out[%w_of]
                        %x = load FLOAT out[%x_of]
                        %wx = mul FLOAT %w, %x
                        %before = load FLOAT y[0]
                        %after = add FLOAT %before, %wx
                        store y[0], %after
                    }
                    if %is_linear_relu {
                        %pre = load FLOAT y[0]
                        %active = relu FLOAT %pre
                        store y[0], %active
                    }
                }
                VALUES
            }
            %value = load FLOAT y[0]
            store out[%i], %value
            store slope[0], 1.0
            %has_pow = eq u32 %kind, POW
            if %has_pow {
                %dx = load FLOAT out[%a]
                %de = load FLOAT numbers[%a_at]
                %less = sub FLOAT %de, 1.0
                %dp = pow FLOAT %dx, %less
                %s3 = mul FLOAT %de, %dp
                store slope[0], %s3
            }
            %has_pow_of = eq u32 %kind, POW_OF
            if %has_pow_of {
                %base = load FLOAT numbers[%a_at]
                %ln = log FLOAT %base
                %s4 = mul FLOAT %value, %ln
                store slope[0], %s4
            }
            %is_active_sum = eq u32 %kind, LINEAR_RELU
            if %is_active_sum {
                %sum_is_on = gt FLOAT %value, 0.0
                %sum_slope = cast FLOAT %sum_is_on
                store slope[0], %sum_slope
            }
            SLOPES
            %s = load FLOAT slope[0]
            store out[%a_at], %s
        }
        barrier
    }";

const BACK: &str = "
    %last = sub u32 %levels, 1
    for %done: u32 in 0..%levels step 1 {
        %back = sub u32 %last, %done
        %g0 = add u32 %level_starts, %back
        %g1 = add u32 %g0, 1
        %back_from = load u32 words[%g0]
        %back_to = load u32 words[%g1]
        %back_first = add u32 %back_from, %thread
        for %j: u32 in %back_first..%back_to step THREADS {
            %back_entry_steps = load FLOAT steps[0]
            %back_entry_step = add FLOAT %back_entry_steps, 1.0
            store steps[0], %back_entry_step
            %j_grad = add u32 %n2, %j
            %arriving = load FLOAT numbers[%j_grad]
            store y[0], %arriving
            %u0 = add u32 %n3, %j
            %u1 = add u32 %u0, 1
            %users = load u32 words[%u0]
            %users_end = load u32 words[%u1]
            for %user_at: u32 in %users..%users_end step 2 {
                %use_steps = load FLOAT steps[0]
                %use_step = add FLOAT %use_steps, 1.0
                store steps[0], %use_step
                %factor_at = add u32 %user_at, 1
                %user = load u32 words[%user_at]
                %factor_of = load u32 words[%factor_at]
                %slope_of = add u32 %n, %user
                %grad_of = add u32 %n2, %user
                %user_slope = load FLOAT out[%slope_of]
                %user_grad = load FLOAT out[%grad_of]
                store slope[0], %user_slope
                %has_factor = lt u32 %factor_of, %n
                if %has_factor {
                    %factor = load FLOAT out[%factor_of]
                    %scaled = mul FLOAT %factor, %user_slope
                    store slope[0], %scaled
                }
                %whole = load FLOAT slope[0]
                %share = mul FLOAT %whole, %user_grad
                %so_far = load FLOAT y[0]
                %now = add FLOAT %so_far, %share
                store y[0], %now
            }
            %gradient = load FLOAT y[0]
            store out[%j_grad], %gradient
        }
        barrier
    }";

const END: &str = "
    %steps_at = add u32 SECTIONS, %thread
    %steps = load FLOAT steps[0]
    store out[%steps_at], %steps";
