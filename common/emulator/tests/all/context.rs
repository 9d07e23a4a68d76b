//! The launch API: modules, memory, symbols and launches in order, as a CUDA program uses them.
use crate::common;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use common::words;
use emulator::{
    Buffer, Context, Error, FindingKind, Function, KernelArg, LaunchConfig, Limits, Options, Ptx,
};

/// `count` adds its argument to `counter` and stores the old value; `scale` stores `factors` by name, by generic
/// address and by the address that the host passes.
const TEXT: &str = "
.version 8.0
.target sm_90
.address_size 64
.global .align 4 .u32 counter = 5;
.const .align 4 .u32 unused = 77;
.const .align 8 .u32 factors[2] = {3, 4};
.visible .entry count(.param .u64 out, .param .u32 step)
{
.reg .b32 %r<3>;
.reg .b64 %out;
ld.param.u64 %out, [out];
ld.param.u32 %r0, [step];
atom.global.add.u32 %r1, [counter], %r0;
st.global.u32 [%out], %r1;
ret;
}
.visible .entry scale(.param .u64 out, .param .u64 host)
{
.reg .b32 %r<3>;
.reg .b64 %out, %host, %a;
ld.param.u64 %out, [out];
ld.param.u64 %host, [host];
ld.const.u32 %r0, [factors+4];
mov.u64 %a, factors;
cvta.const.u64 %a, %a;
ld.u32 %r1, [%a];
ld.global.u32 %r2, [%host];
st.global.u32 [%out], %r0;
st.global.u32 [%out+4], %r1;
st.global.u32 [%out+8], %r2;
ret;
}
";

fn context() -> Context {
    Context::new(Options {
        sanitize: true,
        ..Options::default()
    })
}

/// Launches one thread without findings.
fn launch(context: &mut Context, function: &Function, args: &[KernelArg<'_>]) {
    let report = context.launch(function, &LaunchConfig::default(), args);
    assert_eq!(report.expect("a launch").findings, []);
}

#[test]
fn a_device_variable_persists_and_is_read_and_written_by_name() {
    let mut context = context();
    let module = context.load_module(TEXT).expect("PTX");
    assert_eq!(module.functions().collect::<Vec<_>>(), ["count", "scale"]);
    assert_eq!((module.target(), module.ptx().version()), ("sm_90", (8, 0)));
    let count = module.function("count").expect("a kernel");
    let counter = module.global("counter").expect("a variable");
    let out = context.alloc("out", 4).expect("room");
    assert_eq!(words(&context, &out), [0]);
    for before in [5, 7, 9] {
        let args = [KernelArg::Buffer(&out), KernelArg::U32(2)];
        launch(&mut context, &count, &args);
        assert_eq!(words(&context, &out), [before]);
        assert_eq!(words(&context, &counter), [before + 2]);
    }
    context
        .write(&counter, &100u32.to_le_bytes())
        .expect("4 bytes");
    // The address by name, as a number.
    let args = [
        KernelArg::U64(out.address()),
        KernelArg::Bytes(&[1, 0, 0, 0]),
    ];
    launch(&mut context, &count, &args);
    assert_eq!(
        (words(&context, &out), words(&context, &counter)),
        (vec![100], vec![101])
    );
}

#[test]
fn a_constant_that_the_host_writes_is_what_the_kernel_reads() {
    let mut context = context();
    let module = context.load_module(TEXT).expect("PTX");
    let scale = module.function("scale").expect("a kernel");
    let factors = module.global("factors").expect("a variable");
    let out = context.alloc("out", 12).expect("room");
    let args = [&out, &factors].map(KernelArg::Buffer);
    launch(&mut context, &scale, &args);
    assert_eq!(words(&context, &out), [4, 3, 3]);
    context
        .write(&factors, &9u32.to_le_bytes())
        .expect("8 bytes");
    launch(&mut context, &scale, &args);
    assert_eq!(words(&context, &out), [4, 9, 9]);
    let unused = module.global("unused").expect("a variable");
    assert_eq!(words(&context, &unused), [77]);
    context.fill(&factors, 0xff).expect("a variable");
    launch(&mut context, &scale, &args);
    assert_eq!(words(&context, &out), [u32::MAX; 3]);
    assert_eq!(words(&context, &unused), [77]);
    assert_eq!(
        module.ptx().variable("factors"),
        Some(vec![3, 0, 0, 0, 4, 0, 0, 0])
    );
}

#[test]
fn each_loaded_module_has_variables_of_its_own() {
    let mut context = context();
    let ptx = Ptx::parse(TEXT).expect("PTX");
    let [one, other] = [(); 2].map(|()| context.load_ptx(&ptx).expect("PTX"));
    let out = context.alloc("out", 12).expect("room");
    let count = one.function("count").expect("a kernel");
    let args = [KernelArg::Buffer(&out), KernelArg::U32(2)];
    launch(&mut context, &count, &args);
    let [mine, untouched] = [&one, &other].map(|module| module.global("counter").expect("one"));
    assert_eq!(
        (words(&context, &mine), words(&context, &untouched)),
        (vec![7], vec![5])
    );
    let [mine, untouched] = [&one, &other].map(|module| module.global("factors").expect("one"));
    context.fill(&mine, 0).expect("a variable");
    // One module's constant is memory like any other to the other module's kernel.
    let scale = other.function("scale").expect("a kernel");
    let args = [&out, &mine].map(KernelArg::Buffer);
    launch(&mut context, &scale, &args);
    assert_eq!(words(&context, &out), [4, 3, 0]);
    assert_eq!(words(&context, &untouched), [3, 4]);
}

#[test]
fn unloaded_modules_and_freed_buffers_are_gone() {
    let mut context = context();
    let module = context.load_module(TEXT).expect("PTX");
    let again = module.clone();
    let count = module.function("count").expect("a kernel");
    let counter = module.global("counter").expect("a variable");
    let [out, last] = ["out", "last"].map(|name| context.alloc(name, 4).expect("room"));
    let address = counter.address();
    assert_eq!(context.free(counter), Err(Error::NotFromAlloc { address }));
    context.unload(module).expect("it is loaded");
    assert_eq!(context.unload(again.clone()), Err(Error::Unloaded));
    assert_eq!(context.read(&counter), Err(Error::Freed { address }));
    let args = [KernelArg::Buffer(&out), KernelArg::U32(1)];
    let config = LaunchConfig::default();
    assert_eq!(context.launch(&count, &config, &args), Err(Error::Unloaded));
    // The kernel itself is unchanged: its parameters can be read, and it can be loaded again.
    assert_eq!(again.function("count").expect("a kernel").params().len(), 2);

    let module = context.load_ptx(again.ptx()).expect("PTX");
    let count = module.function("count").expect("a kernel");
    let address = out.address();
    context.free(out).expect("it is allocated");
    let freed = Err(Error::Freed { address });
    assert_eq!(context.free(out), freed);
    assert_eq!(context.write(&out, &[]), freed);
    assert_eq!(context.fill(&out, 0), freed);
    assert_eq!(
        context.launch(&count, &config, &args),
        Err(Error::Freed { address })
    );
    // A kernel that has kept the address is reported, because the address is not reused.
    context.alloc("new", 4).expect("room");
    let args = [KernelArg::U64(address), KernelArg::U32(1)];
    let report = context.launch(&count, &config, &args).expect("a launch");
    let FindingKind::OutOfBounds { nearest, .. } = &report.findings[0].kind else {
        panic!("{}", report.findings[0]);
    };
    assert!(
        nearest.contains("the nearest allocation, last"),
        "{nearest}"
    );
    assert_eq!((last.len(), last.is_empty()), (4, false));
}

#[test]
fn a_reset_context_is_as_one_that_has_just_loaded_its_modules() {
    let mut context = context();
    let module = context.load_module(TEXT).expect("PTX");
    let [count, scale] = ["count", "scale"].map(|name| module.function(name).expect("a kernel"));
    let variables = ["counter", "factors"].map(|name| module.global(name).expect("one"));
    let first = context.alloc("first", 4).expect("room");
    let run = |context: &mut Context| {
        let out = context.alloc("out", 12).expect("room");
        let args = [KernelArg::Buffer(&out), KernelArg::U32(2)];
        launch(context, &count, &args);
        let counted = words(context, &out)[0];
        let args = [&out, &variables[1]].map(KernelArg::Buffer);
        launch(context, &scale, &args);
        let scaled = words(context, &out);
        for variable in &variables {
            context.fill(variable, 0xee).expect("a variable");
        }
        (out.address(), counted, scaled)
    };
    let (_, counted, scaled) = run(&mut context);
    context.reset();
    let after = run(&mut context);
    // The first buffer's address now belongs to another buffer, to which the old handle gives no access.
    let address = first.address();
    assert_eq!(after, (address, counted, scaled));
    assert_eq!((counted, &after.2[..]), (5, &[4, 3, 3][..]));
    assert_eq!(context.read(&first), Err(Error::Freed { address }));
    assert_eq!(context.free(first), Err(Error::Freed { address }));
}

#[test]
fn nothing_of_one_context_is_used_in_another() {
    let (mut one, mut other) = (context(), context());
    let module = one.load_module(TEXT).expect("PTX");
    let count = module.function("count").expect("a kernel");
    let [here, there] = [&mut one, &mut other].map(|c| c.alloc("out", 4).expect("room"));
    let buffer = Err(Error::OtherContext("buffer"));
    assert_eq!(one.write(&there, &[0]), buffer);
    assert_eq!(one.free(there), buffer);
    assert_eq!(one.read(&there), Err(Error::OtherContext("buffer")));
    let config = LaunchConfig::default();
    let run = |context: &mut Context, out: &Buffer| {
        context.launch(
            &count,
            &config,
            &[KernelArg::Buffer(out), KernelArg::U32(1)],
        )
    };
    assert_eq!(run(&mut one, &there), Err(Error::OtherContext("buffer")));
    assert_eq!(
        run(&mut other, &there),
        Err(Error::OtherContext("function"))
    );
    assert_eq!(other.unload(module), Err(Error::OtherContext("module")));
    run(&mut one, &here).expect("its own");
}

#[test]
fn copies_stay_within_their_buffer() {
    let mut context = context();
    let buffer = context.upload("in", &[1, 2, 3]).expect("room");
    let past = Error::PastEnd {
        wanted: 4,
        bytes: 3,
    };
    assert_eq!(context.write(&buffer, &[0; 4]), Err(past.clone()));
    assert_eq!(past.to_string(), "a copy of 4 bytes into a buffer of 3");
    assert_eq!(context.read(&buffer), Ok(vec![1, 2, 3]));
    context.write(&buffer, &[9]).expect("1 of 3");
    assert_eq!(context.read(&buffer), Ok(vec![9, 2, 3]));
    let empty = context.alloc("nothing", 0).expect("room for nothing");
    assert_eq!((context.read(&empty), empty.is_empty()), (Ok(vec![]), true));
}

/// Addresses in findings and recordings do not depend on what was loaded before.
#[test]
fn addresses_of_buffers_do_not_depend_on_modules() {
    let addresses = |load: bool| {
        let mut context = context();
        if load {
            context.load_module(TEXT).expect("PTX");
        }
        ["a", "b"].map(|name| context.alloc(name, 1000).expect("room").address())
    };
    assert_eq!(addresses(true), addresses(false));
    assert_eq!(addresses(true)[0], 1 << 40);
}

#[test]
fn variables_count_as_memory_and_a_failed_load_keeps_none() {
    let limits = Limits {
        memory: 100,
        ..Limits::default()
    };
    let mut context = Context::new(Options {
        limits,
        ..Options::default()
    });
    let two = ".version 8.0\n.target sm_90\n.global .b8 a[60];\n.const .b8 b[60];";
    let error = context.load_module(two).expect_err("too large");
    let wanted = Error::OutOfMemory {
        wanted: 120,
        limit: 100,
    };
    assert_eq!(error, wanted);
    let all = context.alloc("all", 100).expect("nothing is in use");
    context.options_mut().limits.memory = 220;
    let module = context.load_module(two).expect("room now");
    context.alloc("more", 1).expect_err("full");
    context.unload(module).expect("it is loaded");
    context.free(all).expect("it is allocated");
    context.alloc("more", 220).expect("nothing is in use");
}

#[test]
fn names_that_are_not_there() {
    let mut context = context();
    let module = context.load_module(TEXT).expect("PTX");
    assert_eq!(
        module.function("gemm").expect_err("no kernel").to_string(),
        "there is no kernel `gemm` in this PTX, only count, scale; declare it as extern \"C\" __global__ void gemm(…)"
    );
    let error = module
        .global("count")
        .expect_err("a kernel is not a variable");
    assert_eq!(
        error,
        Error::NoVariable {
            name: "count".into()
        }
    );
    let error = context.load_module("not PTX").expect_err("no PTX");
    assert!(
        matches!(&error, Error::Ptx(error) if error.line == 1),
        "{error}"
    );
}

#[test]
fn progress_counts_blocks_up_to_all_of_them() {
    let (calls, most) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let (calls_seen, most_seen) = (calls.clone(), most.clone());
    let mut context = context();
    context.options_mut().progress = Some(Arc::new(move |done, all| {
        assert_eq!(all, 12);
        calls_seen.fetch_add(1, Ordering::Relaxed);
        most_seen.fetch_max(done, Ordering::Relaxed);
    }));
    let module = context.load_module(TEXT).expect("PTX");
    for name in ["count", "scale"] {
        let function = module.function(name).expect("a kernel");
        let out = context.alloc("out", 12).expect("room");
        let second = match name {
            "count" => KernelArg::U32(1),
            _ => KernelArg::Buffer(&out),
        };
        let config = LaunchConfig {
            grid: [3, 2, 2],
            ..LaunchConfig::default()
        };
        let launched = context.launch(&function, &config, &[KernelArg::Buffer(&out), second]);
        launched.expect("a launch");
        assert_eq!(most.swap(0, Ordering::Relaxed), 12);
        // Under `sanitize` a launch runs twice.
        assert_eq!(calls.swap(0, Ordering::Relaxed), 24);
    }
}
