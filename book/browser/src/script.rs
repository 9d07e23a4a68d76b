//! Actions on a page by scripts, for any browser.
use anyhow::{Result, bail};
use serde_json::{Value, json};

/// The element, as an expression that throws if it does not exist.
pub fn element(selector: &str) -> String {
    let named = json!(selector);
    format!(
        "(document.querySelector({named}) ?? (() => {{ throw new Error('nothing is ' + {named}); }})())"
    )
}

/// Scrolls to an element; returns its middle, and whether nothing covers it: for [`reached`].
pub fn middle(selector: &str) -> String {
    format!(
        "(() => {{ const found = {}; found.scrollIntoView({{ block: 'center', inline: 'center', behavior: 'instant' }});\
         const box = found.getBoundingClientRect(); const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];\
         const top = document.elementFromPoint(x, y); return {{ x, y, hit: found.contains(top) }}; }})()",
        element(selector)
    )
}

/// The position to click.
///
/// # Errors
/// If something covers the element.
pub fn reached(selector: &str, place: &Value) -> Result<(f64, f64)> {
    match (
        place["hit"].as_bool(),
        place["x"].as_f64(),
        place["y"].as_f64(),
    ) {
        (Some(true), Some(x), Some(y)) => Ok((x, y)),
        _ => bail!("{selector} cannot be reached: another element covers it"),
    }
}

/// Selects an option of a list, or a value of a slider; returns the selected one.
pub fn choose(selector: &str, value: &str) -> String {
    format!(
        "(() => {{ const found = {}; found.value = {}; found.dispatchEvent(new Event('input', {{ bubbles: true }}));\
         found.dispatchEvent(new Event('change', {{ bubbles: true }})); return found.value; }})()",
        element(selector),
        json!(value)
    )
}

/// A promise that resolves when the expression is true, and is rejected after 4 minutes: a busy machine may take long.
pub fn wait_until(expression: &str) -> String {
    format!(
        "(async () => {{ const end = Date.now() + 240000; while (!({expression})) {{\
         if (Date.now() > end) throw new Error('it never came true'); await new Promise((go) => setTimeout(go, 20)); }} }})()"
    )
}
