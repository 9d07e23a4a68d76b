// Merging: the addresses of a warp's wide access, lane by lane, as the reader sets them, and the resulting phases.
(() => {
  "use strict";
  const { ui, places } = globalThis.gemm;
  const { h, count, span, range, LANES } = ui;

  const each = (of) => range(LANES).map(of).join(",");
  const pairs = (lane) => Math.floor(lane / 2);
  const apart = (lane) => Math.floor(lane / 4) * 2 + (lane % 2);
  const PRESETS = [
    ["neighbors", each((lane) => lane)],
    ["i and i ^ 1 share", each(pairs)],
    ["i and i ^ 2 share", each(apart)],
    ["one half i ^ 1, one half i ^ 2", each((lane) => (lane < 16 ? pairs(lane) : apart(lane)))],
    ["lane 31 differs", each((lane) => (lane === 31 ? 16 : pairs(lane)))],
    ["all share", each(() => 0)],
    ["a column, rows of 8 units", each((lane) => lane * 8)],
  ];
  const DEFAULTS = { op: "ld", bytes: "16", units: PRESETS[1][1], lane: 31 };
  const ALLOWED = { op: ["ld", "st"], bytes: ["4", "8", "16"], lane: range(LANES) };
  const MOST = 1023;

  const unitsOf = ({ units }) => units.split(",").map(Number);
  const isFine = (units) => units.length === LANES && units.every((unit) => Number.isInteger(unit) && unit >= 0 && unit <= MOST);

  function start(root, ask) {
    const place = places.placeOf(root, "merging", DEFAULTS);
    const controls = h("form", { class: "ia-controls", "aria-label": "settings", onsubmit: (event) => event.preventDefault() });
    const shown = h("div", { class: "ia-shown" });
    root.append(controls, shown);
    const read = () => {
      const found = ui.merged(place.usual, place.read(), ALLOWED);
      return isFine(unitsOf(found)) ? found : { ...found, units: place.usual.units };
    };
    let state = read();

    function set(change, focus = null) {
      state = { ...state, ...change };
      drawControls();
      draw();
      if (focus) root.querySelector(focus)?.focus();
    }

    const move = (unit, focus) => {
      const units = unitsOf(state);
      units[state.lane] = Math.min(Math.max(unit, 0), MOST);
      set({ units: units.join(",") }, focus);
    };

    function drawControls() {
      const unit = unitsOf(state)[state.lane];
      const step = (name, text, by) => h("button", {
        type: "button", "data-step": name, "aria-label": `lane ${state.lane}: one unit ${by > 0 ? "on" : "back"}`,
        onclick: () => move(unit + by, `[data-step=${name}]`),
      }, text);
      controls.replaceChildren(
        h("div", { class: "ia-presets", role: "group", "aria-label": "patterns" }, PRESETS.map(([text, units]) => h("button", {
          type: "button", "data-preset": text, "aria-pressed": String(units === state.units),
          onclick: () => set({ units }, `[data-preset="${text}"]`),
        }, text))),
        h("div", { class: "ia-row" },
          ui.choice({ name: "op", label: "Access", options: [["ld", "load"], ["st", "store"]], value: state.op, onChange: (op) => set({ op }, "[name=op]:checked") }),
          ui.choice({ name: "bytes", label: "Bytes a lane", options: ["4", "8", "16"].map((one) => [one, one]), value: state.bytes, onChange: (bytes) => set({ bytes }, "[name=bytes]:checked") }),
          h("div", { class: "fig-stepper", role: "group", "aria-label": `the unit of lane ${state.lane}` },
            h("span", {}, `Lane ${state.lane}`), step("less", "−", -1), h("output", {}, `unit ${unit}`), step("more", "+", 1))));
    }

    function draw() {
      place.write(state);
      const units = unitsOf(state);
      const bytes = Number(state.bytes);
      const access = ask({ ask: "access", op: state.op, bytes: state.bytes, offsets: units.map((unit) => unit * bytes).join(",") });
      const { table, lanesInAPhase } = access;
      const pick = (lane) => {
        set({ lane });
        ui.focusGrid(shown);
      };
      const together = table.phases[0].lanes.length;
      const name = `${state.op} of ${count(bytes, "byte")} a lane`;
      shown.replaceChildren(
        ui.facts([["wavefronts", table.wavefronts], ["phases", table.phases.length], ["lanes in a phase", together], ["degree of each phase", table.phases.map(({ degree }) => degree).join(" + ")]]),
        h("p", { class: "ia-said", "aria-live": "polite" },
          together > lanesInAPhase
            ? `Merged: phases of ${lanesInAPhase} lanes have become phases of ${together}. `
            : `Not merged: ${lanesInAPhase} lanes make a phase. `,
          `Lane ${state.lane} is in phase ${places.servedOf(access, state.lane).phase.number} and is served in wavefront ${places.servedOf(access, state.lane).wavefront + 1} of ${table.wavefronts}.`),
        h("div", { class: "fig-lanes" },
          h("section", { "aria-label": "units" }, h("h3", {}, `The unit of ${count(bytes, "byte")} that each lane accesses`), places.lanes({
            label: "lanes and the unit that each accesses", columns: 8, picked: state.lane, onPick: pick,
            cell: (lane) => ({ text: units[lane], group: units[lane], name: `lane ${lane}: unit ${units[lane]}` }),
          })),
          h("section", { "aria-label": "wavefronts" }, h("h3", {}, `${count(table.wavefronts, "wavefront")}, phase by phase`),
            places.strip(access, { name, lane: state.lane, groupOf: (lane) => units[lane], onPick: pick }),
            h("p", { class: "ia-key" }, table.phases.map(({ number, lanes, degree }) => `Phase ${number}, lanes ${span(lanes[0], lanes.at(-1))}: degree ${degree}. `),
              "A line is a wavefront, a column a bank; 0+ is lane 0 and others that access the same word."))),
        places.link("wavefront_player.html", { op: state.op, bytes, addresses: access.offsets.join(",") }, {}, "These addresses in the wavefront player"));
    }

    place.onChange(() => {
      state = read();
      drawControls();
      draw();
    });
    drawControls();
    draw();
  }

  ui.mount("merging", start);
})();
