// Banks under a stride: 32 lanes read one column of a tile, whose row length the reader sets, with and without a formula
// that permutes its words.
(() => {
  "use strict";
  const { ui, places } = globalThis.gemm;
  const { h, count, range, LANES } = ui;

  const DEFAULTS = { stride: 32, map: "col", lane: 1 };
  const ALLOWED = { stride: range(65, 1), lane: range(LANES) };
  const EXAMPLES = ["col", "(col + row) % 32", "col ^ row", "col ^ (row & 7)"];
  const WORD = 4;

  const access = (ask, offsets) => ask({ ask: "access", op: "ld", bytes: String(WORD), offsets: offsets.join(",") });

  /** The same read twice: with the identity and, if there is one, with the formula. */
  function modelOf(ask, state) {
    const found = ask({ ask: "mapping", map: state.map, row_bytes: state.stride * WORD, unit: WORD, rows: LANES, bytes: WORD });
    const read = ({ places, verdict }) => (verdict.isSound ? access(ask, places.map(([first]) => first * WORD)) : null);
    return { plain: read(found.plain), changed: read(found.changed), verdict: found.changed.verdict };
  }

  const unsound = ({ leaves, collision }) => (leaves
    ? `This formula is not a layout for these rows: word ${leaves.column} of row ${leaves.row} would be stored as word ${leaves.unit}, outside its row.`
    : `This formula loses data: word ${collision[0].column} of row ${collision[0].row} and word ${collision[1].column} of row ${collision[1].row} would be stored in the same place.`);

  function start(root, ask) {
    const place = places.placeOf(root, "strides", DEFAULTS);
    const controls = h("form", { class: "ia-controls", "aria-label": "settings", onsubmit: (event) => event.preventDefault() });
    const shown = h("div", { class: "ia-shown" });
    root.append(controls, shown);
    const read = () => ui.merged(place.usual, place.read(), ALLOWED);
    let state = read();

    function set(change) {
      state = { ...state, ...change };
      draw();
    }

    function drawControls() {
      const now = h("b", {}, state.stride);
      const slider = h("input", {
        type: "range", name: "stride", min: 1, max: 64, value: state.stride,
        oninput: () => { now.textContent = slider.value; set({ stride: Number(slider.value) }); },
      });
      const box = h("input", {
        type: "text", name: "map", value: state.map, spellcheck: "false", autocomplete: "off", autocapitalize: "off",
        oninput: () => set({ map: box.value }),
      });
      controls.replaceChildren(
        h("label", { class: "ia-field ia-wide" }, h("span", {}, "Stride: the length of a row in words, ", now), slider),
        h("label", { class: "ia-field ia-wide" }, h("span", {}, places.formulaLabel("word")), box,
          h("small", {}, "| ^ & << >> + - * / % ( ) and numbers, as in C; col: nothing is moved")),
        h("div", { class: "ia-presets", role: "group", "aria-label": "formulas" }, EXAMPLES.map((text) => h("button", {
          type: "button", "data-preset": text, onclick: () => { box.value = text; set({ map: text }); },
        }, h("code", {}, text)))));
    }

    function draw() {
      place.write(state);
      for (const button of controls.querySelectorAll("[data-preset]")) {
        button.setAttribute("aria-pressed", String(button.dataset.preset === state.map));
      }
      let model;
      try {
        model = modelOf(ask, state);
      } catch (error) {
        shown.replaceChildren(ui.refusal(error));
        return;
      }
      const pick = (lane) => {
        set({ lane });
        ui.focusGrid(shown);
      };
      const isMoved = state.map.trim() !== "col";
      const sides = [["plain", `Nothing moved`, model.plain], ...(isMoved ? [["changed", state.map, model.changed]] : [])];
      const chosen = (isMoved && model.changed) || model.plain;
      shown.replaceChildren(
        h("p", { class: "ia-said", "aria-live": "polite" }, sides.map(([, name, read]) => (read ? `${name}: ${sentence(read, state.lane)} ` : ""))),
        h("div", { class: "fig-sides" }, sides.map(([side, name, read]) => h("section", { "data-side": side, "aria-label": name },
          h("h3", {}, isMoved ? h("code", {}, side === "plain" ? "col" : name) : `Rows of ${count(state.stride, "word")}`, read ? `: ${count(read.table.wavefronts, "wavefront")}` : ": –"),
          read ? places.strip(read, { name, lane: state.lane, onPick: pick }) : h("p", { class: "ia-error", role: "alert" }, unsound(model.verdict))))),
        h("h3", {}, "Lanes"),
        places.lanes({
          label: "lanes", columns: 8, picked: state.lane, onPick: pick,
          cell: (lane) => ({ text: lane, group: lane, name: `lane ${lane}: bank ${places.servedOf(chosen, lane).bank}` }),
        }),
        h("p", { class: "ia-key" }, "A line is a wavefront, a column a bank, a number the lane that it serves."),
        places.link("wavefront_player.html", { op: "ld", bytes: WORD, addresses: chosen.offsets.join(",") }, {}, "These addresses in the wavefront player"));
    }

    place.onChange(() => {
      state = read();
      drawControls();
      draw();
    });
    drawControls();
    draw();
  }

  function sentence(access, lane) {
    const { bank, wavefront, phase } = places.servedOf(access, lane);
    const others = phase.columns[bank].flatMap((word) => word.lanes).filter((other) => other !== lane);
    const meets = others.length === 0 ? "alone there" : `with lane${others.length > 1 ? "s" : ""} ${others.slice(0, 6).join(", ")}${others.length > 6 ? " …" : ""}`;
    return `lane ${lane} reads word ${access.offsets[lane] / WORD} in bank ${bank}, ${meets}, and is served in wavefront ${wavefront + 1} of ${access.table.wavefronts}.`;
  }

  ui.mount("strides", start);
})();
