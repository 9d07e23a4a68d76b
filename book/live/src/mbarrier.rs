//! An mbarrier, operation by operation, with the emulator's rules.
use emulator::MbarrierModel;
use serde::Deserialize;
use serde_json::{Value, json};

/// An operation.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    /// `mbarrier.arrive` with this count.
    Arrive(u32),
    /// `mbarrier.expect_tx`
    ExpectTx(u32),
    /// `mbarrier.arrive.expect_tx`: one arrival, and these bytes.
    ArriveExpectTx(u32),
    /// Bytes that a copy delivers.
    CompleteTx(u32),
    /// `mbarrier.test_wait.parity`
    Wait(u32),
}

/// The state after `mbarrier.init` and after each operation; the last has an `error` if the operation is invalid.
pub fn states(count: u32, operations: &[Operation]) -> Result<Value, String> {
    let mut barrier = MbarrierModel::new(count)?;
    let mut states = vec![state(&barrier, json!({}))];
    for operation in operations {
        let done = match *operation {
            Operation::Arrive(count) => barrier
                .arrive(count)
                .map(|done| json!({ "completes": done })),
            Operation::ExpectTx(bytes) => barrier
                .expect(bytes)
                .map(|done| json!({ "completes": done })),
            Operation::ArriveExpectTx(bytes) => barrier
                .expect(bytes)
                .and_then(|_| barrier.arrive(1))
                .map(|done| json!({ "completes": done })),
            Operation::CompleteTx(bytes) => barrier
                .complete(bytes)
                .map(|done| json!({ "completes": done })),
            Operation::Wait(parity) => Ok(json!({ "passes": barrier.is_complete(parity) })),
        };
        match done {
            Ok(done) => states.push(state(&barrier, done)),
            Err(error) => {
                states.push(state(&barrier, json!({ "error": error })));
                break;
            }
        }
    }
    Ok(json!({ "states": states }))
}

fn state(barrier: &MbarrierModel, mut more: Value) -> Value {
    let (pending, expected) = barrier.arrivals();
    let known = json!({
        "phase": barrier.phase(), "parity": barrier.phase() % 2, "pending": pending, "expected": expected,
        "bytes": barrier.bytes(), "stuck": barrier.is_stuck(), "words": barrier.wanting(),
    });
    if let (Some(more), Value::Object(known)) = (more.as_object_mut(), known) {
        more.extend(known);
    }
    more
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(operations: Value) -> Value {
        let operations: Vec<Operation> = serde_json::from_value(operations).expect("operations");
        let found = states(1, &operations).expect("a count");
        found["states"]
            .as_array()
            .and_then(|all| all.last())
            .cloned()
            .expect("a state")
    }

    #[test]
    fn a_phase_ends_with_its_last_byte() {
        let done =
            after(json!([{ "arrive_expect_tx": 1024 }, { "complete_tx": 1024 }, { "wait": 0 }]));
        assert_eq!((&done["phase"], &done["passes"]), (&json!(1), &json!(true)));
        let short =
            after(json!([{ "arrive_expect_tx": 1024 }, { "complete_tx": 512 }, { "wait": 0 }]));
        assert_eq!(
            (&short["bytes"], &short["passes"], &short["stuck"]),
            (&json!(512), &json!(false), &json!(true))
        );
        let twice = after(json!([{ "arrive_expect_tx": 1024 }, { "arrive": 1 }]));
        assert!(
            twice["error"]
                .as_str()
                .is_some_and(|why| why.contains("phase overrun")),
            "{twice}"
        );
    }
}
