// The fragment explorer: which thread holds which element of a matrix, and vice versa; for ldmatrix also which row address a lane
// gives, and what the rows of a tile cost. It is a separate page, and a figure in chapters.
(() => {
  "use strict";
  const { ui, places } = globalThis.gemm;
  const { h, count, span, range, LANES, OPERATIONS } = ui;

  const MMA = ["m16n8k8", "m16n8k16"];
  const MATRICES = OPERATIONS.filter((name) => name.includes("matrix"));
  const DEFAULTS = { shape: "m16n8k16", operand: "a", n: 128, row: 0, col: 0, columns: 0, tile: 128, pad: 0 };
  const ALLOWED = {
    shape: [...MMA, "wgmma", ...MATRICES], operand: ["a", "b", "c"],
    n: range(32).map((i) => 8 * (i + 1)), tile: [16, 32, 64, 128, 256], pad: [0, 8, 16, 32, 48, 64],
  };
  // For a warpgroup's accumulator: the rows of a warp, and the columns that are shown at a time.
  const OF_A_WARP = 16;
  const MOST = 16;
  const OPERANDS = { a: "A, M × K", b: "B, K × N", c: "C and D, M × N" };

  const shapeOf = (state) => (state.shape === "wgmma" ? `m64n${state.n}k16` : state.shape);
  const operandOf = ({ shape, operand }) => (shape === "wgmma" ? "c" : MMA.includes(shape) ? operand : null);

  const made = new Map();
  /** The fragment of a state: the engine's answer, and the holder of each row and column. */
  function fragmentOf(ask, state) {
    const [shape, operand] = [shapeOf(state), operandOf(state)];
    const name = operand ? `${shape} ${operand}` : shape;
    if (!made.has(name)) {
      const found = ask({ ask: "fragment", shape, operand });
      const holders = range(found.rows).map(() => Array(found.columns).fill(null));
      found.at.forEach((elements, thread) => elements.forEach(([row, column], element) => {
        holders[row][column] = { thread, element };
      }));
      const kind = shape.includes("matrix") ? "matrices" : found.threads > LANES ? "wgmma" : "mma";
      made.set(name, { ...found, name, kind, holders, count: found.rows / 8 });
    }
    return made.get(name);
  }

  const holderOf = (fragment, row, column) => fragment.holders[row][column];

  const within = (number, end) => Math.min(Math.max(number, 0), end - 1);

  /** Row and column of an element of a thread. */
  function elementAt(fragment, thread, element) {
    const [row, column] = fragment.at[thread][element];
    return { row, column };
  }

  /** Register and half of an element; the half only if two elements share a register. */
  function registerOf({ packing }, element) {
    const half = packing === 1 ? null : element % 2 === 0 ? "low" : "high";
    return { register: Math.floor(element / packing), half };
  }

  /** r2, low half. */
  function registerName(fragment, element) {
    const { register, half } = registerOf(fragment, element);
    return half ? `register ${register}, ${half} half` : `register ${register}`;
  }
  const shortName = (fragment, element) => {
    const { register, half } = registerOf(fragment, element);
    return half ? `r${register}.${half === "low" ? "lo" : "hi"}` : `r${register}`;
  };

  /** The part that is shown: one warp of a warpgroup, some columns of a wide accumulator. */
  function windowOf(state, fragment) {
    const columns = Math.min(fragment.columns, MOST);
    const rows = fragment.kind === "wgmma" ? OF_A_WARP : fragment.rows;
    const firstRow = Math.floor(within(state.row, fragment.rows) / rows) * rows;
    const first = Math.min(Math.floor(state.columns / MOST) * MOST, fragment.columns - 1);
    const shown = Math.min(columns, fragment.columns - first);
    const elements = range(fragment.elements).filter((element) => {
      const { column } = elementAt(fragment, 0, element);
      return fragment.kind !== "wgmma" || (column >= first && column < first + shown);
    });
    return { first, columns: shown, firstRow, rows, elements };
  }

  function start(root, ask) {
    const place = places.placeOf(root, "fragment", DEFAULTS);
    let state = read();
    const controls = h("form", { class: "ia-controls", "aria-label": "settings", onsubmit: (event) => event.preventDefault() });
    const shown = h("div", { class: "ia-shown" });
    root.append(controls, shown);

    function read() {
      return ui.merged(place.usual, place.read(), ALLOWED);
    }

    function set(change, name = null) {
      state = { ...state, ...change };
      if (name) {
        drawControls();
        controls.querySelector(name)?.focus();
      }
      draw();
    }

    /** A change of the fragment in which the same lane stays selected, at its first element. */
    function sameLane(change) {
      const fragment = fragmentOf(ask, state);
      const { thread } = holderOf(fragment, within(state.row, fragment.rows), within(state.col, fragment.columns));
      const { row, column } = elementAt(fragmentOf(ask, { ...state, ...change }), thread % LANES, 0);
      return { ...change, row, col: column, columns: 0 };
    }

    function drawControls() {
      const options = [...MMA.map((name) => [name, `mma ${name}`]), ["wgmma", "wgmma m64nNk16"], ...MATRICES.map((name) => [name, name])];
      controls.replaceChildren(h("div", { class: "ia-row" },
        ui.selectField({
          name: "shape", label: "Instruction", options, value: state.shape,
          onChange: (shape) => set(sameLane({ shape }), "[name=shape]"),
        }),
        MMA.includes(state.shape)
          ? ui.choice({
              name: "operand", label: "Operand", value: state.operand, options: Object.keys(OPERANDS).map((name) => [name, OPERANDS[name]]),
              onChange: (operand) => set(sameLane({ operand }), "[name=operand]:checked"),
            })
          : null,
        state.shape === "wgmma"
          ? ui.selectField({
              name: "n", label: "N", options: ALLOWED.n.map((n) => [n, n]), value: state.n,
              onChange: (n) => set({ n: Number(n), row: 0, col: 0, columns: 0 }, "[name=n]"),
            })
          : null,
        MATRICES.includes(state.shape)
          ? ["tile", "pad"].map((name) => ui.selectField({
              name, label: { tile: "Row of the tile, bytes", pad: "Padding, bytes" }[name], value: state[name],
              options: ALLOWED[name].map((one) => [one, one]), onChange: (value) => set({ [name]: Number(value) }),
            }))
          : null));
    }

    function draw() {
      const fragment = fragmentOf(ask, state);
      const view = windowOf(state, fragment);
      const at = {
        row: within(state.row, fragment.rows),
        column: Math.min(Math.max(state.col, view.first), view.first + view.columns - 1),
      };
      place.write(urlState(fragment));
      const holder = holderOf(fragment, at.row, at.column);
      const warp = Math.floor(holder.thread / 32);
      const matrix = h("div", { class: "ia-half", "data-part": "matrix" });
      const threads = h("div", { class: "ia-half", "data-part": "threads" });
      const said = h("p", { class: "ia-said", "aria-live": "polite" }, sentence(fragment, at));

      /** Marks one thread's elements, and the selected element, in both tables. */
      function mark(thread, element) {
        for (const cell of shown.querySelectorAll("td[data-thread]")) {
          const isThread = Number(cell.dataset.thread) === thread;
          cell.classList.toggle("ia-traced", isThread);
          cell.classList.toggle("ia-here", isThread && Number(cell.dataset.element) === element);
        }
      }
      const label = (parts, of) => {
        for (const cell of parts.querySelectorAll("td[data-row]")) {
          const held = of(Number(cell.dataset.row), Number(cell.dataset.column));
          cell.dataset.thread = held.thread;
          cell.dataset.element = held.element;
        }
      };
      const pick = (part) => (row, column) => {
        set({ row, col: column });
        ui.focusGrid(shown.querySelector(`[data-part="${part}"]`));
      };
      const byPlace = (row, column) => holderOf(fragment, row + view.firstRow, column + view.first);
      const byThread = (lane, i) => ({ thread: warp * 32 + lane, element: view.elements[i] });
      const blocks = (row, column) => `${column > 0 && column % 8 === 0 ? "ia-left " : ""}${row > 0 && row % 8 === 0 ? "ia-top" : ""}`;

      matrix.append(h("h3", {}, fragment.kind === "matrices" ? "The matrices, below each other" : fragment.kind === "wgmma" ? `The rows of warp ${warp}` : "The matrix"), ui.grid({
        label: "matrix: the thread and element at each row and column; arrows move",
        rows: view.rows, columns: view.columns,
        rowHead: (row) => `${row + view.firstRow}`, columnHead: (column) => `${column + view.first}`,
        picked: { row: at.row - view.firstRow, column: at.column - view.first },
        cell: (row, column) => {
          const { thread, element } = byPlace(row, column);
          return {
            text: `${thread}.${element}`, group: Math.floor(thread / 4), classes: blocks(row, column),
            name: `row ${row + view.firstRow}, column ${column + view.first}: thread ${thread}, ${registerName(fragment, element)}`,
          };
        },
        onPick: (row, column) => pick("matrix")(row + view.firstRow, column + view.first),
        onPoint: (row, column) => point(row === null ? null : byPlace(row, column)),
      }));
      const pickedElement = view.elements.indexOf(holder.element);
      threads.append(h("h3", {}, fragment.kind === "wgmma" ? `The registers of warp ${warp}` : "The registers of the warp"), ui.grid({
        label: "registers: the row and column that each thread holds; arrows move",
        corner: "T", rows: 32, columns: view.elements.length,
        rowHead: (lane) => `${warp * 32 + lane}`, columnHead: (i) => shortName(fragment, view.elements[i]),
        picked: { row: holder.thread % 32, column: pickedElement },
        cell: (lane, i) => {
          const { thread, element } = byThread(lane, i);
          const { row, column } = elementAt(fragment, thread, element);
          return {
            text: `${row},${column}`, group: Math.floor(thread / 4),
            classes: i > 0 && i % fragment.packing === 0 ? "ia-left" : "",
            name: `thread ${thread}, ${registerName(fragment, element)}: row ${row}, column ${column}`,
          };
        },
        onPick: (lane, i) => {
          const { thread, element } = byThread(lane, i);
          const { row, column } = elementAt(fragment, thread, element);
          pick("threads")(row, column);
        },
        onPoint: (lane, i) => point(lane === null ? null : byThread(lane, i)),
      }));
      const point = (held) => {
        const { thread, element } = held ?? holder;
        mark(thread, element);
        said.textContent = sentence(fragment, elementAt(fragment, thread, element));
      };
      const lane = holder.thread % LANES;
      const named = fragment.kind === "matrices" ? fragment.addresses[lane] : null;
      const lanes = h("div", { "data-part": "lanes" }, h("h3", {}, fragment.kind === "matrices" ? "Lanes, and the matrix and row that each names" : "Lanes"), places.lanes({
        label: "lanes", columns: 8, picked: lane,
        cell: (lane) => {
          const row = fragment.kind === "matrices" ? fragment.addresses[lane] : null;
          const names = row ? `matrix ${row[0]}, row ${row[1]}` : "its address is not looked at";
          return {
            text: fragment.kind === "matrices" ? (row ? row.join(".") : "–") : warp * LANES + lane,
            group: fragment.kind !== "matrices" ? Math.floor(lane / 4) : row ? row[1] : null,
            name: fragment.kind === "matrices" ? `lane ${lane}: ${names}` : `lane ${lane}`, classes: row || fragment.kind !== "matrices" ? "" : "ia-empty",
          };
        },
        onPick: (lane) => {
          const { row, column } = elementAt(fragment, warp * LANES + lane, view.elements[0]);
          pick("lanes")(row, column);
        },
      }));
      shown.replaceChildren(
        ui.facts([
          ["matrix", `${fragment.rows} × ${fragment.columns}`],
          ["threads", fragment.threads],
          ["elements a thread", fragment.elements],
          ["registers a thread", fragment.registers],
          ["elements", fragment.packing === 2 ? "16 bits, two to a register" : "f32, one to a register"],
        ]),
        ...[said, address(fragment, at)].filter(Boolean),
        ...[pages(fragment, view)].filter(Boolean),
        h("div", { class: "fig-lanes" }, lanes, inTile(ask, state, fragment, lane, (lane) => {
          const { row, column } = elementAt(fragment, lane, 0);
          set({ row, col: column });
        })),
        laneSays(fragment, holder.thread, view),
        h("p", { class: "ia-key" }, "In the matrix, 5.2 is element 2 of thread 5. In the registers, 5,2 is row 5, column 2."),
        h("div", { class: "ia-halves" }, matrix, threads),
        ui.command(commandOf(state)),
        ...(place.isChapter ? [places.link("fragment_explorer.html", urlState(fragment), DEFAULTS, "The same on a page of its own")] : []));
      if (named) {
        const [block, line] = named;
        for (const cell of matrix.querySelectorAll(`td[data-row="${8 * block + line}"]`)) cell.classList.add("ia-named");
      }
      label(matrix, byPlace);
      label(threads, byThread);
      mark(holder.thread, holder.element);
    }

    /** Buttons through the warps and columns of a warpgroup's accumulator. */
    function pages(fragment, view) {
      if (fragment.kind !== "wgmma") return null;
      const page = (name, text, change, isPossible) => h("button", {
        type: "button", "data-page": name, disabled: !isPossible,
        onclick: () => {
          set(change);
          // The pressed button has been redrawn, and may be disabled now.
          const button = shown.querySelector(`[data-page="${name}"]`);
          (button.disabled ? shown.querySelector(".ia-pages button:not(:disabled)") : button)?.focus();
        },
      }, text);
      const row = (step) => ({ row: view.firstRow + step * view.rows });
      const column = (first) => ({ columns: first, col: first });
      const [left, right] = [view.first - MOST, view.first + MOST];
      return h("div", { class: "ia-pages", role: "group", "aria-label": "part shown" },
        page("up", "↑ warp", row(-1), view.firstRow > 0),
        h("span", {}, `rows ${span(view.firstRow, view.firstRow + view.rows - 1)} of ${fragment.rows}`),
        page("down", "warp ↓", row(1), view.firstRow + view.rows < fragment.rows),
        page("previous", "← left", column(left), left >= 0),
        h("span", {}, `columns ${span(view.first, view.first + view.columns - 1)} of ${fragment.columns}`),
        page("next", "right →", column(right), right < fragment.columns));
    }

    function urlState(fragment) {
      const { n, operand, columns, tile, pad, ...rest } = state;
      const common = MATRICES.includes(state.shape) ? { ...rest, tile, pad } : rest;
      const wide = state.shape === "wgmma" ? { n, columns } : {};
      return { ...common, ...(MMA.includes(fragment.name.split(" ")[0]) ? { operand } : {}), ...wide };
    }

    place.onChange(() => {
      state = read();
      drawControls();
      draw();
    });
    drawControls();
    draw();
  }

  /** A sentence about the holder of an element. */
  function sentence(fragment, { row, column }) {
    const { thread, element } = holderOf(fragment, row, column);
    const who = fragment.threads > 32 ? `thread ${thread} (warp ${Math.floor(thread / 32)}, lane ${thread % 32})` : `lane ${thread}`;
    const where = fragment.kind === "matrices"
      ? `Row ${row % 8}, column ${column} of matrix ${Math.floor(row / 8)}`
      : `Row ${row}, column ${column}`;
    return `${where}: ${who}, element ${element}, in ${registerName(fragment, element)}.`;
  }

  /** A sentence about the row address that a lane gives and the elements that it holds. */
  function laneSays(fragment, thread, view) {
    const held = view.elements.map((element) => {
      const { row, column } = elementAt(fragment, thread, element);
      return `${shortName(fragment, element)} = (${row}, ${column})`;
    });
    const [matrix, line] = (fragment.kind === "matrices" && fragment.addresses[thread]) || [];
    const names = fragment.kind !== "matrices" ? "" : matrix === undefined ? "gives no row address" : `gives the address of row ${line} of matrix ${matrix}, in dashes below`;
    return h("p", { class: "ia-said", "aria-live": "polite", "data-lane-says": thread },
      `${fragment.threads > LANES ? "Thread" : "Lane"} ${thread} ${names ? `${names}, and ` : ""}holds ${held.join(", ")}.`);
  }

  /** The rows of the matrices in a tile, addressed as in rung 04: row lane % 16, chunk lane / 16; and their conflicts. */
  function inTile(ask, state, fragment, lane, onPick) {
    if (fragment.kind !== "matrices") return null;
    const rowBytes = state.tile + state.pad;
    const offsets = fragment.addresses.filter(Boolean).map(([matrix, row]) => (8 * (matrix % 2) + row) * rowBytes + Math.floor(matrix / 2) * 16);
    const title = h("h3", {}, `In a tile of rows of ${state.tile} bytes${state.pad ? `, padded by ${state.pad}` : ""}`);
    let access;
    try {
      access = ask({ ask: "access", op: state.shape, bytes: "16", offsets: offsets.join(",") });
    } catch (error) {
      return h("section", { "data-part": "tile" }, title, ui.refusal(error));
    }
    const { table } = access;
    const served = lane < offsets.length ? places.servedOf(access, lane) : null;
    return h("section", { "data-part": "tile", "aria-label": "the tile in the banks" }, title,
      h("p", { class: "ia-said", "aria-live": "polite" },
        `${count(table.wavefronts, "wavefront")}, the ideal is ${table.ideal}. `,
        served ? `The row that lane ${lane} names begins at byte ${offsets[lane]}, in bank ${served.bank}, and is read in wavefront ${served.wavefront + 1}.` : ""),
      places.strip(access, { name: state.shape, lane, groupOf: (lane) => fragment.addresses[lane]?.[1] ?? 0, onPick }),
      h("p", { class: "ia-key" }, "A line is a wavefront, a column a bank, a number the lane that names the row."));
  }

  /** For ldmatrix and stmatrix: the lane that gives a row's address. */
  function address(fragment, { row }) {
    if (fragment.kind !== "matrices") return null;
    const lane = range(LANES).find((lane) => {
      const [matrix, line] = fragment.addresses[lane] ?? [];
      return 8 * matrix + line === row;
    });
    const unused = LANES - 8 * fragment.count;
    return h("p", { class: "ia-key" },
      `Lane ${lane} gives the address of this row's 16 bytes. `,
      unused > 0 ? `The addresses of ${count(unused, "lane")}, ${span(LANES - unused, LANES - 1)}, are ignored.` : "");
  }

  function commandOf(state) {
    const operand = operandOf(state);
    return `cargo ladder layout fragment ${shapeOf(state)}${operand ? ` ${operand}` : ""}`;
  }

  globalThis.gemm.explorer = { DEFAULTS, ALLOWED };
  ui.mount("fragment_explorer", start);
  ui.mount("fragment", start);
})();
