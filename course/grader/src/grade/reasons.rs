//! Why the answers to predictions are what they are. An explanation is shown with a right answer; in the students' repository it is
//! encrypted with that answer as the key, so that nobody reads it there by accident: the grader computes the answer, and with it the text.
use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use sha2::{Digest, Sha256};

use super::predict;
use super::rubric::{Prediction, Rubric};

/// Explanations by assignment and key.
const REASONS: &str = include_str!("reasons.toml");

/// What an encrypted explanation begins with; hexadecimal digits follow.
const ENCRYPTED: &str = "encrypted ";

type Reasons = BTreeMap<String, BTreeMap<String, String>>;

/// The explanation of a prediction's answer.
pub fn of(assignment: &str, prediction: &Prediction) -> Result<String> {
    in_text(REASONS, assignment, prediction)
}

fn in_text(text: &str, assignment: &str, prediction: &Prediction) -> Result<String> {
    let all: Reasons = toml::from_str(text)?;
    let key = &prediction.key;
    let found = all.get(assignment).and_then(|reasons| reasons.get(key));
    let none = || {
        format!("the prediction {key} has no reason: add it to reasons.toml, under [{assignment}]")
    };
    let found = found.with_context(none)?;
    let Some(digits) = found.strip_prefix(ENCRYPTED) else {
        return Ok(found.clone());
    };
    let changed = || {
        format!(
            "the reason of the prediction {key} was encrypted for other offsets: restore rubric.toml and reasons.toml"
        )
    };
    let bytes = bytes(digits).with_context(changed)?;
    String::from_utf8(xor_keystream(assignment, prediction, &bytes)).with_context(changed)
}

/// All explanations of these rubrics, encrypted: what an exported grader has as `reasons.toml`.
pub fn encrypted(rubrics: &[Rubric]) -> Result<String> {
    let mut all = Reasons::new();
    for rubric in rubrics {
        let encrypt = |one: &Prediction| {
            let bytes = xor_keystream(&rubric.name, one, one.reason.as_bytes());
            (
                one.key.clone(),
                format!("{ENCRYPTED}{}", harness::hex(&bytes)),
            )
        };
        let of_this: BTreeMap<_, _> = rubric.prediction.iter().map(encrypt).collect();
        if !of_this.is_empty() {
            all.insert(rubric.name.clone(), of_this);
        }
    }
    let text = toml::to_string(&all)?;
    Ok(format!(
        "# Why the answers to the predictions are what they are: shown with a right answer, which is the key.\n\n{text}"
    ))
}

/// Encrypts or decrypts, which is the same operation: XOR with a keystream derived from the right answer.
fn xor_keystream(assignment: &str, prediction: &Prediction, text: &[u8]) -> Vec<u8> {
    let (key, answer) = (&prediction.key, predict::counted(prediction));
    let block = |number: u32| Sha256::digest(format!("{assignment} {key} {answer} {number}"));
    let keystream = (0..).flat_map(block);
    text.iter()
        .zip(keystream)
        .map(|(text, key)| text ^ key)
        .collect()
}

/// Bytes of two hexadecimal digits each.
fn bytes(digits: &str) -> Result<Vec<u8>> {
    ensure!(
        digits.is_ascii() && digits.len().is_multiple_of(2),
        "not pairs of digits"
    );
    let pairs = (0..digits.len()).step_by(2).map(|at| &digits[at..at + 2]);
    let bytes = pairs.map(|pair| u8::from_str_radix(pair, 16));
    Ok(bytes.collect::<Result<_, _>>()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_encrypted_reason_is_read_with_the_right_answer_only() {
        let text = include_str!("../../../assignments/05_swizzle/rubric.toml");
        let mut rubric = Rubric::parse(text).expect("a rubric");
        for prediction in &mut rubric.prediction {
            prediction.reason =
                "since 2 × 2 lanes conflict, whatever their row is, and so on".into();
        }
        let text = encrypted(std::slice::from_ref(&rubric)).expect("TOML");
        assert!(!text.contains("lanes"), "{text}");
        let [first, ..] = &mut *rubric.prediction else {
            panic!("no prediction");
        };
        let read = |of: &Prediction| in_text(&text, "05_swizzle", of);
        assert_eq!(read(first).ok().as_ref(), Some(&first.reason));
        first.offsets.truncate(1);
        let error = read(first).expect_err("another answer");
        assert!(error.to_string().contains("restore rubric.toml"), "{error}");
        for wrong in ["encrypted 0", "encrypted zz", "encrypted é0"] {
            let text = format!("[05_swizzle]\n{} = \"{wrong}\"\n", first.key);
            assert!(in_text(&text, "05_swizzle", first).is_err(), "{wrong}");
        }
    }
}
