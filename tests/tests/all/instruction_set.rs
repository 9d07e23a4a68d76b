//! ARCHITECTURE.md's table of PTX: the instructions in the column "executed" are lowered, those in "refused" are
//! refused by name.
use std::collections::BTreeSet;

use emulator::{Context, Options};
use ladder_tests::workspace::{read, root};

/// An instruction for each name in the table.
const SAMPLES: &str = "
add.s32 %r1, %r2, %r3;
sub.u64 %rd1, %rd2, %rd3;
mul.wide.u32 %rd1, %r2, %r3;
mad.lo.s32 %r1, %r2, %r3, %r4;
mul24.lo.u32 %r1, %r2, %r3;
mad24.lo.u32 %r1, %r2, %r3, %r4;
sad.u32 %r1, %r2, %r3, %r4;
div.s32 %r1, %r2, %r3;
rem.u64 %rd1, %rd2, %rd3;
abs.s32 %r1, %r2;
neg.s32 %r1, %r2;
min.s32 %r1, %r2, %r3;
max.u32 %r1, %r2, %r3;
popc.b32 %r1, %r2;
clz.b32 %r1, %r2;
bfind.u32 %r1, %r2;
brev.b32 %r1, %r2;
bfe.u32 %r1, %r2, %r3, %r4;
bfi.b32 %r1, %r2, %r3, %r4, %r5;
dp4a.s32.s32 %r1, %r2, %r3, %r4;
add.cc.u32 %r1, %r2, %r3;
addc.u32 %r1, %r2, %r3;
subc.u32 %r1, %r2, %r3;
madc.lo.u32 %r1, %r2, %r3, %r4;
dp2a.lo.s32.s32 %r1, %r2, %r3, %r4;
fns.b32 %r1, %r2, %r3, %r4;
szext.wrap.s32 %r1, %r2, %r3;
bmsk.clamp.b32 %r1, %r2, %r3;
fma.rn.f32 %f1, %f2, %f3, %f4;
div.rn.f32 %f1, %f2, %f3;
rcp.rn.f32 %f1, %f2;
sqrt.rn.f32 %f1, %f2;
copysign.f32 %f1, %f2, %f3;
testp.finite.f32 %p1, %f2;
ex2.approx.f32 %f1, %f2;
lg2.approx.f32 %f1, %f2;
rcp.approx.f32 %f1, %f2;
rsqrt.approx.f32 %f1, %f2;
sqrt.approx.f32 %f1, %f2;
div.approx.f32 %f1, %f2, %f3;
sin.approx.f32 %f1, %f2;
cos.approx.f32 %f1, %f2;
tanh.approx.f32 %f1, %f2;
set.lt.u32.s32 %r1, %r2, %r3;
setp.lt.s32 %p1, %r2, %r3;
selp.b32 %r1, %r2, %r3, %p1;
slct.s32.s32 %r1, %r2, %r3, %r4;
and.b32 %r1, %r2, %r3;
or.b32 %r1, %r2, %r3;
xor.b32 %r1, %r2, %r3;
not.b32 %r1, %r2;
cnot.b32 %r1, %r2;
lop3.b32 %r1, %r2, %r3, %r4, 0x96;
shf.l.wrap.b32 %r1, %r2, %r3, %r4;
shl.b32 %r1, %r2, %r3;
shr.u32 %r1, %r2, %r3;
mov.u32 %r1, %r2;
prmt.b32 %r1, %r2, %r3, %r4;
cvt.u64.u32 %rd1, %r2;
cvta.to.global.u64 %rd1, %rd2;
isspacep.shared %p1, %rd2;
ld.global.u32 %r1, [%rd1];
ldu.global.u32 %r1, [%rd1];
st.shared.u32 [%r1], %r2;
prefetch.global.L2 [%rd1];
prefetchu.L1 [%rd1];
discard.global.L2 [%rd1], 128;
applypriority.global.L2::evict_normal [%rd1], 128;
createpolicy.fractional.L2::evict_last.b64 %rd1;
cp.async.cg.shared.global [%r1], [%rd1], 16;
cp.async.bulk.commit_group;
cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd1], [%r1], 16;
mapa.shared::cluster.u32 %r1, %r2, %r3;
getctarank.shared::cluster.u32 %r1, %r2;
multimem.ld_reduce.relaxed.sys.global.add.u32 %r1, [%rd1];
st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r1], %r2, [%r3];
tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [%rd1, {%r1}];
suld.b.1d.b32.trap %r1, [%rd1, {%r2}];
bra $end;
brx.idx %r1, targets;
ret;
exit;
trap;
brkpt;
call.uni (%r1), f, (%r2);
bar.sync 0;
barrier.cluster.arrive;
bar.warp.sync 0xffffffff;
membar.gl;
fence.acq_rel.gpu;
atom.global.add.u32 %r1, [%rd1], %r2;
red.global.add.u32 [%rd1], %r2;
red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%r1], %r2, [%r3];
shfl.sync.bfly.b32 %r1, %r2, %r3, 31, -1;
vote.sync.ballot.b32 %r1, %p1, -1;
match.any.sync.b32 %r1, %r2, -1;
redux.sync.add.s32 %r1, %r2, -1;
activemask.b32 %r1;
elect.sync %r1|%p1, -1;
griddepcontrol.wait;
mbarrier.init.shared.b64 [%r1], 1;
ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r1}, [%r2];
stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r2], {%r1};
mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1,%f2,%f3,%f4}, {%r1,%r2,%r3,%r4}, {%r5,%r6}, {%f1,%f2,%f3,%f4};
mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%r1,%r2}, {%r1,%r2,%r3,%r4}, {%r5,%r6}, {%r1,%r2};
mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f1,%f2,%f3,%f4}, {%r1,%r2}, {%r3}, {%f1,%f2,%f3,%f4};
mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%f1,%f2,%f3,%f4}, {%r1,%r2,%r3,%r4}, {%r5,%r6}, {%f1,%f2,%f3,%f4};
mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%r1,%r2,%r3,%r4}, {%r1,%r2,%r3,%r4}, {%r5,%r6}, {%r1,%r2,%r3,%r4};
mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32 {%r1,%r2,%r3,%r4}, {%r1,%r2,%r3,%r4}, {%r5,%r6}, {%r1,%r2,%r3,%r4};
mma.sync.aligned.m16n8k64.row.col.satfinite.s32.s4.s4.s32 {%r1,%r2,%r3,%r4}, {%r1,%r2,%r3,%r4}, {%r5,%r6}, {%r1,%r2,%r3,%r4};
mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.xor.popc {%r1,%r2,%r3,%r4}, {%r1,%r2,%r3,%r4}, {%r5,%r6}, {%r1,%r2,%r3,%r4};
mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32 {%f1,%f2,%f3,%f4}, {%r1,%r2,%r3,%r4}, {%r5,%r6}, {%f1,%f2,%f3,%f4};
mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%rd1,%rd2}, {%rd3}, {%rd4}, {%rd1,%rd2};
mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%rd1,%rd2,%rd3,%rd4}, {%rd5,%rd6}, {%rd7}, {%rd1,%rd2,%rd3,%rd4};
mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32 {%f1,%f2,%f3,%f4,%f5,%f6,%f7,%f8}, {%r1,%r2}, {%r3,%r4}, {%f1,%f2,%f3,%f4,%f5,%f6,%f7,%f8};
mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1,%f2,%f3,%f4}, {%r1,%r2}, {%r5,%r6}, {%f1,%f2,%f3,%f4}, %r7, 0;
wmma.load.a.sync.aligned.row.m16n16k16.shared.f16 {%r1,%r2,%r3,%r4,%r5,%r6,%r7,%r8}, [%r1], 16;
wmma.load.a.sync.aligned.row.m8n8k4.global.f64 {%rd1}, [%rd2], 4;
wmma.mma.sync.aligned.row.col.m16n16k16.f16.f16 {%r1,%r2,%r3,%r4}, {%r1,%r2,%r3,%r4,%r5,%r6,%r7,%r8}, {%r1,%r2,%r3,%r4,%r5,%r6,%r7,%r8}, {%r1,%r2,%r3,%r4};
movmatrix.sync.aligned.m8n8.trans.b16 %r1, %r2;
wgmma.fence.sync.aligned;
setmaxnreg.inc.sync.aligned.u32 40;
nanosleep.u32 %r1;
pmevent 1;
alloca.u64 %rd1, 8;
stacksave.u64 %rd1;
istypep.texref %p1, %rd1;
tensormap.replace.tile.global_address.global.b1024.b64 [%rd1], %rd2;
vadd.s32.s32.s32 %r1, %r2, %r3;
vadd4.s32.s32.s32 %r1, %r2, %r3, %r4;
vabsdiff2.u32.u32.u32 %r1, %r2, %r3, %r4;
vabsdiff4.u32.u32.u32.add %r1, %r2, %r3, %r4;
";

/// The names in a column of the table, in backticks.
fn names(table: &[Vec<String>], column: usize) -> BTreeSet<String> {
    let cells = table.iter().filter_map(|row| row.get(column));
    let quoted = cells.flat_map(|cell| cell.split('`').skip(1).step_by(2));
    quoted.map(str::to_owned).collect()
}

/// Whether an instruction has this name: all parts of the name, in order, at its start.
fn is_called(line: &str, name: &str) -> bool {
    let rest = line.strip_prefix(name);
    rest.is_some_and(|rest| rest.starts_with(['.', ' ', ';']))
}

fn is_executed(line: &str) -> bool {
    let ptx = format!(
        ".version 8.8\n.target sm_90a\n.address_size 64\n.visible .entry k()\n{{\n.reg .b32 %r<9>;\n.reg .f32 %f<9>;\n\
         .reg .b64 %rd<9>;\n.reg .pred %p<9>;\ntargets: .branchtargets $end;\n{line}\n$end:\nret;\n}}\n"
    );
    let module = Context::new(Options::default()).load_module(&ptx);
    module.and_then(|module| module.function("k")).is_ok()
}

#[test]
fn what_architecture_md_says_of_ptx_is_so() {
    let text = read(&root().join("ARCHITECTURE.md"));
    let table: Vec<Vec<String>> = text
        .lines()
        .skip_while(|line| !line.starts_with("| PTX ISA"))
        .take_while(|line| line.starts_with('|'))
        .map(|line| line.split('|').skip(1).map(str::to_owned).collect())
        .collect();
    let (executed, refused) = (names(&table, 1), names(&table, 3));
    assert!(executed.len() > 50 && refused.len() > 8, "{table:?}");
    let mut seen = BTreeSet::new();
    for line in SAMPLES.lines().filter(|line| !line.is_empty()) {
        // The longest name counts: `ex2.approx` may be refused while another `ex2` is not.
        let all = executed.iter().chain(&refused);
        let name = all
            .filter(|name| is_called(line, name))
            .max_by_key(|name| name.len());
        let name = name.unwrap_or_else(|| panic!("the table does not name `{line}`"));
        seen.insert(name.clone());
        assert_eq!(is_executed(line), executed.contains(name), "{line}");
    }
    let unseen: Vec<_> = executed
        .union(&refused)
        .filter(|name| !seen.contains(*name))
        .collect();
    assert!(unseen.is_empty(), "no sample of {unseen:?}");
}
