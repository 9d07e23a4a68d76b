//! The interactive pages in every theme and on a phone, in their most colorful and crowded states.
use book_browser::Appearance;

use crate::{no_problems, reader};

const STATES: [&str; 15] = [
    "workbench.html",
    "workbench.html#view=banks&trace=slot&b=2&m=4&s=4&rows=16",
    "workbench.html#b=2&m=2&s=5&rows=32&extent=tile",
    "workbench.html#b=3&m=4&s=-3",
    "workbench.html#map=col%20%26%206",
    "workbench.html#map=row%20col",
    "workbench.html#map=col%20%5E%20row&row_bytes=512&unit=4&rows=64",
    "fragment_explorer.html",
    "fragment_explorer.html#shape=wgmma&n=256&row=63&col=255&columns=240",
    "fragment_explorer.html#shape=stmatrix.x4.trans&row=9",
    "wavefront_player.html#step=31",
    "wavefront_player.html#bytes=16&step=9",
    "wavefront_player.html#op=stmatrix.x2&bytes=16&addresses=-,0,0,0,16,16,32,4096,0,16,32,48,64,80,96,112&step=2",
    "wavefront_player.html#addresses=-",
    "stepper.html#kernel=no_barrier_after_the_copy&at=finding",
];

#[test]
fn every_theme_is_legible_and_every_field_has_a_name() {
    let Some((mut chromium, server)) = reader() else {
        return;
    };
    let mut page = chromium.page().expect("a page");
    let mut wrong = Vec::new();
    for state in STATES {
        page.appear(Appearance::new(true, false))
            .expect("an appearance");
        page.open(server.address(), state).expect(state);
        let overflow = page.overflowing().expect("an answer");
        // On a desktop nothing is folded.
        page.appear(Appearance::new(false, false))
            .expect("an appearance");
        let found = page
            .evaluate(include_str!("legible.js"))
            .expect("an answer");
        let found: Vec<String> = serde_json::from_value(found).expect("a list");
        let found = found.into_iter().chain(overflow);
        wrong.extend(found.map(|what| format!("{state}: {what}")));
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    no_problems(&mut page);
}
