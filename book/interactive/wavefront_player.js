// The wavefront player: a warp's access to shared memory, wavefront by wavefront.
(() => {
  "use strict";
  const { ui } = globalThis.gemm;
  const { h, count, span, range, LANES, OPERATIONS, addressesOf } = ui;

  const WARP = range(LANES);
  // Rung 02's store of A: two lanes per column of the tile, four rows each; the lane's first element.
  const transposed = (leading) => (lane) => ((lane % 2) * 4 * leading + Math.floor(lane / 2)) * 4;
  const tile = (lane) => (lane % 16) * 128 + Math.floor(lane / 16) * 16;
  // The same with chunk c of row r in the place of chunk c ^ (r & 7).
  const swizzled = (lane) => (lane % 16) * 128 + (Math.floor(lane / 16) ^ (lane % 8)) * 16;

  /** Name, operation, bytes per lane, offset of a lane. */
  const PRESETS = [
    ["32 neighbors", "ld", 4, (lane) => lane * 4],
    ["every second word", "ld", 4, (lane) => lane * 8],
    ["a column, rows of 32 words", "ld", 4, (lane) => lane * 128],
    ["a column, rows of 33 words", "ld", 4, (lane) => lane * 132],
    ["one word for all", "ld", 4, () => 64],
    ["rung 02 stores A transposed", "st", 4, transposed(128)],
    ["rung 03: the same, padded", "st", 4, transposed(132)],
    ["8 bytes, neighbors", "ld", 8, (lane) => lane * 8],
    ["16 bytes, neighbors", "ld", 16, (lane) => lane * 16],
    ["16 bytes down a column of 128-byte rows", "ld", 16, (lane) => lane * 128],
    ["16 bytes, pairs of lanes share: merged", "ld", 16, (lane) => Math.floor(lane / 2) * 16],
    ["16 bytes, lanes two apart share: merged", "ld", 16, (lane) => (Math.floor(lane / 4) * 2 + (lane % 2)) * 16],
    ["16 bytes, half the warp of each: not merged", "ld", 16,
      (lane) => (lane < 16 ? Math.floor(lane / 2) : Math.floor(lane / 4) * 2 + (lane % 2)) * 16],
    ["ldmatrix.x4, plain rows of 128 bytes", "ldmatrix.x4", 16, tile],
    ["ldmatrix.x4, swizzled", "ldmatrix.x4", 16, swizzled],
  ];
  const offsetsOf = ([, op, , of]) => range(addressesOf(op)).map(of);
  const DEFAULTS = { op: "ld", bytes: "4", addresses: WARP.map((lane) => lane * 128).join(","), step: 0 };
  const ALLOWED = { op: OPERATIONS };
  const PACE = 900; // milliseconds a wavefront

  /** The access of a state, its table, and its wavefronts in order, from the engine. */
  function modelOf(ask, { op, bytes, addresses }) {
    const access = ask({ ask: "access", op, bytes, offsets: addresses });
    const { table } = access;
    const frames = table.phases.flatMap((phase) => phase.passes.map((words, pass) => ({ phase, pass, words })));
    return { access, table, frames };
  }

  /** Lanes that a wavefront serves. */
  const served = ({ words }) => new Set(words.flatMap((word) => word?.lanes ?? []));

  function start(root, ask) {
    let state = read();
    let rows = [];
    let timer = null;
    const isStill = matchMedia("(prefers-reduced-motion: reduce)").matches;
    const controls = h("form", { class: "ia-controls", "aria-label": "settings", onsubmit: (event) => event.preventDefault() });
    const shown = h("div", { class: "ia-shown" });
    root.append(controls, shown);

    function read() {
      return ui.merged(DEFAULTS, ui.readState(), ALLOWED);
    }

    function stop() {
      clearTimeout(timer);
      timer = null;
    }

    function set(change, { fields = null } = {}) {
      stop();
      state = { ...state, step: 0, ...change };
      if (fields !== null) {
        drawControls();
        if (fields) controls.querySelector(fields)?.focus();
      }
      draw();
    }

    function drawControls() {
      const isMatrix = state.op.includes("matrix");
      const pasted = h("textarea", {
        name: "addresses", rows: 3, spellcheck: "false", autocomplete: "off", "aria-describedby": "ia-format",
        oninput: () => paste(pasted.value),
      });
      pasted.value = state.addresses.replaceAll(",", " ");
      const isPreset = (preset) =>
        preset[1] === state.op && String(preset[2]) === state.bytes && offsetsOf(preset).join(",") === state.addresses;
      const chosen = PRESETS.findIndex(isPreset);
      controls.replaceChildren(
        h("div", { class: "ia-row" },
          ui.selectField({
            name: "preset", label: "A pattern", value: chosen,
            options: [...(chosen < 0 ? [[-1, "addresses of your own"]] : []), ...PRESETS.map(([name], i) => [i, name])],
            onChange: (i) => {
              rows = [];
              const [, op, bytes] = PRESETS[i];
              set({ op, bytes: String(bytes), addresses: offsetsOf(PRESETS[i]).join(",") }, { fields: "[name=preset]" });
            },
          }),
          ui.selectField({
            name: "op", label: "Operation", options: OPERATIONS.map((op) => [op, op]), value: state.op,
            onChange: (op) => set({ op, ...(op.includes("matrix") ? { bytes: "16" } : {}) }, { fields: "[name=op]" }),
          }),
          isMatrix ? null : ui.selectField({
            name: "bytes", label: "Bytes a lane", options: ["1", "2", "4", "8", "16"].map((bytes) => [bytes, bytes]), value: state.bytes,
            onChange: (bytes) => set({ bytes }, { fields: "[name=bytes]" }),
          })),
        h("label", { class: "ia-field ia-wide" }, h("span", {}, "Byte offsets, one a lane"), pasted,
          h("small", { id: "ia-format" }, "separated by spaces or commas; - for an inactive lane; or a whole table, in the format of cargo ladder banks")),
        rows.length > 1
          ? ui.selectField({
              name: "table_row", label: "Row of the table", value: 0, options: rows.map((row, i) => [i, `${i + 1}: ${row.op}, ${row.bytes} bytes`]),
              onChange: (i) => set(stateOf(rows[i])),
            })
          : "");
    }

    const stateOf = ({ op, bytes, offsets }) => ({
      op, bytes: String(bytes),
      addresses: offsets.slice(0, addressesOf(op)).map((offset) => offset ?? "-").join(","),
    });

    /** Addresses only, or a table with its header. */
    function paste(text) {
      rows = [];
      if (!text.includes("byte_offset_per_lane")) {
        set({ addresses: text.trim().split(/[\s,]+/).join(",") });
        return;
      }
      try {
        ({ rows } = ask({ ask: "table", text }));
      } catch (error) {
        fail(error);
        return;
      }
      set(stateOf(rows[0]), { fields: "" });
    }

    function fail(error) {
      stop();
      shown.replaceChildren(ui.refusal(error));
    }

    function draw() {
      let model;
      try {
        model = modelOf(ask, state);
      } catch (error) {
        ui.writeState(state, DEFAULTS);
        fail(error);
        return;
      }
      const { access, table, frames } = model;
      state.step = Math.min(Math.max(state.step, 0), Math.max(frames.length - 1, 0));
      ui.writeState(state, DEFAULTS);
      const banks = h("ol", { class: "ia-strip", "aria-label": "banks in this wavefront" });
      const lanes = h("ol", { class: "ia-strip", "aria-label": "lanes" });
      const said = h("p", { class: "ia-said", "aria-live": "polite" });
      const words = h("div", {});
      const overview = overviewOf(model, (step) => go(step));
      const button = (name, label, to) =>
        h("button", { type: "button", "data-step": name, "aria-label": label, onclick: () => { stop(); to(); } });
      const [first, back, play, next, last] = [
        button("first", "first wavefront", () => go(0)),
        button("back", "one wavefront back", () => go(state.step - 1)),
        h("button", { type: "button", "data-step": "play", onclick: () => (timer ? halt() : run()) }),
        button("next", "one wavefront on", () => go(state.step + 1)),
        button("last", "last wavefront", () => go(frames.length - 1)),
      ];
      [first.textContent, back.textContent, next.textContent, last.textContent] = ["|◀", "◀", "▶", "▶|"];
      const number = h("output", {});

      function halt() {
        stop();
        show();
      }

      function run() {
        if (state.step >= frames.length - 1) state.step = -1;
        const tick = () => {
          state.step += 1;
          timer = state.step < frames.length - 1 ? setTimeout(tick, PACE) : null;
          ui.writeState(state, DEFAULTS);
          show();
        };
        tick();
      }

      function go(step) {
        state.step = Math.min(Math.max(step, 0), Math.max(frames.length - 1, 0));
        ui.writeState(state, DEFAULTS);
        show();
      }

      function show() {
        const frame = frames[state.step];
        number.textContent = `wavefront ${Math.min(state.step + 1, table.wavefronts)} of ${table.wavefronts}`;
        // A focused button stays enabled; one without effect is only marked as disabled.
        for (const [control, isOff] of [[first, state.step === 0], [back, state.step === 0], [next, state.step >= frames.length - 1], [last, state.step >= frames.length - 1]]) {
          control.setAttribute("aria-disabled", String(isOff));
        }
        play.textContent = timer ? "pause" : "play";
        said.textContent = sentence(model, state.step);
        const now = frame ? served(frame) : new Set();
        const before = new Set(frames.slice(0, state.step).flatMap((frame) => [...served(frame)]));
        banks.replaceChildren(...(frame?.words ?? range(LANES).map(() => null)).map((word, bank) => {
          const lane = word?.lanes[0];
          const others = word && word.lanes.length > 1 ? `+${word.lanes.length - 1}` : "";
          return h("li", {
            class: word ? `ia-g${lane % 8} ia-on` : null,
            title: word ? `bank ${bank}: row ${word.row}, for lanes ${word.lanes.join(", ")}` : `bank ${bank} is idle`,
          }, h("small", {}, bank), h("b", {}, word ? `${lane}${others}` : "·"));
        }));
        lanes.replaceChildren(...access.offsets.map((offset, lane) => {
          const how = offset === null ? "no part" : now.has(lane) ? "now" : before.has(lane) ? "served" : "waits";
          const classes = { "no part": "ia-empty", now: `ia-g${lane % 8} ia-on`, served: "ia-past", waits: "" }[how];
          return h("li", { class: classes, title: `lane ${lane}: ${offset === null ? how : `byte ${offset}, ${how}`}` },
            h("small", {}, lane), h("b", {}, offset === null ? "–" : how === "now" ? "●" : how === "served" ? "✓" : "·"));
        }));
        overview.mark(state.step);
        words.replaceChildren(frame ? listOf(frame) : "");
      }

      shown.replaceChildren(
        ui.facts([
          ["wavefronts", table.wavefronts], ["ideal", table.ideal], ["bank conflicts", table.conflicts],
          ["phases", phasesOf(table)],
        ]),
        h("p", { class: "ia-key" }, merging(access, table)),
        h("div", {
          class: "ia-player", role: "group", "aria-label": "player",
          onkeydown: (event) => {
            const step = { ArrowRight: state.step + 1, ArrowLeft: state.step - 1, Home: 0, End: frames.length - 1 }[event.key];
            if (step === undefined || event.altKey || event.ctrlKey || event.metaKey) return;
            // mdBook turns pages with the same keys.
            event.preventDefault();
            event.stopPropagation();
            stop();
            go(step);
          },
        },
        h("div", { class: "ia-buttons" }, first, back, isStill ? null : play, next, last, number),
        said,
        h("h3", {}, "Banks, and the lane that each serves"), banks,
        h("h3", {}, "Lanes"), lanes,
        h("h3", {}, "All wavefronts"), overview.element,
        h("details", {}, h("summary", {}, "The words of this wavefront, as a list"), words)),
        ui.command(commandOf(access, state)));
      show();
    }

    addEventListener("hashchange", () => {
      rows = [];
      stop();
      state = read();
      drawControls();
      draw();
    });
    drawControls();
    draw();
  }

  /** One line per wavefront, one mark per bank; a click or a key selects it. */
  function overviewOf({ frames, table }, go) {
    const lines = frames.map(({ phase, pass, words }, step) =>
      h("button", {
        type: "button", "data-frame": step, tabindex: -1,
        "aria-label": `wavefront ${step + 1}: phase ${phase.number}, pass ${pass + 1} of ${phase.degree}`,
        class: pass === 0 && step > 0 ? "ia-top" : null,
        onclick: () => go(step),
      },
      h("span", { class: "ia-line" }, pass === 0 ? `phase ${phase.number}` : ""),
      h("span", { class: "ia-marks" }, words.map((word) => h("i", { class: word ? `ia-g${word.lanes[0] % 8} ia-on` : null })))));
    return {
      element: h("div", { class: "ia-overview", role: "group", "aria-label": `${count(table.wavefronts, "wavefront")}, each with its 32 banks` }, lines),
      mark(step) {
        lines.forEach((line, i) => {
          line.classList.toggle("ia-here", i === step);
          if (i === step) line.setAttribute("aria-current", "step");
          else line.removeAttribute("aria-current");
        });
      },
    };
  }

  function listOf({ words }) {
    const lines = words.flatMap((word, bank) => (word ? [{ bank, ...word }] : []));
    return h("div", { class: "ia-scroll" }, h("table", {},
      h("thead", {}, h("tr", {}, ["bank", "bytes", "lanes"].map((name) => h("th", { scope: "col" }, name)))),
      h("tbody", {}, lines.map(({ bank, row, lanes }) => {
        const first = row * 128 + bank * 4;
        return h("tr", {}, h("td", {}, bank), h("td", {}, span(first, first + 3)), h("td", {}, lanes.join(", ")));
      }))));
  }

  const lanesOf = ({ lanes }) => span(lanes[0], lanes.at(-1));

  function phasesOf({ phases }) {
    const degrees = phases.map((phase) => phase.degree);
    return `${phases.length}, of degree ${[...new Set(degrees)].length === 1 ? degrees[0] : degrees.join(" + ")}`;
  }

  /** Which lanes are served together, and why. */
  function merging({ access, bytes, offsets, lanesInAPhase }, { phases }) {
    const lanes = phases[0].lanes.length;
    const group = access === "matrix"
      ? "A matrix access has a phase for each matrix: 8 rows of 16 bytes. It never merges."
      : `${count(bytes, "byte")} a lane: ${count(lanesInAPhase, "lane")} access at most 128 bytes and make a phase.`;
    if (access === "matrix" || bytes < 8) return group;
    if (access === "store") return `${group} Stores never merge phases.`;
    if (lanes <= lanesInAPhase) {
      return `${group} Two phases would merge if, over the whole warp, all lanes i and i^1, or all lanes i and i^2, had the same address; here neither is so.`;
    }
    const isShared = (lane) => [offsets[lane], offsets[lane ^ 1]].includes(null) || offsets[lane] === offsets[lane ^ 1];
    const pairs = WARP.every(isShared) ? "neighbors (i and i^1)" : "lanes two apart (i and i^2)";
    return `${group} Over the whole warp, ${pairs} have the same address: two phases merge into one of ${lanes} lanes.`;
  }

  function sentence({ access, table, frames }, step) {
    const frame = frames[step];
    if (!frame) return "No lane takes part. The instruction takes one wavefront all the same.";
    const { phase, pass, words } = frame;
    const busy = words.filter(Boolean).length;
    const { conflict } = phase;
    const lanes = [...served(frame)].sort((a, b) => a - b);
    const many = lanes.length > 8 ? `${lanes.length} lanes` : `lane${lanes.length > 1 ? "s" : ""} ${lanes.join(", ")}`;
    const which = table.phases.length > 1 ? `Phase ${phase.number} (lanes ${lanesOf(phase)}), pass` : "Pass";
    const told = `${which} ${pass + 1} of ${phase.degree}: ${count(busy, "bank")} of 32 ${busy === 1 ? "serves" : "serve"} ${many}.`;
    if (!conflict) return access.bytes > 4 || phase.degree > 1 ? told : `${told} No bank has to serve two different words.`;
    return `${told} The phase needs ${phase.degree} because a bank has to serve ${phase.degree} words; lanes ${conflict.first} and ${conflict.second} are the first to meet, in bank ${conflict.bank}.`;
  }

  function commandOf({ op, bytes }, { addresses }) {
    const row = `${op},${bytes},${addresses.replaceAll(",", " ")}`;
    return `printf 'op,bytes_per_lane,byte_offset_per_lane\\n${row}\\n' > access.csv\ncargo ladder banks access.csv --draw 1`;
  }

  globalThis.gemm.player = { PRESETS, DEFAULTS, offsetsOf, modelOf };
  ui.mount("wavefront_player", start);
})();
