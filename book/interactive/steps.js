// The state of a CTA after each of its steps: memory and its last writers, warps, barriers, copies in flight. From the answer to `steps`
// alone (book/live/README.md); the page that draws it is stepper.js.
(() => {
  "use strict";
  const { ui } = globalThis.gemm;
  const { range, LANES } = ui;

  const lanesOf = (active) => range(LANES).filter((lane) => active >>> lane & 1);
  const opcodeOf = (ptx) => ptx.replace(/^@!?%?\w+\s+/, "").split(/[\s;]/)[0];

  /** The value of an operand in a lane, as hexadecimal digits. */
  const digitsOf = ([, , bytes, digits], lane) => digits.slice(2 * bytes * lane, 2 * bytes * (lane + 1));

  /** Addresses in shared memory are small; 64-bit ones have leading zeros. */
  const addressOf = (operand, lane) => parseInt(digitsOf(operand, lane).slice(-8), 16);

  /**
   * A step's access to shared memory: `op` and `bytes` as `access` takes them, an offset for each address or null. Null for
   * a step without such an access.
   */
  function accessOf({ steps, instructions, base }, at) {
    const { i, a, operands = [] } = steps[at];
    const opcode = opcodeOf(instructions[i].ptx);
    const address = operands.find(([role]) => role === "address");
    if (!address) return null;
    const matrix = opcode.match(/^(ldmatrix|stmatrix)\S*?\.(x[124])(\.trans)?/);
    const offset = (lane) => (a >>> lane & 1 ? addressOf(address, lane) - base : null);
    if (matrix) {
      const [, name, count, trans = ""] = matrix;
      return { op: `${name}.${count}${trans}`, bytes: 16, offsets: range(8 * Number(count[1])).map(offset) };
    }
    const kind = opcode.match(/^(ld|st)(\.volatile|\.relaxed|\.weak)?\.shared/)?.[1];
    if (!kind) return null;
    const bytes = operands.filter(([role]) => role === "value").reduce((sum, [, , one]) => sum + one, 0);
    return { op: kind, bytes, offsets: range(LANES).map(offset) };
  }

  /** Facts about all steps, computed once. */
  function modelOf(answer) {
    const { steps, instructions, threads } = answer;
    const opcodes = instructions.map(({ ptx }) => opcodeOf(ptx));
    const next = new Int32Array(steps.length).fill(-1);
    const last = new Map();
    steps.forEach(({ w }, at) => {
      if (last.has(w)) next[last.get(w)] = at;
      last.set(w, at);
    });
    const accesses = steps.map((_, at) => accessOf(answer, at));
    const ends = [
      ...answer.shared.map(({ start, bytes }) => start + (bytes ?? 0)),
      ...steps.flatMap(({ changed = [] }) => changed.length === 0 ? [] : [changed.at(-1)[0] + 4]),
      ...accesses.flatMap((one) => (one ? one.offsets.map((offset) => offset + one.bytes) : [])),
    ];
    const bytes = ends.reduce((most, end) => Math.max(most, end), 0);
    const files = new Map();
    for (const { file } of instructions) files.set(file, (files.get(file) ?? 0) + 1);
    const [main] = [...files].sort(([, one], [, other]) => other - one)[0] ?? [null];
    return { ...answer, opcodes, next, accesses, main, warps: Math.ceil(threads / LANES), words: 32 * Math.ceil(bytes / 128) };
  }

  /** The groups of a warp: copies issued since the last commit, and committed groups that have not been waited for. */
  const groupsOf = () => ({ open: [], committed: [] });

  const FAMILIES = [
    ["cp.async.bulk.", "bulk"],
    ["cp.async.", "async"],
    ["wgmma.", "wgmma"],
  ];

  /**
   * The state after step `at`: `memory`, `writer` (-1: none; a warp; 100: a bulk copy) and `written` (at
   * which step) by word, `warps`, `barriers`, `mbarriers`, `inFlight`.
   */
  function stateAt(model, at) {
    const { steps, instructions, opcodes, next, base, words } = model;
    const memory = new Uint32Array(words);
    const writer = new Int16Array(words).fill(-1);
    const written = new Int32Array(words).fill(-1);
    const now = new Array(model.warps).fill(-1);
    const lines = new Array(model.warps).fill(null);
    const waited = new Array(model.warps).fill(null);
    const barriers = new Map();
    const mbarriers = new Map();
    const bulk = [];
    const groups = range(model.warps).map(() => ({ async: groupsOf(), bulk: groupsOf(), wgmma: groupsOf() }));

    /** Words that differ before a step: the previous step wrote them, or a copy has landed, which counts for this step. */
    function change(step, isBehind) {
      const { changed = [], landed = [] } = steps[step];
      for (const [byte, word] of changed) {
        const copy = landed.some((one) => byte >= one.at && byte < one.at + one.bytes);
        const told = landed.some(({ mbarrier }) => byte - (mbarrier - base) >= 0 && byte - (mbarrier - base) < 8);
        if (isBehind && (copy || told)) continue;
        memory[byte / 4] = word;
        writer[byte / 4] = copy ? 100 : told ? writer[byte / 4] : steps[step - 1]?.w ?? -1;
        written[byte / 4] = copy || told ? step : step - 1;
      }
    }

    for (let step = 0; step <= at; step += 1) {
      const { i, w, a, effects = [], landed = [], operands = [] } = steps[step];
      change(step, false);
      for (const one of landed) {
        const copy = bulk.findIndex(({ to, mbarrier }) => mbarrier === one.mbarrier && to === one.at);
        if (copy >= 0) bulk.splice(copy, 1);
        const barrier = mbarriers.get(one.mbarrier);
        if (barrier) barrier.bytes -= one.bytes;
      }
      now[w] = step;
      if (instructions[i].file === model.main && instructions[i].line) lines[w] = instructions[i].line;
      const opcode = opcodes[i];
      for (const effect of effects) {
        if (effect.wait) waited[w] = effect.wait;
        if (effect.init) mbarriers.set(effect.init.at, { at: effect.init.at, count: effect.init.count, bytes: 0 });
        if (effect.arrive?.rank === 0 && mbarriers.has(effect.arrive.at)) mbarriers.get(effect.arrive.at).bytes += effect.arrive.bytes;
        if (effect.barrier) {
          const { number, threads } = effect.barrier;
          const barrier = barriers.get(number) ?? { number, arrived: [], completed: 0, of: 0 };
          barriers.set(number, barrier);
          barrier.of = Math.ceil((threads ?? model.threads) / LANES);
          if (!barrier.arrived.includes(w)) barrier.arrived.push(w);
          if (barrier.arrived.length >= barrier.of) Object.assign(barrier, { arrived: [], completed: barrier.completed + 1 });
        }
        if (effect.bulkCopy) {
          const { bytes, mbarrier } = effect.bulkCopy;
          const address = operands.find(([role]) => role === "address");
          const to = address ? addressOf(address, lanesOf(a)[0] ?? 0) - base : null;
          if (mbarrier !== null) bulk.push({ what: "bulk copy", w, step, bytes, to, mbarrier });
          else groups[w].bulk.open.push({ what: "bulk store", w, step, bytes, to });
        }
      }
      const family = FAMILIES.find(([start]) => opcode.startsWith(start));
      if (!family || a === 0) continue;
      const group = groups[w][family[1]];
      if (opcode.includes(".commit_group")) group.committed.push(group.open.splice(0));
      else if (opcode.includes(".wait_all")) Object.assign(group, groupsOf());
      else if (opcode.includes(".wait_group")) {
        const pending = Number(instructions[i].ptx.match(/(\d+)\s*;?$/)?.[1] ?? 0);
        group.committed.splice(0, Math.max(0, group.committed.length - pending));
      } else if (family[1] === "async" && !opcode.includes("mbarrier")) {
        const each = Number(instructions[i].ptx.match(/,\s*(4|8|16)\b/)?.[1] ?? 16);
        group.open.push({ what: "cp.async", w, step, bytes: each * lanesOf(a).length });
      } else if (opcode.startsWith("wgmma.mma_async")) group.open.push({ what: "wgmma", w, step, bytes: 0 });
    }
    if (at + 1 < steps.length) change(at + 1, (steps[at + 1].landed ?? []).length > 0);

    // An mbarrier's word: pending arrivals, expected ones, phase.
    for (const barrier of mbarriers.values()) {
      const [low, high] = [memory[(barrier.at - base) / 4], memory[(barrier.at - base) / 4 + 1]];
      // Bit 63 marks an mbarrier.
      barrier.phase = high >>> 8 & 0x7fffff;
      barrier.pending = low & 0xfffff;
    }
    const isOver = ({ at: address, parity }) => {
      const barrier = mbarriers.get(address);
      return !barrier || (barrier.phase & 1) !== parity;
    };
    const warps = range(model.warps).map((w) => {
      const step = now[w];
      const first = step < 0 ? steps.findIndex((one) => one.w === w) : next[step];
      // At its next step, or in a loop that it never leaves.
      const wait = first < 0 ? waited[w] : (steps[first].effects ?? []).find((effect) => effect.wait)?.wait;
      const ptx = step < 0 ? null : instructions[steps[step].i].ptx;
      const barrier = [...barriers.values()].find(({ arrived }) => arrived.includes(w));
      const ends = step >= 0 && /^(ret|exit)$/.test(opcodes[steps[step].i]);
      const status = step < 0 ? "not started"
        : barrier ? `waits at barrier ${barrier.number}`
          : ends ? "exited" : wait && !isOver(wait) ? `waits for mbarrier 0x${wait.at.toString(16)}`
            : first >= 0 ? "ready" : steps.length < model.executed ? "beyond the steps kept" : "stopped";
      return { w, step, line: lines[w], ptx, status, next: first };
    });
    const grouped = groups.flatMap((one) => Object.values(one)).flatMap(({ open, committed }) => [
      ...open.map((copy) => ({ ...copy, group: "not committed" })),
      ...committed.flatMap((group, number) => group.map((copy) => ({ ...copy, group: `group ${number + 1} of ${committed.length}` }))),
    ]);
    return {
      memory, writer, written, warps, barriers: [...barriers.values()].sort((one, other) => one.number - other.number),
      mbarriers: [...mbarriers.values()].sort((one, other) => one.at - other.at), inFlight: [...bulk, ...grouped],
    };
  }

  /**
   * The accumulators that a `wgmma.wait_group` completes, in the engine's order, each once: of each register its name in PTX, where
   * the text is not cut off before it, its number in the accumulator, the shape and the type.
   */
  function accumulatorsOf(model, at) {
    const { w } = model.steps[at];
    const inFlight = (step) => stateAt(model, step).inFlight.filter((one) => one.what === "wgmma" && one.w === w);
    const left = new Set(inFlight(at).map(({ step }) => step));
    const completed = inFlight(at - 1).filter(({ step }) => !left.has(step)).map(({ step }) => model.instructions[model.steps[step].i].ptx);
    const accumulators = new Map(completed.map((ptx) => [ptx.match(/\{[^}]*/)[0], ptx]));
    return [...accumulators.values()].flatMap((ptx) => {
      const [, shape, columns, type] = opcodeOf(ptx).match(/\.(m64n(\d+)k\d+)\.(\w+)/);
      const names = ptx.slice(ptx.indexOf("{")).match(/%\w+(?=\s*[,}])/g);
      return range(Number(columns) / (type === "f16" ? 4 : 2)).map((number) => ({ register: names[number] ?? "", number, shape, type }));
    });
  }

  /** The words that a step loads or stores, for each lane. */
  function wordsOf({ accesses }, step) {
    const { offsets, bytes } = accesses[step] ?? { offsets: [], bytes: 0 };
    const active = offsets.filter((offset) => offset !== null);
    return active.flatMap((offset) => range((offset + bytes + 3) >> 2, offset >> 2));
  }

  /** How often each word has been loaded or stored, up to this step. */
  function touchedAt(model, at) {
    const touched = new Uint32Array(model.words);
    for (let step = 0; step <= at; step += 1) {
      if (model.accesses[step]) for (const word of wordsOf(model, step)) touched[word] += 1;
    }
    return touched;
  }

  const isBarrier = ({ opcodes }, { i, effects = [] }) =>
    effects.some((effect) => effect.barrier || effect.wait) || opcodes[i].startsWith("barrier.cluster");

  /** The first finding that has a step, and that step. */
  function findingOf({ findings }) {
    const placed = findings.filter(({ step }) => step !== null);
    return placed.sort((one, other) => one.step - other.step)[0] ?? findings[0] ?? null;
  }

  /** The step that a link names: a number, `finding`, or the first instruction with this prefix, or the third with `*3`. Null: none. */
  function placeOf(model, text) {
    if (/^\d+$/.test(text)) return Math.min(Number(text), model.steps.length - 1);
    if (text === "finding") return findingOf(model)?.step ?? null;
    const [, start, number = "1"] = text.match(/^([^*]+)(?:\*(\d+))?$/) ?? [];
    const all = range(model.steps.length).filter((at) => start && model.opcodes[model.steps[at].i].startsWith(start));
    return all[Number(number) - 1] ?? null;
  }

  Object.assign(globalThis.gemm, { steps: { modelOf, stateAt, touchedAt, wordsOf, isBarrier, findingOf, placeOf, digitsOf, lanesOf, accumulatorsOf } });
})();
