// What a reader on a phone cannot see: elements beyond the right edge that no ancestor lets them scroll to.
(() => {
  const edge = document.documentElement.clientWidth + 1;
  const scrolls = (element) => {
    for (let at = element; at && at !== document.body; at = at.parentElement) {
      const { overflowX, position } = getComputedStyle(at);
      if (overflowX === "auto" || overflowX === "scroll") return true;
      // Hidden on purpose: a closed sidebar, a text for screen readers.
      if (position === "fixed" || (overflowX === "hidden" && at.getBoundingClientRect().right <= edge)) return true;
    }
    return false;
  };
  const name = (element) =>
    [element.tagName.toLowerCase(), element.id && `#${element.id}`, element.className && `.${element.getAttribute("class")}`]
      .filter(Boolean).join("");
  const found = [...document.body.querySelectorAll("*")].filter((element) => {
    const box = element.getBoundingClientRect();
    return box.width > 0 && box.height > 0 && box.right > edge && !scrolls(element);
  });
  const page = document.documentElement.scrollWidth > edge ? [`the page scrolls to ${document.documentElement.scrollWidth}`] : [];
  return [...page, ...found.slice(0, 5).map((element) => `${name(element)} ends at ${Math.round(element.getBoundingClientRect().right)}`)];
})()
