//! How much shared memory a block may have.
use harness::thousands;

use crate::grade::Complaint;
use crate::grade::judge::Judged;
use crate::grade::launches::LaunchResults;

/// Bytes of an mbarrier, and how many of a block are not counted: a way to wait costs no room for tiles, and too many would be
/// padding.
const MBARRIER: u64 = 8;
const FREE_MBARRIERS: u32 = 16;
/// The counter of threads that a `cuda::pipeline` of a block has beside its mbarriers, with padding.
const PIPELINE_STATE: u64 = 8;

/// Whether each tile's block keeps within its bytes; says how many the first has.
pub fn judge<'a>(all: &LaunchResults<'a>, judged: &mut Judged<'a>) {
    for (index, (launch, one)) in all.done.iter().enumerate() {
        let tile = all.rubric.tile[launch.tile];
        let allowed = tile.shared_bytes;
        // A kernel may initialize an mbarrier only at some sizes, but declares it for all. The bytes of more could be padding at the other
        // sizes, and where no shared memory is allowed, those of one could be room for data.
        let alike = all.done.iter().filter(|(of, _)| of.tile == launch.tile);
        let most = alike.map(|(_, one)| one.run.mbarriers).max();
        let here = one.run.mbarriers;
        let mbarriers = most.unwrap_or(here).min(here + u32::from(allowed > 0));
        let barriers = MBARRIER * u64::from(mbarriers.min(FREE_MBARRIERS));
        let bytes = all.trial(launch).shared_bytes().saturating_sub(barriers);
        // Where no shared memory is allowed, no pipeline has anything to copy to; mbarriers are free as everywhere.
        let state = if barriers > 0 && allowed > 0 {
            PIPELINE_STATE
        } else {
            0
        };
        let bytes = match bytes <= allowed + state {
            true => bytes.min(allowed),
            false => bytes,
        };
        // A launch that a fault has ended may not have initialized its mbarriers, which then count as other bytes.
        if one.run.findings.iter().any(emulator::Finding::is_fatal) {
            continue;
        }
        if index == 0 {
            let beside = if barriers > 0 {
                " beside mbarriers"
            } else {
                ""
            };
            judged.why.push(format!(
                "{} bytes of shared memory{beside}, {} are allowed",
                thousands(bytes),
                thousands(allowed)
            ));
        }
        if bytes > allowed {
            let block = match launch.tile {
                0 => "a block".into(),
                number => format!("with tile {} ({}), a block", number + 1, tile.name()),
            };
            // A kernel's declaration is not secret, whichever launch it is.
            let what = format!(
                "{block} has {} bytes of shared memory, {} more than allowed",
                thousands(bytes),
                thousands(bytes - allowed)
            );
            let hint = "what are the extra bytes for, and are they needed?";
            judged.credit = 0.0;
            // It costs all of the points, so it comes first.
            let complaint = Complaint::new(what, hint, "over-padding");
            judged.complaints.insert(0, complaint);
            return;
        }
    }
}
