//! The pages' JavaScript against common/layout, from which it was written anew: all presets, and many
//! settings chosen at random, the same ones each time.
mod banks;
mod fragments;
mod mappings;
mod swizzles;

use book_browser::Page;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use serde_json::Value;

/// Settings of one kind.
const SETTINGS: usize = 1000;

/// So many values of a strategy, the same in each run.
fn some<T: std::fmt::Debug>(strategy: impl Strategy<Value = T>) -> Vec<T> {
    let mut runner = TestRunner::deterministic();
    let one = |_| strategy.new_tree(&mut runner).expect("a value").current();
    (0..SETTINGS).map(one).collect()
}

/// What a function of the page makes of each of the cases.
fn ask(page: &mut Page<'_>, function: &str, cases: &[Value]) -> Vec<Value> {
    let cases = Value::from(cases);
    // What is thrown is an answer, too; numbers beyond a double's come as text.
    let script = format!(
        "(() => {{ const {{ layout, expression, workbench, player }} = globalThis.gemm; const ask = {function};\
         const one = (made) => {{ try {{ return ask(made); }} catch (error) {{\
           if (error instanceof layout.LayoutError || error instanceof expression.ExpressionError) return {{ error: error.message }};\
           throw error; }} }};\
         return JSON.parse(JSON.stringify({cases}.map(one), (_, value) => typeof value === 'bigint' ? String(value) : value)); }})()"
    );
    let answer = page.evaluate(&script).expect("an answer");
    answer.as_array().expect("a list").clone()
}

/// Fails with the first few differences.
fn all_agree<C: std::fmt::Debug>(cases: &[C], found: &[Value], expected: impl Fn(&C) -> Value) {
    assert_eq!(cases.len(), found.len());
    let differences: Vec<_> = cases
        .iter()
        .zip(found)
        .map(|(case, found)| (case, found, expected(case)))
        .filter(|(_, found, expected)| *found != expected)
        .collect();
    let (first, number) = (differences.first(), differences.len());
    assert!(
        number == 0,
        "{number} of {} differ; the first: {first:#?}",
        cases.len()
    );
}
