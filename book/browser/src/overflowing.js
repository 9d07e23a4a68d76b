// What a reader on a phone cannot see: elements beyond the right edge. Tables and listings may scroll within
// themselves; that the whole page does is what is looked for.
(() => {
  const edge = document.documentElement.clientWidth + 1;
  const main = document.querySelector("main");
  const scrolls = (element) => {
    for (let at = element; at && !at.contains(main); at = at.parentElement) {
      const { overflowX, position } = getComputedStyle(at);
      const fits = at.getBoundingClientRect().right <= edge;
      if (["auto", "scroll", "hidden", "clip"].includes(overflowX) && at !== element && fits) return true;
      // The sidebar, folded away.
      if (position === "fixed") return true;
    }
    return false;
  };
  const name = (element) => {
    const kind = element.getAttribute("class");
    return `${element.tagName.toLowerCase()}${element.id ? `#${element.id}` : ""}${kind ? `.${kind}` : ""}`;
  };
  const found = [...document.body.querySelectorAll("*")].filter((element) => {
    const box = element.getBoundingClientRect();
    return box.width > 0 && box.height > 0 && box.right > edge && !element.contains(main) && !scrolls(element);
  });
  return found.slice(0, 5).map((element) => `${name(element)} ends at ${Math.round(element.getBoundingClientRect().right)} of ${edge - 1}`);
})()
