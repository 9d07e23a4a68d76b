// An mbarrier, operation by operation, forwards and back; the engine computes the state after each.
(() => {
  "use strict";
  const { ui, places } = globalThis.gemm;
  const { h, count: counted } = ui;

  // As in the address: a letter and a number, separated by commas. The names are those of PTX.
  const OPERATIONS = {
    x: ["arrive_expect_tx", (bytes) => `arrive.expect_tx ${bytes}`],
    e: ["expect_tx", (bytes) => `expect_tx ${bytes}`],
    c: ["complete_tx", (bytes) => `${bytes} bytes land`],
    a: ["arrive", (arrivals) => (arrivals === 1 ? "arrive" : `arrive, ${arrivals}`)],
    w: ["wait", (parity) => `wait(${parity})`],
  };
  const WRITTEN = /^([xecaw]\d{1,9}(,[xecaw]\d{1,9}){0,63})?$/;
  const PRESETS = [
    ["a stage of rung 09", 1, "w0,x32768,c16384,c8192,c8192,w0,x32768,c32768,w1"],
    ["too many bytes announced: hangs", 1, "x49152,c16384,c8192,c8192,w0"],
    ["too few announced: passes early, then hangs", 1, "x16384,c16384,w0,c8192,c8192,x16384,c16384,c8192,c8192,x16384,w0"],
    ["the empty barrier of rung 11", 2, "w1,a1,w0,a1,w0,a1,a1,w1"],
    ["expect, then arrive", 1, "e32768,c32768,w0,a1,w0"],
    ["arrive, then expect", 1, "a1,w0,e32768,w1"],
  ];
  const DEFAULTS = { count: 1, ops: PRESETS[0][2], at: 0 };
  const MOST = 64;

  const partsOf = (ops) => (ops === "" ? [] : ops.split(","));
  const wordsOf = (part) => OPERATIONS[part[0]][1](Number(part.slice(1)));

  /** The states, beginning with that after init; each with whether wait(0) and wait(1) pass. An error ends the list. */
  function statesOf(ask, { count }, parts) {
    const waits = [{ wait: 0 }, { wait: 1 }];
    const operations = parts.flatMap((part) => [{ [OPERATIONS[part[0]][0]]: Number(part.slice(1)) }, ...waits]);
    const { states } = ask({ ask: "mbarrier", count, operations: [...waits, ...operations] });
    return states.flatMap((state, i) => {
      if (i % 3 !== 0) return [];
      return [{ ...state, waits: [states[i + 1]?.passes, states[i + 2]?.passes] }];
    });
  }

  /** A sentence about the state after an operation. */
  function sentence(state, part) {
    if (state.error) return `This is an error: ${state.error}.`;
    const hangs = state.stuck && part?.[0] === "w" && !state.passes;
    const what = part === null ? "init" : wordsOf(part);
    const did = state.completes ? "it completes the phase" : state.passes === undefined ? null : state.passes ? "it passes" : "it waits";
    const why = hangs
      ? ` No arrival is pending, so only bytes can complete this phase: unless ${state.bytes > 0 ? `exactly ${counted(state.bytes, "byte")} more arrive` : "the surplus bytes are expected later"}, this wait never ends.`
      : "";
    return `${what}${did ? `: ${did}` : ""}. Now ${state.words}.${why}`;
  }

  function start(root, ask) {
    const place = places.placeOf(root, "mbarrier", DEFAULTS);
    const controls = h("form", { class: "ia-controls", "aria-label": "settings", onsubmit: (event) => event.preventDefault() });
    const said = h("p", { class: "ia-said", "aria-live": "polite" });
    const shown = h("div", { class: "ia-shown" });
    root.append(controls, said, shown);
    const amounts = { announced: 32768, landed: 16384 };

    function read() {
      const found = ui.merged(place.usual, place.read());
      const isFine = WRITTEN.test(found.ops) && found.count >= 1 && found.count < 1 << 20;
      return isFine ? found : { ...place.usual };
    }
    let state = read();

    function set(change) {
      state = { ...state, ...change };
      draw();
    }
    const move = (by) => set({ at: Math.min(Math.max(state.at + by, 0), partsOf(state.ops).length) });
    /** Performs an operation here; later ones are dropped. */
    const does = (part) => {
      const parts = partsOf(state.ops).slice(0, state.at);
      if (parts.length < MOST) set({ ops: [...parts, part].join(","), at: parts.length + 1 });
    };

    root.addEventListener("keydown", (event) => {
      const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (!by || event.target.matches("input") || event.altKey || event.ctrlKey || event.metaKey) return;
      // mdBook turns pages with the same keys.
      event.preventDefault();
      event.stopPropagation();
      move(by);
    });

    const button = (data, name, text, then) => h("button", { type: "button", ...data, "aria-label": name, onclick: then }, text);

    function drawControls() {
      const amount = (name, label) => ui.numberField({
        name, label, min: 0, max: 999999, value: amounts[name], onChange: (value) => { amounts[name] = value; },
      });
      const operation = (name, text, part) => button({ "data-do": name }, null, h("code", {}, text), () => does(part()));
      controls.replaceChildren(
        h("div", { class: "ia-presets", role: "group", "aria-label": "examples" }, PRESETS.map(([text, count, ops]) => h("button", {
          type: "button", "data-preset": text,
          onclick: () => { state = { count, ops, at: 0 }; drawControls(); draw(); controls.querySelector(`[data-preset="${text}"]`).focus(); },
        }, text))),
        h("div", { class: "ia-buttons", role: "group", "aria-label": "steps" },
          button({ "data-step": "back" }, "one operation back", "← Back", () => move(-1)),
          button({ "data-step": "on" }, "the next operation", "Next →", () => move(1)),
          h("output", {})),
        h("div", { class: "ia-row" },
          ui.numberField({ name: "count", label: "Arrivals of a phase", min: 1, max: (1 << 20) - 1, value: state.count, onChange: (count) => set({ count }) }),
          amount("announced", "Bytes to announce"), amount("landed", "Bytes of a copy")),
        h("div", { class: "ia-presets", role: "group", "aria-label": "do something else from here" }, h("span", {}, "Instead, from here:"),
          button({ "data-do": "init" }, null, h("code", {}, "init"), () => set({ ops: "", at: 0 })),
          operation("x", "arrive.expect_tx", () => `x${amounts.announced}`),
          operation("e", "expect_tx", () => `e${amounts.announced}`),
          operation("c", "a copy lands", () => `c${amounts.landed}`),
          operation("a", "arrive", () => "a1"),
          operation("w0", "wait(0)", () => "w0"),
          operation("w1", "wait(1)", () => "w1")));
    }

    function draw() {
      const parts = partsOf(state.ops);
      let states;
      try {
        states = statesOf(ask, state, parts);
      } catch (error) {
        said.replaceChildren();
        shown.replaceChildren(ui.refusal(error));
        return;
      }
      // After an error nothing happens.
      const end = states.length - 1;
      state.at = Math.min(Math.max(state.at, 0), end);
      place.write(state);
      const { at } = state;
      for (const one of controls.querySelectorAll("[data-preset]")) {
        const [, count, ops] = PRESETS.find(([text]) => text === one.dataset.preset);
        one.setAttribute("aria-pressed", String(count === state.count && ops === state.ops));
      }
      controls.querySelector("[data-step=back]").setAttribute("aria-disabled", String(at === 0));
      controls.querySelector("[data-step=on]").setAttribute("aria-disabled", String(at === end));
      controls.querySelector("output").textContent = `${at} of ${end}`;
      const now = states[at];
      const part = at === 0 ? null : parts[at - 1];
      const isHung = now.stuck && part?.[0] === "w" && !now.passes;
      said.textContent = sentence(now, part);
      said.classList.toggle("mb-bad", Boolean(now.error) || isHung);
      const passes = (one) => (one === undefined ? "–" : one ? "passes" : "waits");
      shown.replaceChildren(
        ui.facts([["phase", now.phase], ["parity", now.parity], ["pending arrivals", `${now.pending} of ${now.expected}`], ["bytes pending", now.bytes],
          ["wait(0)", passes(now.waits[0])], ["wait(1)", passes(now.waits[1])]]),
        h("div", { class: "ia-scroll", tabindex: "0", role: "region", "aria-label": "all operations so far and to come" },
          h("table", { class: "mb-steps" },
            h("thead", {}, h("tr", {}, ["operation", "arrivals", "bytes", "phase", "wait(0)", "wait(1)"].map((text) => h("th", { scope: "col" }, text)))),
            h("tbody", {}, states.map((one, i) => h("tr", {
              "data-at": i, "aria-current": i === at ? "step" : null, class: i > at ? "mb-later" : null, onclick: () => set({ at: i }),
            },
            h("th", { scope: "row" }, h("code", {}, i === 0 ? `init ${state.count}` : wordsOf(parts[i - 1])), one.completes ? " ✓" : one.error ? " ✗" : ""),
            [one.pending, one.bytes, one.phase, passes(one.waits[0]), passes(one.waits[1])].map((text) => h("td", {}, text))))))),
        h("p", { class: "ia-key" }, "✓ completes a phase. A click on a row goes there; the arrow keys go back and on."));
    }

    place.onChange(() => {
      state = read();
      drawControls();
      draw();
    });
    drawControls();
    draw();
  }

  ui.mount("mbarrier", start);
})();
