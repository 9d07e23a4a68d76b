// Text of the interactive part whose color is too close to its background, in every theme of the book; and elements
// for which a screen reader would find no name.
(() => {
  const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  // Reading a pixel takes long, and a page has few colors.
  const known = new Map();
  const rgba = (color) => {
    if (!known.has(color)) {
      canvas.clearRect(0, 0, 1, 1);
      canvas.fillStyle = color;
      canvas.fillRect(0, 0, 1, 1);
      known.set(color, [...canvas.getImageData(0, 0, 1, 1).data]);
    }
    return known.get(color);
  };
  const luminance = (color) => {
    const [r, g, b] = color.slice(0, 3).map((part) => {
      const share = part / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const color = rgba(getComputedStyle(at).backgroundColor);
      if (color[3] === 255) return color;
    }
    return [255, 255, 255, 255];
  };
  const contrast = (element) => {
    const [a, b] = [luminance(rgba(getComputedStyle(element).color)), luminance(behind(element))];
    return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  };
  const hasText = (element) => [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
  const isOff = (element) => Boolean(element.closest("button:disabled, [aria-disabled=true]"));
  const found = [];
  const html = document.documentElement;
  const chosen = html.className;
  for (const theme of ["light", "rust", "coal", "navy", "ayu"]) {
    html.className = `${chosen.replace(/\b(light|rust|coal|navy|ayu)\b/, "")} ${theme}`;
    // What fades from one color to the next is looked at when it has arrived.
    document.getAnimations().forEach((animation) => animation.finish());
    for (const element of document.querySelectorAll(".ia *")) {
      if (!hasText(element) || isOff(element) || element.tagName === "OPTION" || !element.getClientRects().length) continue;
      const ratio = contrast(element);
      if (ratio < 4.5) found.push(`${theme}: ${element.tagName} ${element.className} "${element.textContent.slice(0, 20)}" has ${ratio.toFixed(2)}`);
    }
  }
  html.className = chosen;
  for (const field of document.querySelectorAll(".ia :is(input, select, textarea)")) {
    if (!field.labels.length) found.push(`${field.name} has no label`);
  }
  for (const named of document.querySelectorAll(".ia :is(button, td[role=gridcell])")) {
    if (!(named.getAttribute("aria-label") ?? named.textContent).trim()) found.push(`${named.outerHTML} has no name`);
  }
  for (const grid of document.querySelectorAll(".ia [role=grid]")) {
    const stops = grid.querySelectorAll('td[tabindex="0"]').length;
    if (!grid.getAttribute("aria-label") || stops !== 1) found.push(`a grid with ${stops} cells in the tab order`);
  }
  return [...new Set(found)].slice(0, 20);
})()
