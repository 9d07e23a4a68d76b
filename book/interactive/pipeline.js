// The pipeline: the predicted timeline of an SM's warps over two steps of rung 06, for a number of stages, a latency and a
// multiply time that the reader sets.
(() => {
  "use strict";
  const { ui, places, live } = globalThis.gemm;
  const { h } = ui;

  const DEFAULTS = { stages: 3, latency: 100, multiply: 100, size: 1024, at: 500 };
  const ALLOWED = { stages: [1, 2, 3, 4, 5, 6], size: [1024, 2048] };
  const BOUNDS = { stages: [1, 6, 1], latency: [50, 500, 50], multiply: [25, 400, 25], at: [0, 1000, 1] };
  const RUNG = "06_pipeline";
  /** Horizontal resolution of the picture. */
  const PARTS = 1200;
  const TRIED = 6;

  // Activities of a warp, by ncu's stall reasons: a name, and its color in barriers_waves.css.
  const KINDS = [
    ["issues an instruction", ["selected"]],
    ["ready, another warp issues", ["not_selected"]],
    ["waits for arithmetic", ["wait", "math_pipe_throttle", "branch_resolving"]],
    ["waits for shared memory", ["short_scoreboard", "mio_throttle"]],
    ["waits for copies", ["long_scoreboard", "lg_throttle"]],
    ["waits for the other warps", ["barrier", "membar", "gmma"]],
  ];
  const kindOf = Object.fromEntries(KINDS.flatMap(([, reasons], kind) => reasons.map((reason) => [reason, kind])));

  function s(tag, attributes, ...children) {
    const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.append(...children);
    return element;
  }

  const kernelOf = (stages) => (stages === 3 ? null : `book/kernels/${RUNG}/${stages}_stage${stages === 1 ? "" : "s"}.ptx`);
  const clocks = (number) => Math.round(number).toLocaleString("en");
  const percent = (part) => `${(100 * part).toFixed(0)}%`;

  /** The constants that a state changes: [name, value]. */
  function constantsOf({ latency, interval }, state) {
    const times = state.latency / 100;
    return [
      ...(times === 1 ? [] : [["latency.dram", latency.dram * times], ["latency.l2", latency.l2 * times]]),
      ...(state.multiply === 100 ? [] : [["interval.mma_flop", interval.mma_flop * 100 / state.multiply]]),
    ];
  }

  /** The command whose output the figure draws. */
  function wordsOf(card, state) {
    const kernel = kernelOf(state.stages);
    return ["cargo", "run", "-p", `rung${RUNG}`, "--", "time", "--size", String(state.size), "--timeline", "-", "--json",
      ...(kernel ? ["--kernel", kernel] : []),
      ...constantsOf(card, state).flatMap(([name, value]) => ["--set", `${name}=${value}`])];
  }

  /** A warp's spans as runs of one kind; each slice of the picture shows the kind that takes most of it: [kind, first, end]. */
  function runsOf(spans, { from, to }) {
    const scale = PARTS / (to - from);
    const most = Array.from({ length: PARTS }, () => new Float64Array(KINDS.length));
    for (const span of spans) {
      const [begin, end] = [span.from, span.to].map((clock) => (Math.min(Math.max(clock, from), to) - from) * scale);
      for (let part = Math.floor(begin); part < end; part += 1) {
        most[part][kindOf[span.stall]] += Math.min(end, part + 1) - Math.max(begin, part);
      }
    }
    const runs = [];
    most.forEach((kinds, part) => {
      const kind = kinds.indexOf(Math.max(...kinds));
      if (kinds[kind] === 0) return;
      const last = runs.at(-1);
      if (last && last[0] === kind && last[2] === part) last[2] = part + 1;
      else runs.push([kind, part, part + 1]);
    });
    return runs;
  }

  /** How many of these are active in each slice of the picture. */
  function countsOf(activities, { from, to }) {
    const counts = new Float64Array(PARTS);
    const scale = PARTS / (to - from);
    for (const one of activities) {
      const [begin, end] = [one.from, one.to].map((clock) => Math.min(Math.max((clock - from) * scale, 0), PARTS));
      for (let part = Math.floor(begin); part < end; part += 1) counts[part] += Math.min(end, part + 1) - Math.max(begin, part);
    }
    return counts;
  }

  /** An area chart of one unit's utilization. */
  const area = (counts, most) => `M0 1${[...counts].map((count, part) => `V${(1 - count / most).toFixed(3)}H${part + 1}`).join("")}V1z`;

  const rows = (found) => {
    const warps = new Map();
    for (const span of found.spans.filter(({ sm }) => sm === 0)) {
      const key = `CTA ${span.cta}, warp ${span.warp}`;
      warps.set(key, [...(warps.get(key) ?? []), span]);
    }
    return [...warps].sort(([a], [b]) => a.localeCompare(b, "en", { numeric: true }));
  };

  /** The drawing and the sentences for an answer. */
  function readingOf(found) {
    const warps = rows(found).map(([name, spans]) => ({ name, spans, runs: runsOf(spans, found) }));
    const shares = new Float64Array(KINDS.length);
    for (const { spans } of warps) {
      for (const { stall, from, to } of spans) {
        shares[kindOf[stall]] += Math.max(0, Math.min(to, found.to) - Math.max(from, found.from));
      }
    }
    const all = shares.reduce((sum, share) => sum + share, 0);
    const of = (what) => countsOf(found.activities.filter((one) => one.sm === 0 && one.what === what), found);
    const [tensor, loads] = [of("tensor"), of("loads")];
    const sum = tensor.reduce((total, count) => total + Math.min(count / 4, 1), 0);
    return {
      warps, ctas: new Set(warps.map(({ spans: [{ cta }] }) => cta)).size, tensor, loads, shares: shares.map((share) => share / all),
      step: (found.to - found.from) / 2, busy: sum / PARTS, mostLoads: Math.max(1, ...loads),
    };
  }

  function start(root, ask) {
    const place = places.placeOf(root, "pipeline", DEFAULTS);
    const card = ask({ ask: "card" });
    const controls = h("form", { class: "ia-controls", "aria-label": "settings", onsubmit: (event) => event.preventDefault() });
    const bar = h("progress", { class: "pl-run", hidden: true, "aria-label": "CTAs emulated" });
    const status = h("p", { class: "ia-key", role: "status" });
    const shown = h("div", { class: "ia-shown" });
    const said = h("p", { class: "ia-said", "aria-live": "polite" });
    const tried = h("div", { class: "ia-scroll" });
    const sliders = {};
    const answers = new Map();
    let running = null;
    let waiting = 0;

    const read = () => {
      const found = ui.merged(place.usual, place.read(), ALLOWED);
      const isFine = Object.entries(BOUNDS).every(([name, [least, most, by]]) =>
        found[name] >= least && found[name] <= most && (found[name] - least) % by === 0);
      return isFine ? found : { ...place.usual };
    };
    let state = read();

    const texts = {
      stages: ({ stages }) => `Stages: ${stages}`,
      latency: (now) => {
        const [dram, l2] = [card.latency.dram, card.latency.l2].map((one) => clocks(one * now.latency / 100));
        return `Latency: ${now.latency / 100} × the card's, ${dram} clocks from DRAM, ${l2} from the L2`;
      },
      multiply: (now) => `Multiply time: ${now.multiply / 100} × the card's, ${clocks(16 * 8 * 16 * 2 * now.multiply / 100 / card.interval.mma_flop * 10) / 10} clocks an mma`,
    };

    function slider(name) {
      const [min, max, step] = BOUNDS[name];
      const text = h("span", {});
      const input = h("input", {
        type: "range", name, min, max, step, value: state[name],
        oninput: () => { state = { ...state, [name]: Number(input.value) }; settle(); },
      });
      sliders[name] = { input, text };
      return h("label", { class: "ia-field ia-wide" }, text, input);
    }

    const at = h("input", { type: "range", name: "at", min: 0, max: 1000, value: state.at, oninput: () => { state.at = Number(at.value); place.write(state); point(); } });
    const pointed = h("label", { class: "ia-field ia-wide", hidden: true }, h("span", {}, "Look at a clock"), at);
    controls.append(slider("stages"), slider("latency"), slider("multiply"),
      ui.choice({
        name: "size", label: "CTAs on an SM", options: [[1024, "one: a product of 1024"], [2048, "two, if they fit: 2048"]], value: state.size,
        onChange: (size) => { state = { ...state, size }; settle(); },
      }));
    root.append(controls, bar, status, shown, pointed, said, tried);

    /** Shows the controls' values, and runs the command when they have not changed for a moment. */
    function settle() {
      for (const [name, { input, text }] of Object.entries(sliders)) {
        input.value = state[name];
        text.textContent = texts[name](state);
        input.setAttribute("aria-valuetext", texts[name](state));
      }
      for (const one of controls.querySelectorAll("[name=size]")) one.checked = Number(one.value) === state.size;
      at.value = state.at;
      place.write(state);
      root.parentElement.setAttribute("aria-busy", "true");
      clearTimeout(waiting);
      running?.stop();
      waiting = setTimeout(run, 200);
    }

    async function run() {
      const words = wordsOf(card, state);
      const key = words.join(" ");
      if (!answers.has(key)) {
        const kernel = kernelOf(state.stages);
        bar.hidden = false;
        bar.removeAttribute("value");
        status.textContent = "The clock runs …";
        const mine = live.run({ ask: "command", words }, {
          bundles: [`rungs/${RUNG}`, ...(kernel ? [kernel] : [])],
          onProgress: (done, all) => { bar.max = all; bar.value = done; },
        });
        running = mine;
        try {
          const { out, code } = await mine.answer;
          if (code !== 0) throw Object.assign(new Error(out), { name: "Refused" });
          answers.set(key, { state: { ...state }, found: JSON.parse(out) });
        } catch (error) {
          // Another run has replaced it.
          if (error instanceof live.Stopped) return;
          shown.replaceChildren(h("pre", { class: "ia-error", role: "alert" }, error.message));
          status.textContent = "";
          rest();
          return;
        }
      } else {
        // The latest one is the first in the table.
        const again = answers.get(key);
        answers.delete(key);
        answers.set(key, again);
      }
      draw(answers.get(key).found);
      rest();
    }

    function rest() {
      running = null;
      bar.hidden = true;
      root.parentElement.removeAttribute("aria-busy");
    }

    let drawn = null;

    function draw(found) {
      const reading = readingOf(found);
      drawn = { found, reading };
      const { warps, tensor, loads, shares, step, busy, mostLoads } = reading;
      const height = warps.length + 3.4;
      const paths = KINDS.map(() => "");
      warps.forEach(({ runs }, row) => {
        for (const [kind, first, end] of runs) paths[kind] += `M${first} ${row + 0.08}h${end - first}v0.84h${first - end}z`;
      });
      const svg = s("svg", { viewBox: `0 0 ${PARTS} ${height}`, preserveAspectRatio: "none", "aria-hidden": "true" },
        ...paths.map((d, kind) => s("path", { class: `pl-${kind}`, d })),
        s("g", { transform: `translate(0 ${warps.length + 0.4})` }, s("path", { class: "pl-unit", "data-unit": "tensor", d: area(tensor.map((count) => Math.min(count, 4)), 4) })),
        s("g", { transform: `translate(0 ${warps.length + 1.8}) scale(1 1.6)` }, s("path", { class: "pl-unit", "data-unit": "loads", d: area(loads, mostLoads) })),
        s("rect", { class: "pl-here", x: 0, y: 0, width: 1, height }));
      const name = `Two steps of ${step.toFixed(0)} clocks each of ${ui.count(warps.length, "warp")}: tensor cores busy for ${percent(busy)}, warps wait for copies for ${percent(shares[4])} of their time`;
      shown.replaceChildren(
        ui.facts([
          ["clocks a step", clocks(step)], ["tensor cores busy in it", percent(busy)],
          ["CTAs that fit on an SM", found.time.resident], ["clocks of the launch", clocks(found.time.clocks)],
        ]),
        h("div", { class: "pl-picture" },
          h("div", { class: "pl-names", "aria-hidden": "true", style: `--rows: ${height}` },
            warps.map((warp, row) => h("span", { style: `--row: ${row}` }, warp.name)),
            h("span", { style: `--row: ${warps.length + 0.4}` }, "tensor cores"),
            h("span", { style: `--row: ${warps.length + 2.2}` }, "copies in flight")),
          h("div", {
            class: "pl-time", role: "img", "aria-label": name, style: `--rows: ${height}`,
            onclick: (event) => {
              const box = svg.getBoundingClientRect();
              state.at = Math.round(Math.min(Math.max((event.clientX - box.left) / box.width, 0), 1) * 1000);
              at.value = state.at;
              place.write(state);
              point();
            },
          }, svg)),
        h("ul", { class: "pl-key" }, KINDS.map(([text], kind) => h("li", { "data-kind": kind }, h("i", { class: `pl-${kind}` }), `${text}: ${percent(shares[kind])}`))));
      status.textContent = "";
      pointed.hidden = false;
      point();
      list();
    }

    /** Describes each warp at the selected clock. */
    function point() {
      const { found, reading } = drawn;
      const clock = found.from + (found.to - found.from) * state.at / 1000;
      shown.querySelector(".pl-here").setAttribute("x", Math.min(state.at / 1000 * PARTS, PARTS - 1));
      const doing = new Map();
      for (const { name, spans } of reading.warps) {
        const span = spans.find(({ from, to }) => from <= clock && clock < to);
        const text = span ? `${KINDS[kindOf[span.stall]][0]} (${span.stall})` : "has nothing to do";
        doing.set(text, [...(doing.get(text) ?? []), name]);
      }
      const copies = found.activities.filter(({ sm, what, from, to }) => sm === 0 && what === "loads" && from <= clock && clock < to).length;
      const number = clocks(clock - found.from);
      at.setAttribute("aria-valuetext", `clock ${number}`);
      said.textContent = `Clock ${number} of ${clocks(found.to - found.from)}: ${[...doing].map(([text, names]) => `${names.join("; ")}: ${text}`).join(". ")}. ${ui.count(copies, "copy instruction")} in flight.`;
    }

    /** Settings tried so far, the latest first. */
    function list() {
      const all = [...answers.values()].reverse().slice(0, TRIED);
      const head = ["stages", "latency", "multiply time", "product", "CTAs on an SM", "clocks a step", "clocks of the launch", "tensor cores"];
      tried.replaceChildren(h("table", { class: "pl-tried" },
        h("caption", {}, "What you have tried, the latest first"),
        h("thead", {}, h("tr", {}, head.map((text) => h("th", { scope: "col" }, text)))),
        h("tbody", {}, all.map(({ state: one, found }) => {
          const { step, busy, ctas } = readingOf(found);
          return h("tr", {}, [one.stages, `× ${one.latency / 100}`, `× ${one.multiply / 100}`, one.size, ctas, clocks(step), clocks(found.time.clocks), percent(busy)].map((text) => h("td", {}, text)));
        }))));
    }

    place.onChange(() => {
      state = read();
      settle();
    });
    // It takes seconds of CPU time, so it waits until the figure is visible.
    const seen = new IntersectionObserver((entries) => {
      if (!entries.some((entry) => entry.isIntersecting)) return;
      seen.disconnect();
      settle();
    });
    for (const [name, { text }] of Object.entries(sliders)) text.textContent = texts[name](state);
    seen.observe(root);
  }

  ui.mount("pipeline", start);
})();
