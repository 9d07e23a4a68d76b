//! Every claim of `book/claims.toml` agrees with its checks.
use std::path::Path;

use book::directives::claims;

#[test]
#[ignore = "long; `cargo test -- --include-ignored` runs it"]
fn every_claim_is_what_its_checks_say() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    match claims::check(&root) {
        Ok(claims) => assert!(claims >= 20, "only {claims} claims"),
        Err(error) => panic!("{error:#}"),
    }
}
