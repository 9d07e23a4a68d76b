// The kernel stepper: a rung's first CTA, instruction by instruction, forwards and back, with the state of its warps, its shared
// memory, its barriers and its copies. The engine runs it in a worker; steps.js computes the state after a step.
(() => {
  "use strict";
  const { ui, live, places, steps } = globalThis.gemm;
  const { h, count: counted, range } = ui;

  const DEFAULTS = { rung: "02_smem", kernel: "", size: "", step: 0, lane: 0, by: "line", view: "writer", at: "" };
  const SIZES = ["128x128x16", "128x128x32", "128x128x64", "128x128x128", "128x128x256"];
  /** The number of steps that are kept; a phone holds them in memory. */
  const MOST = 20000;
  const EDITS = "book/kernels/edits.json";
  const COPY = 100;

  /** Rungs without tensor cores take the most steps, so one or two tiles along K are enough. */
  const sizeOf = ({ rung, size }) => size || (/^0[1-3]/.test(rung) ? SIZES[0] : SIZES[3]);

  /** The rung's source with the changes of a variant, and which lines were changed. */
  function sourceOf(text, edits) {
    const lines = text.replace(/\n$/, "").split("\n");
    const changed = new Set();
    const result = [];
    let next = 0;
    for (const [at, removed, inserted] of edits) {
      result.push(...lines.slice(next, at));
      for (const line of inserted === "" ? [] : inserted.replace(/\n$/, "").split("\n")) {
        result.push(line);
        changed.add(result.length);
      }
      if (inserted === "") changed.add(result.length + 1);
      next = at + removed;
    }
    result.push(...lines.slice(next));
    return { lines: result, changed };
  }

  // ---- Operands ---------------------------------------------------------------------------------------

  const float = new DataView(new ArrayBuffer(8));
  const short = (number) => (Number.isInteger(number) ? String(number) : String(Number(number.toPrecision(6))));
  function f32(word) {
    float.setUint32(0, word);
    return short(float.getFloat32(0));
  }
  function f16(half) {
    const [sign, exponent, fraction] = [half >> 15 ? -1 : 1, half >> 10 & 31, half & 1023];
    const magnitude = exponent === 0 ? fraction * 2 ** -24
      : exponent === 31 ? (fraction ? NaN : Infinity) : (1 + fraction / 1024) * 2 ** (exponent - 15);
    return short(sign * magnitude);
  }

  /** The PTX operands of an instruction, each with the registers in it. */
  function written(ptx) {
    const inner = ptx.replace(/^@!?%?\w+\s+/, "").replace(/^\S+\s*/, "");
    return inner.match(/\{[^}]*\}|\[[^\]]*\]|[^,\s]+/g) ?? [];
  }
  const registers = (text) => text?.match(/%\w+/g) ?? [];

  /** The position of an operand among them. */
  function nameOf(opcode, ptx, [role, number]) {
    const all = written(ptx);
    const isStore = /^(st|stmatrix|cp)\b/.test(opcode);
    const place = { address: isStore ? 0 : 1, value: isStore ? 1 : 0, d: 0, a: 1, b: 2, c: 3 }[role];
    const text = all[place];
    return role === "address" ? text ?? "" : registers(text)[number] ?? registers(text)[0] ?? "";
  }

  /** Its value, interpreted by the types that the instruction names. */
  function meaningOf(model, opcode, [role, number, bytes], digits) {
    const word = parseInt(digits.slice(-8), 16);
    if (role === "address") {
      const isShared = /shared|matrix/.test(opcode);
      if (!isShared) return "global memory";
      const byte = word - model.base;
      return `byte ${byte}, bank ${(byte >> 2) % 32}`;
    }
    if (role === "coordinate") return `${["column", "row"][number] ?? "coordinate"} ${word | 0}`;
    if (bytes === 8) return opcode.startsWith("wgmma") ? "descriptor" : "";
    const types = opcode.match(/\.(f16|bf16|f32|s32|u32|b32|u16|b16)\b/g) ?? [];
    const type = opcode.startsWith("mma") ? types["dabc".indexOf(role)] : types.at(-1);
    if (bytes === 2) return `f16 ${f16(word & 0xffff)}`;
    if (type === ".f32") return `f32 ${f32(word)}`;
    if (type === ".s32") return `${word | 0}`;
    return `f16 ${f16(word & 0xffff)}, ${f16(word >>> 16)}`;
  }

  /** A row of the table of operands: which register it is, and what it means. */
  function describe(ask, model, at, lane) {
    const { i, w } = model.steps[at];
    const { ptx } = model.instructions[i];
    const opcode = model.opcodes[i];
    if (!opcode.startsWith("wgmma.wait_group")) {
      return (operand, digits) => [nameOf(opcode, ptx, operand), meaningOf(model, opcode, operand, digits)];
    }
    const accumulators = steps.accumulatorsOf(model, at);
    const thread = 32 * (w % 4) + lane;
    const places = new Map();
    const placesOf = (shape) => {
      if (!places.has(shape)) places.set(shape, ask({ ask: "fragment", shape, operand: "c" }).at[thread]);
      return places.get(shape);
    };
    return ([, number], digits) => {
      const { register, number: own, shape, type } = accumulators[number];
      const isPacked = type === "f16";
      const [row, column] = placesOf(shape.replace(/k\d+$/, "k16"))[isPacked ? 2 * own : own];
      const word = parseInt(digits, 16);
      const value = isPacked ? `f16 ${f16(word & 0xffff)}, ${f16(word >>> 16)}` : type === "s32" ? `${word | 0}` : `f32 ${f32(word)}`;
      return [register, `${value}: row ${row}, column ${column}`];
    };
  }

  // ---- The page ---------------------------------------------------------------------------------------

  function start(root, ask) {
    const names = ask({ ask: "rungs" }).rungs;
    const place = places.placeOf(root, "stepper", DEFAULTS);
    const isStill = matchMedia("(prefers-reduced-motion: reduce)").matches;
    const button = (data, name, text, then) => h("button", { type: "button", ...data, "aria-label": name, onclick: then }, text);

    let kernels = {};
    let model = null;
    let source = { lines: [], changed: new Set() };
    let running = null;
    let timer = null;
    let word = null;
    /** What the address asks for and is not there, as a sentence. */
    let missing = "";

    function read() {
      const asked = place.read();
      const found = ui.merged(place.usual, asked, { rung: names, by: ["line", "instruction"], view: ["writer", "touched"] });
      const variant = Object.hasOwn(kernels, found.kernel) ? kernels[found.kernel] : null;
      const unknown = [
        ...(found.kernel !== "" && !variant ? [`kernel ${found.kernel}`] : []),
        ...(asked.rung !== undefined && asked.rung !== found.rung ? [`rung ${asked.rung}`] : []),
      ];
      missing = unknown.length === 0 ? "" : `There is no ${unknown.join(" and no ")}: this is the kernel of rung ${found.rung}.`;
      if (variant) found.rung = variant.rung;
      else found.kernel = "";
      if (!/^\d{1,4}x\d{1,4}x\d{1,4}$/.test(found.size)) found.size = "";
      found.lane = Math.min(Math.max(found.lane, 0), 31);
      found.step = Math.max(found.step, 0);
      return found;
    }
    let state = null;

    const controls = h("form", { class: "ia-controls", "aria-label": "kernel", onsubmit: (event) => event.preventDefault() });
    const said = h("p", { class: "ia-said", "aria-live": "polite" });
    const slider = h("input", {
      type: "range", name: "step", min: 0, max: 0, oninput: () => go(Number(slider.value)),
    });
    const where = h("output", {});
    const play = isStill ? null : button({ "data-step": "play" }, "play", "play", () => (timer ? halt() : run()));
    const moves = h("div", { class: "ia-buttons", role: "group", "aria-label": "steps" },
      button({ "data-step": "first" }, "the first step", "Start", () => go(0)),
      button({ "data-step": "back" }, "one step back", "← Back", () => move(-1)),
      play,
      button({ "data-step": "on" }, "the next step", "Next →", () => move(1)),
      button({ "data-step": "barrier" }, "to the next barrier or wait", "Next barrier (n)", () => barrier(1)),
      button({ "data-step": "finding" }, "to the first finding", "First finding (f)", finding),
      where);
    const code = h("div", { class: "st-code", tabindex: 0, role: "region", "aria-label": "kernel.cu, with the line of each warp" });
    const map = h("canvas", { class: "st-map", role: "img", onclick: pick });
    const mapped = h("div", { class: "st-scroll", tabindex: 0, role: "region", "aria-label": "shared memory" }, map);
    const key = h("p", { class: "ia-key" });
    const access = h("div", { class: "st-access" });
    const operands = h("div");
    const warps = h("div");
    const waits = h("div");
    const found = h("div");
    const shown = h("div", { class: "st-shown" },
      moves, h("label", { class: "ia-field" }, h("span", {}, "Step"), slider), said, found,
      h("div", { class: "fig-sides" },
        h("div", {}, h("h3", {}, "kernel.cu"), code),
        h("div", {}, h("h3", {}, "Shared memory, a row for all 32 banks"), viewChoice(), mapped, key, access)),
      h("div", { class: "fig-sides" },
        h("div", {}, h("h3", {}, "Warps"), warps),
        h("div", {}, h("h3", {}, "Operands of a lane"), operands, h("h3", {}, "Barriers, and what is in flight"), waits)));
    root.append(controls, shown);
    shown.hidden = true;

    function viewChoice() {
      return ui.selectField({
        name: "view", label: "Color", value: place.read().view ?? DEFAULTS.view,
        options: [["writer", "last writer of each word"], ["touched", "how often each word was loaded or stored"]],
        onChange: (view) => set({ view }),
      });
    }

    root.addEventListener("keydown", (event) => {
      if (event.altKey || event.ctrlKey || event.metaKey || event.target.matches("input[type=number], select, textarea")) return;
      const does = {
        ArrowLeft: () => move(-1), ArrowRight: () => move(1), Home: () => go(0), End: () => go(model.steps.length - 1),
        n: () => barrier(1), p: () => barrier(-1), f: finding,
      }[event.key];
      if (!does || !model) return;
      // mdBook turns pages with the same keys.
      event.preventDefault();
      event.stopPropagation();
      does();
    });

    // ---- Which kernel -----------------------------------------------------------------------------------

    function drawControls() {
      const variants = Object.keys(kernels).filter((name) => kernels[name].rung === state.rung);
      const sizes = [...new Set([...SIZES, sizeOf(state)])];
      const stop = button({ class: "ia-stop", "data-do": "stop" }, null, "Stop", () => running?.stop());
      stop.disabled = true;
      const bar = h("progress", { hidden: true, "aria-label": "the CTA runs" });
      controls.replaceChildren(h("div", { class: "ia-row" },
        ui.selectField({
          name: "rung", label: "Rung", value: state.rung, options: names.map((name) => [name, name]),
          onChange: (rung) => choose({ rung, kernel: "", size: "" }),
        }),
        ui.selectField({
          name: "kernel", label: "Kernel", value: state.kernel, options: [["", "the rung's own"], ...variants.map((name) => [name, name.replaceAll("_", " ")])],
          onChange: (kernel) => choose({ kernel, size: "" }),
        }),
        ui.selectField({
          name: "size", label: "M × N × K", value: sizeOf(state), options: sizes.map((size) => [size, size]),
          onChange: (size) => choose({ size }),
        }),
        ui.selectField({
          name: "by", label: "A step is", value: state.by, options: [["line", "a line of a warp"], ["instruction", "an instruction"]],
          onChange: (by) => set({ by }),
        }),
        ui.numberField({ name: "lane", label: "Lane", min: 0, max: 31, value: state.lane, onChange: (lane) => set({ lane }) }), stop, bar),
      h("p", { class: "ia-error", role: "alert", hidden: true }));
    }

    function choose(change) {
      state = { ...state, ...change, step: 0, at: "" };
      missing = "";
      const name = document.activeElement?.name;
      load();
      if (name) controls.querySelector(`[name="${name}"]`)?.focus();
    }

    async function load() {
      halt();
      running?.stop();
      drawControls();
      word = null;
      root.setAttribute("aria-busy", "true");
      const bar = controls.querySelector("progress");
      const stop = controls.querySelector(".ia-stop");
      bar.hidden = false;
      stop.disabled = false;
      const { rung, kernel } = state;
      const folder = `rungs/${rung}`;
      const file = kernel && `book/kernels/${kernel}.ptx`;
      const bundles = [folder, ...(file ? [file] : [])];
      const words = ["cargo", "run", "-p", `rung${rung}`, "--", "--size", sizeOf(state), ...(file ? ["--kernel", file] : [])];
      const mine = live.run({ ask: "steps", words, most: MOST }, { bundles });
      running = mine;
      let error = missing;
      try {
        const [answer, files] = await Promise.all([mine.answer, live.files([folder])]);
        if (running !== mine) return;
        model = steps.modelOf(answer);
        const text = answer.source ?? files[`${folder}/kernel.cu`];
        source = sourceOf(text, kernel ? kernels[kernel].edits : []);
        const to = state.at === "" ? state.step : steps.placeOf(model, state.at);
        if (to === null) error = state.at === "finding" ? "There is no finding here." : `No step begins with ${state.at}.`;
        state.step = Math.min(to ?? 0, model.steps.length - 1);
        state.at = "";
        slider.max = model.steps.length - 1;
        drawCode();
        shown.hidden = false;
        draw();
      } catch (failed) {
        if (running !== mine) return;
        shown.hidden = true;
        model = null;
        error = failed instanceof live.Stopped ? "Stopped." : `It did not run: ${failed.message}`;
      }
      bar.hidden = true;
      stop.disabled = true;
      complain(error);
      root.removeAttribute("aria-busy");
    }

    function complain(error) {
      const alert = controls.querySelector("[role=alert]");
      alert.textContent = error;
      alert.hidden = error === "";
    }

    // ---- Moving -----------------------------------------------------------------------------------------

    function set(change) {
      state = { ...state, ...change };
      if (model) draw();
    }
    const go = (step) => set({ step: Math.min(Math.max(step, 0), model.steps.length - 1) });
    const lineAt = (step) => {
      const { i, w } = model.steps[step];
      return `${w} ${model.instructions[i].file} ${model.instructions[i].line}`;
    };
    /** Goes to the next step; by lines, to the last step of a warp's next line, so that the line has been executed. */
    function move(by) {
      const end = model.steps.length - 1;
      let step = Math.min(Math.max(state.step + by, 0), end);
      if (state.by === "line") {
        if (by < 0) while (step > 0 && lineAt(step) === lineAt(state.step)) step -= 1;
        else while (step < end && lineAt(step + 1) === lineAt(step)) step += 1;
      }
      go(step);
    }
    function barrier(by) {
      let step = state.step + by;
      while (step > 0 && step < model.steps.length - 1 && !steps.isBarrier(model, model.steps[step])) step += by;
      go(step);
    }
    function finding() {
      const first = steps.findingOf(model);
      if (first !== null && first.step !== null) go(first.step);
    }
    function halt() {
      clearInterval(timer);
      timer = null;
      if (play) play.textContent = "play";
    }
    function run() {
      timer = setInterval(() => {
        if (state.step >= model.steps.length - 1 || !root.isConnected) halt();
        else move(1);
      }, 350);
      play.textContent = "pause";
    }

    // ---- Drawing ----------------------------------------------------------------------------------------

    function drawCode() {
      code.replaceChildren(h("ol", {}, source.lines.map((text, at) => h("li", {
        "data-line": at + 1, class: source.changed.has(at + 1) ? "st-changed" : null,
      }, h("span", { class: "st-gutter" }), h("code", {}, text === "" ? " " : text)))));
    }

    /** Redraws a part; the keyboard focus stays in the figure. */
    function redraw(part, ...children) {
      const had = part.contains(document.activeElement) ? document.activeElement : null;
      part.replaceChildren(...children);
      if (!had) return;
      const same = had.dataset.next && part.querySelector(`[data-next="${had.dataset.next}"]`);
      (same || moves.querySelector("[data-step=on]")).focus({ preventScroll: true });
    }

    const swatch = (who) => h("i", { class: `st-swatch ${who === COPY ? "st-copy" : `ia-g${who % 8}`}` });

    function draw() {
      place.write(state);
      const now = steps.stateAt(model, state.step);
      const step = model.steps[state.step];
      const instruction = model.instructions[step.i];
      slider.value = state.step;
      const { executed } = model;
      const cut = executed > model.steps.length ? `, of ${executed} that it executes` : "";
      where.textContent = `step ${state.step} of ${model.steps.length - 1}${cut}`;
      const first = steps.findingOf(model);
      moves.querySelector("[data-step=finding]").setAttribute("aria-disabled", String(!first || first.step === null));
      moves.querySelector("[data-step=back]").setAttribute("aria-disabled", String(state.step === 0));
      moves.querySelector("[data-step=on]").setAttribute("aria-disabled", String(state.step === model.steps.length - 1));
      const at = drawAccess(step);
      const text = sentence(now, step, instruction, at);
      said.textContent = text;
      slider.setAttribute("aria-valuetext", text);
      drawFinding(first);
      drawLines(now, step);
      drawMap(now);
      drawOperands(step);
      drawWarps(now, step);
      drawWaits(now);
    }

    function sentence(now, step, { ptx, line, file }, at) {
      const lanes = steps.lanesOf(step.a).length;
      const of = file === model.main ? `line ${line}` : `${file?.split("/").at(-1)}, line ${line}`;
      const part = lanes === 32 ? "" : lanes === 0 ? ", no lane takes part" : `, ${counted(lanes, "lane")}`;
      const barrier = (step.effects ?? []).find((effect) => effect.barrier)?.barrier;
      const open = barrier && now.barriers.find(({ number }) => number === barrier.number);
      const met = !open ? "" : open.arrived.length === 0 ? `. All ${open.of} warps have reached barrier ${open.number}: it is complete`
        : `. ${open.arrived.length} of ${open.of} warps have reached barrier ${open.number}`;
      const landed = step.landed ? `. Before it, ${counted(step.landed.length, "bulk copy").replace("copys", "copies")} landed` : "";
      const banks = !at ? "" : `. It takes ${counted(at.table.wavefronts, "wavefront")}${at.table.conflicts > 0 ? `, ${at.table.ideal} without bank conflicts` : ""}`;
      return `Warp ${step.w}, ${of}: ${ptx.length > 90 ? `${ptx.slice(0, 90)}…` : ptx}${part}${met}${landed}${banks}.`;
    }

    function drawFinding(first) {
      if (!first) {
        redraw(found);
        return;
      }
      const isHere = first.step === state.step;
      const seen = first.step === null ? "in steps that are not kept, or in another CTA" : isHere ? "at this step" : `at step ${first.step}`;
      redraw(found, h("details", { class: "st-finding", open: isHere },
        h("summary", {}, `sanitize finds ${counted(model.findings.length, "mistake")}, the first ${seen}`),
        h("pre", { class: "ia-error", tabindex: 0 }, first.text)));
    }

    function drawLines(now, step) {
      for (const gutter of code.querySelectorAll(".st-gutter:not(:empty)")) gutter.replaceChildren();
      code.querySelector("[aria-current]")?.removeAttribute("aria-current");
      for (const { w, line } of now.warps) {
        const gutter = line === null ? null : code.querySelector(`[data-line="${line}"] .st-gutter`);
        gutter?.append(h("b", { class: `ia-g${w % 8}${w === step.w ? " st-here" : ""}`, title: `warp ${w}` }, String(w)));
      }
      const line = now.warps[step.w].line;
      const current = code.querySelector(`[data-line="${line}"]`);
      if (!current) return;
      current.setAttribute("aria-current", "step");
      const [top, bottom] = [current.offsetTop, current.offsetTop + current.offsetHeight];
      if (top < code.scrollTop + 20 || bottom > code.scrollTop + code.clientHeight - 20) code.scrollTop = top - code.clientHeight / 2;
    }

    const rowHeight = () => (model.words <= 32 * 96 ? 5 : model.words <= 32 * 512 ? 3 : 2);

    /** A color of the page's theme as a pixel. */
    const one = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
    function pixel(name) {
      one.clearRect(0, 0, 1, 1);
      one.fillStyle = getComputedStyle(root).getPropertyValue(name).trim();
      one.fillRect(0, 0, 1, 1);
      return new Uint32Array(one.getImageData(0, 0, 1, 1).data.buffer)[0];
    }

    /** Ten pixels per bank, including a gap of one pixel. */
    function drawMap(now) {
      const [rows, height] = [model.words / 32, rowHeight()];
      map.width = 320;
      map.height = Math.max(rows * height, 1);
      map.style.aspectRatio = `320 / ${map.height}`;
      mapped.hidden = rows === 0;
      const groups = range(8).map((group) => pixel(`--g${group}`));
      const [strong, bad, nothing] = ["--strong", "--bad", "--nothing"].map(pixel);
      const here = new Set(steps.wordsOf(model, state.step));
      const touched = state.view === "touched" ? steps.touchedAt(model, state.step) : null;
      const most = touched?.reduce((first, second) => Math.max(first, second), 1);
      const counts = new Map();
      const image = new ImageData(map.width, map.height);
      const pixels = new Uint32Array(image.data.buffer);
      for (let word = 0; word < model.words; word += 1) {
        const who = now.writer[word];
        if (who >= 0) counts.set(who, (counts.get(who) ?? 0) + 1);
        const alpha = touched && Math.round(40 + 215 * touched[word] / most);
        const color = touched ? (touched[word] === 0 ? nothing : (strong & 0xffffff | alpha << 24) >>> 0)
          : who < 0 ? nothing : who === COPY ? strong : groups[who % 8];
        const [x, y] = [word % 32 * 10, Math.floor(word / 32) * height];
        for (let row = y; row < y + Math.max(height - 1, 2); row += 1) {
          pixels.fill(color, 320 * row + x, 320 * row + x + 9);
          if (here.has(word)) pixels.fill(bad, 320 * row + x + 2, 320 * row + x + 7);
        }
      }
      map.getContext("2d").putImageData(image, 0, 0);
      const who = [...counts].sort(([one], [other]) => one - other);
      const label = who.map(([one, words]) => `${one === COPY ? "bulk copies" : `warp ${one}`}: ${counted(words, "word")}`).join("; ");
      map.setAttribute("aria-label", rows === 0 ? "no shared memory" : `${counted(rows, "row")} of 32 banks. Last written by ${label || "no warp yet"}.`);
      if (here.size > 0) {
        const row = Math.floor(Math.min(...here) / 32) * height * (mapped.clientWidth / 320);
        if (row < mapped.scrollTop || row > mapped.scrollTop + mapped.clientHeight - 12) mapped.scrollTop = row - mapped.clientHeight / 3;
      }
      key.replaceChildren(
        ...(rows === 0 ? ["This kernel has no shared memory."] : state.view === "touched"
          ? [`The stronger the color of a word, the more lanes have loaded or stored it: up to ${counted(most, "time")}.`]
          : who.flatMap(([one, words]) => [swatch(one), one === COPY ? `bulk copies, ${counted(words, "word")} ` : `warp ${one}, ${counted(words, "word")} `])),
        ...(here.size > 0 ? [h("i", { class: "st-swatch st-now" }), "words that this step accesses"] : []));
      if (word !== null) key.append(h("br"), wordSaid(now));
    }

    /** A description of a word. */
    function wordSaid(now) {
      const who = now.writer[word];
      const value = now.memory[word];
      const by = who < 0 ? "it has not been written" : `${who === COPY ? "a bulk copy" : `warp ${who}`} wrote it last, at step ${now.written[word]}`;
      return `Byte ${4 * word}, row ${Math.floor(word / 32)}, bank ${word % 32}: 0x${value.toString(16).padStart(8, "0")}, f16 ${f16(value & 0xffff)} and ${f16(value >>> 16)}, f32 ${f32(value)}; ${by}.`;
    }

    function pick(event) {
      const box = map.getBoundingClientRect();
      const [x, y] = [(event.clientX - box.x) / box.width, (event.clientY - box.y) / box.height];
      word = Math.min(Math.floor(y * model.words / 32), model.words / 32 - 1) * 32 + Math.min(Math.floor(x * 32), 31);
      draw();
    }

    /** The wavefronts of this step's access to shared memory, from the engine. */
    function drawAccess() {
      const one = model.accesses[state.step];
      if (!one || one.offsets.every((offset) => offset === null)) {
        access.replaceChildren();
        return null;
      }
      let answer;
      try {
        answer = ask({ ask: "access", op: one.op, bytes: String(one.bytes), offsets: one.offsets.map((offset) => offset ?? "-").join(" ") });
      } catch (error) {
        access.replaceChildren(ui.refusal(error));
        return null;
      }
      access.replaceChildren(
        h("h3", {}, `This step in the banks: ${counted(answer.table.wavefronts, "wavefront")}, ${answer.table.ideal} without conflicts`),
        places.strip(answer, { name: one.op, lane: state.lane, onPick: (lane) => { set({ lane }); controls.querySelector("[name=lane]").value = lane; } }));
      return answer;
    }

    function drawOperands(step) {
      const isIn = step.a >>> state.lane & 1;
      if (!step.operands || !isIn) {
        redraw(operands, h("p", { class: "ia-key" }, !step.operands
          ? "Shown for loads, stores, ldmatrix, stmatrix, mma, wgmma and its waits, and copies." : `Lane ${state.lane} takes no part in this step.`));
        return;
      }
      const described = describe(ask, model, state.step, state.lane);
      redraw(operands, h("div", { class: "ia-scroll st-long", tabindex: 0, role: "region", "aria-label": `operands of lane ${state.lane}` },
        h("table", { class: "st-operands" },
          h("thead", {}, h("tr", {}, ["", "in PTX", `lane ${state.lane} holds`, ""].map((one) => h("th", { scope: "col" }, one)))),
          h("tbody", {}, step.operands.map((operand) => {
            const digits = steps.digitsOf(operand, state.lane);
            const [role, number] = operand;
            const several = step.operands.filter(([other]) => other === role).length > 1;
            const [register, meaning] = described(operand, digits);
            return h("tr", {}, h("th", { scope: "row" }, `${role}${several ? ` ${number}` : ""}`),
              h("td", {}, h("code", {}, register)), h("td", {}, h("code", {}, `0x${digits}`)), h("td", {}, meaning));
          })))));
    }

    function drawWarps(now, step) {
      const cells = ({ w, step: at, line, ptx, status, next }) => h("tr", { "aria-current": w === step.w ? "step" : null, "data-warp": w },
        h("th", { scope: "row" }, swatch(w), String(w)),
        h("td", {}, line ?? "–"), h("td", {}, status),
        h("td", {}, at < 0 ? "" : h("code", {}, ptx.length > 44 ? `${ptx.slice(0, 44)}…` : ptx)),
        h("td", {}, next < 0 ? "" : button({ "data-next": w }, `the next step of warp ${w}`, "→", () => go(next))));
      redraw(warps, h("div", { class: "ia-scroll", tabindex: 0, role: "region", "aria-label": "warps" },
        h("table", { class: "st-warps" },
          h("thead", {}, h("tr", {}, ["warp", "line", "", "last executed", "next"].map((one) => h("th", { scope: "col" }, one)))),
          h("tbody", {}, now.warps.map(cells)))));
    }

    function drawWaits(now) {
      const items = [];
      for (const { number, arrived, of, completed } of now.barriers) {
        items.push(h("li", { "data-barrier": number }, `barrier ${number}: `, arrived.length === 0 ? "no warp waits" : `${arrived.length} of ${of} warps have arrived (${arrived.join(", ")})`, `; complete ${counted(completed, "time")}`));
      }
      for (const { at, count, pending, phase, bytes } of now.mbarriers) {
        items.push(h("li", { "data-mbarrier": at - model.base },
          `mbarrier at 0x${at.toString(16)}: phase ${phase}, parity ${phase & 1}, ${pending} of ${counted(count, "arrival")} pending, ${counted(Math.max(bytes, 0), "byte")} pending`));
      }
      const copies = new Map();
      for (const { what, w, group, bytes, mbarrier } of now.inFlight) {
        const name = `${what} of warp ${w}, ${mbarrier === undefined ? group : `for the mbarrier at 0x${mbarrier.toString(16)}`}`;
        const known = copies.get(name) ?? { number: 0, bytes: 0 };
        copies.set(name, { number: known.number + 1, bytes: known.bytes + bytes });
      }
      const flying = [...copies].map(([name, { number, bytes }]) =>
        h("li", { class: "st-flying" }, `${number} × ${name}${bytes > 0 ? `: ${counted(bytes, "byte")}` : ""}`));
      waits.replaceChildren(
        items.length > 0 ? h("ul", { class: "st-list" }, items) : h("p", { class: "ia-key" }, "No barrier has been used yet."),
        flying.length > 0 ? h("ul", { class: "st-list" }, flying) : h("p", { class: "ia-key" }, "Nothing is in flight."));
    }

    /** A link shows a state, scrolls to the figure, and makes its keys work. */
    function show() {
      controls.scrollIntoView();
      moves.querySelector("[data-step=on]").focus({ preventScroll: true });
    }

    // Colors of the map are those of the page's theme.
    new MutationObserver(() => { if (model) draw(); }).observe(document.documentElement, { attributes: true, attributeFilter: ["class"] });
    place.onChange(() => {
      const before = state;
      state = read();
      const isSame = model && ["rung", "kernel", "size"].every((name) => before[name] === state[name]);
      if (!isSame || state.at !== "") load().then(show);
      else {
        complain(missing);
        draw();
      }
    });
    root.setAttribute("aria-busy", "true");
    live.files([EDITS]).then((files) => {
      kernels = JSON.parse(files[EDITS]);
      state = read();
      root.querySelector("[name=view]").value = state.view;
      const isLinked = Object.keys(place.read()).length > 0;
      return load().then(() => { if (isLinked) show(); });
    }).catch((error) => {
      root.removeAttribute("aria-busy");
      root.prepend(h("p", { class: "ia-error", role: "alert" }, error.message));
      console.error(error);
    });
  }

  globalThis.gemm.stepper = { sourceOf };
  ui.mount("stepper", start);
})();
