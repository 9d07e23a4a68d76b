// Waves: which cluster computes which tile when, for the reader's problem, tile and card, with whole tiles, and as rung 16 or rung 17 does it.
(() => {
  "use strict";
  const { ui, places } = globalThis.gemm;
  const { h, count } = ui;

  const DEFAULTS = { m: 5120, n: 5120, k: 5120, bm: 128, bn: 256, bk: 64, sms: 132, cluster: 2, chosen: 0, sides: "both" };
  const ALLOWED = { sides: ["both", "narrow", "off"] };
  const MOST = 1 << 20;
  const SIZES = [4096, 5120, 8192];
  // Number of SMs, from NVIDIA's architecture whitepapers, which the figure names.
  const CARDS = [["H100, H200 SXM", 132], ["H100 PCIe", 114], ["A100", 108]];

  /** An SVG element. */
  function s(tag, attributes, ...children) {
    const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.append(...children);
    return element;
  }

  const percent = (part) => `${(100 * part).toFixed(1)}%`;
  /** How long a piece takes, in steps of a whole tile: a step of a narrow tile takes less. */
  const length = ({ from, to, columns }, found) => ((to - from) * columns) / found.wide;
  const worked = (pieces, found) => pieces.reduce((sum, piece) => sum + length(piece, found), 0);
  const rounded = (steps) => Math.round(10 * steps) / 10;

  function wavesOf(ask, { m, n, k, bm, bn, bk, sms, cluster }, isSplit, narrow) {
    return { ...ask({ ask: "waves", m, n, k, tile: [bm, bn, bk], sms, cluster, stream_k: isSplit, narrow: isSplit && narrow }), wide: bn };
  }

  /** A line per cluster, from top to bottom, with its tiles from left to right, as long as their steps; `end` is the end of the axis. */
  function strips(found, end, chosen, name, pick) {
    const paths = new Map();
    found.work.forEach((pieces, row) => {
      let x = 0;
      pieces.forEach((piece, i) => {
        const { tile, from, to } = piece;
        const long = length(piece, found);
        const isLast = i >= found.waves - 1 || from > 0 || to < found.steps || tile >= found.tiles - found.tiles % found.clusters;
        const kind = isLast ? `wv-t${tile % 6}` : `wv-w${i % 2}`;
        paths.set(kind, `${paths.get(kind) ?? ""}M${x} ${row}h${long}v1h${-long}z`);
        x += long;
      });
    });
    const svg = s("svg", { viewBox: `0 0 ${end} ${found.clusters}`, preserveAspectRatio: "none", "aria-hidden": "true" },
      s("rect", { class: "wv-idle", width: found.longest, height: found.clusters }),
      ...[...paths].map(([kind, d]) => s("path", { class: kind, d })),
      s("rect", { class: "wv-here", x: 0, y: chosen, width: end, height: 1 }));
    return h("div", {
      class: "wv-strips", role: "img", "aria-label": name, style: `height: ${Math.max(12, Math.min(56, found.clusters * 0.45))}rem`,
      onclick: (event) => {
        const box = svg.getBoundingClientRect();
        pick(Math.min(Math.max(Math.floor((event.clientY - box.top) / box.height * found.clusters), 0), found.clusters - 1));
      },
    }, svg);
  }

  /** The last pieces of one cluster. */
  function piecesOf(found, chosen) {
    const pieces = found.work[chosen];
    const text = ({ tile, from, to, columns }) => (from === 0 && to === found.steps ? `tile ${tile}${columns < found.wide ? ` (${columns} columns)` : ""}` : `steps ${from} to ${to - 1} of tile ${tile}`);
    const shown = pieces.slice(-4).map(text).join(", then ");
    const waits = rounded(found.longest - worked(pieces, found));
    return `${pieces.length > 4 ? "… " : ""}${shown || "nothing"}; ${waits === 0 ? "it is among the last to finish" : `idle for the last ${count(waits, "step")}`}.`;
  }

  function start(root, ask) {
    const place = places.placeOf(root, "waves", DEFAULTS);
    const controls = h("form", { class: "ia-controls", "aria-label": "settings", onsubmit: (event) => event.preventDefault() });
    const said = h("p", { class: "ia-said", "aria-live": "polite" });
    const shown = h("div", { class: "ia-shown" });
    const slider = h("input", { type: "range", name: "chosen", min: 0, max: 0, value: 0, oninput: () => set({ chosen: Number(slider.value) }) });
    const now = h("b", {});
    root.append(controls, shown, h("label", { class: "ia-field ia-wide" }, h("span", {}, "Cluster ", now), slider), said);
    const read = () => {
      const found = ui.merged(place.usual, place.read(), ALLOWED);
      const isFine = Object.values(found).every((value) => typeof value !== "number" || (value >= 0 && value <= MOST));
      return isFine ? found : { ...place.usual };
    };
    let state = read();

    function set(change) {
      state = { ...state, ...change };
      draw();
    }

    function drawControls() {
      const again = (change, focus) => {
        state = { ...state, ...change };
        drawControls();
        draw();
        controls.querySelector(focus).focus();
      };
      const field = (name, label, most = MOST) => ui.numberField({
        name, label, min: 1, max: most, value: state[name], onChange: (value) => set({ [name]: value }),
      });
      controls.replaceChildren(
        h("div", { class: "ia-presets", role: "group", "aria-label": "sizes and cards" },
          SIZES.map((size) => h("button", { type: "button", "data-size": size, onclick: () => again({ m: size, n: size, k: size }, `[data-size="${size}"]`) }, size)),
          CARDS.map(([name, sms]) => h("button", { type: "button", "data-card": sms, onclick: () => again({ sms }, `[data-card="${sms}"]`) }, `${name}: ${sms} SMs`))),
        h("div", { class: "ia-row" }, field("m", "M"), field("n", "N"), field("k", "K"), field("sms", "SMs", 1024)),
        h("div", { class: "ia-row" }, field("bm", "Rows of a CTA's tile"), field("bn", "Its columns"), field("bk", "K of a step"), field("cluster", "CTAs of a cluster", 16)),
        ui.choice({ name: "sides", label: "Tiles", options: [["off", "whole"], ["both", "whole and split (rung 16)"], ["narrow", "whole, and split or narrow (rung 17)"]], value: state.sides, onChange: (sides) => set({ sides }) }));
    }

    function draw() {
      place.write(state);
      for (const one of controls.querySelectorAll("button")) {
        const { size, card } = one.dataset;
        const isOn = card ? state.sms === Number(card) : [state.m, state.n, state.k].every((side) => side === Number(size));
        one.setAttribute("aria-pressed", String(isOn));
      }
      let sides;
      try {
        sides = (state.sides === "off" ? [false] : [false, true]).map((isSplit) => [isSplit, wavesOf(ask, state, isSplit, state.sides === "narrow")]);
      } catch (error) {
        said.replaceChildren();
        shown.replaceChildren(ui.refusal(error));
        return;
      }
      const [, plain] = sides[0];
      const chosen = Math.min(state.chosen, plain.clusters - 1);
      Object.assign(slider, { max: plain.clusters - 1, value: chosen });
      now.textContent = chosen;
      const pick = (cluster) => set({ chosen: cluster });
      const end = Math.max(...sides.map(([, { longest }]) => longest));
      const title = (isSplit, found) => (!isSplit ? "Whole tiles" : found.split ? "Stream-K" : found.narrow > 0 ? "Narrow tiles" : "Stream-K: splits no tile here");
      shown.replaceChildren(
        ui.facts([
          ["tiles of clusters", `${plain.rows} · ${plain.columns} = ${plain.tiles}`], ["clusters", plain.clusters], ["waves", plain.waves],
          ["tiles in the last wave", `${plain.lastWave} of ${plain.clusters}`],
          ["idle SMs in it", (plain.clusters - plain.lastWave) * state.cluster + plain.idleSms], ["steps of a tile", plain.steps],
        ]),
        h("div", { class: "fig-sides" }, sides.map(([isSplit, found]) => h("section", { "data-side": isSplit ? "on" : "off", "aria-label": title(isSplit, found) },
          h("h3", {}, title(isSplit, found)),
          strips(found, end, chosen, `${found.clusters} clusters over ${count(rounded(found.longest), "step")}, ${percent(1 - found.busy)} of them idle`, pick),
          ui.facts([["steps to the end", rounded(found.longest)], ["lost to wave quantization", percent(1 - found.busy)]]
            .concat(found.split ? [["steps of a share", found.share]] : [], found.narrow > 0 ? [["tiles of 240 columns", found.narrow]] : []))))),
        h("p", { class: "ia-key" }, "A line is a cluster, from left to right its steps. Gray and blue: whole waves. Colored: the tiles of the last wave, a color a tile. ",
          h("span", { class: "wv-sample" }), " idle. How many SMs a card has: NVIDIA's architecture whitepapers of A100 and H100."));
      said.textContent = sides.map(([isSplit, found]) => `${!isSplit ? "Whole tiles" : found.narrow > 0 ? "With narrow tiles" : "With stream-K"}, cluster ${chosen}: ${piecesOf(found, chosen)}`).join(" ");
    }

    place.onChange(() => {
      state = read();
      drawControls();
      draw();
    });
    drawControls();
    draw();
  }

  ui.mount("waves", start);
})();
