// The swizzle workbench: a swizzle, or a mapping that the reader types, beside the identity, as a picture, bit by
// bit, and with its degrees of conflict. It is a separate page, and a figure in chapters.
(() => {
  "use strict";
  const { ui, places } = globalThis.gemm;
  const { h, count, span, range } = ui;

  const DEFAULTS = {
    source: "swizzle", b: 3, m: 4, s: 3, map: "col ^ (row & 7)", row_bytes: 128, unit: 16, rows: 8, element: 2,
    bytes: "widest", banks: 32, width: 4, view: "memory", extent: "grid", swizzle: "both", trace: "column",
    row: 1, col: 0,
  };
  const ALLOWED = {
    source: ["swizzle", "map"], view: ["memory", "lines", "banks"], extent: ["grid", "tile"], swizzle: ["both", "with", "without"],
    trace: ["column", "slot"], bytes: ["widest", "2", "4", "8", "16"], element: [1, 2, 4, 8, 16],
  };
  const PRESETS = [
    ["none", 0, 4, 3], ["32B", 1, 4, 3], ["64B", 2, 4, 3], ["128B", 3, 4, 3], ["128B, 32-byte units", 2, 5, 2],
  ];
  const EXAMPLES = ["col", "col ^ (row & 7)", "col ^ ((row & 0b1100) >> 2)", "(col + row) % 8", "col & 6"];
  // Atoms as wide as their swizzle, packed into 128-byte lines: unit c of row r is XORed with the number of its line.
  const PACKED = [
    ["none", "col", 16], ["32B", "col ^ ((row >> 2) & 1)", 32], ["64B", "col ^ ((row >> 1) & 3)", 64], ["128B", "col ^ (row & 7)", 128],
  ].map(([name, map, row_bytes]) => [name, { source: "map", map, row_bytes, unit: 16, rows: 8, view: "lines" }]);
  const LINE = 128;
  // The most rows and columns of a picture, as in the terminal.
  const MOST = 32;

  const log2 = (number) => Math.log2(number);
  /** Everything that follows from the state, from the engine, which also rejects invalid states. */
  function modelOf(ask, state) {
    const isSwizzle = state.source === "swizzle";
    const bytes = state.bytes === "widest" ? null : Number(state.bytes);
    const found = ask({
      ask: "mapping", rows: state.rows, bytes, banks: { count: state.banks, width: state.width },
      ...(isSwizzle
        ? { swizzle: { b: state.b, m: state.m, s: state.s } }
        : { map: state.map, row_bytes: state.row_bytes, unit: state.unit }),
    });
    const { swizzle, shape, changed, plain } = found;
    const tile = swizzle && swizzle.bits > 0 ? 2 ** swizzle.bits : null;
    const isTile = swizzle && state.extent === "tile";
    const most = isTile ? 2 ** swizzle.bits : MOST;
    const common = {
      ...found, tile,
      shownRows: Math.min(most, state.rows, MOST),
      shownColumns: Math.min(most, shape.columns, MOST),
      verdicts: { with: changed.verdict, without: plain.verdict },
    };
    const sideOf = (side, { places, memory, verdict }) =>
      ({ ...common, side, memory, verdict, place: (row, column) => places[row]?.[column] ?? null });
    return { ...common, sides: { without: sideOf("without", plain), with: sideOf("with", changed) } };
  }

  /** A read of the selected column and its conflicts: an ldmatrix matrix if possible, otherwise a row per lane. */
  function columnRead(ask, state, side) {
    const { shape, banks, verdict } = side;
    if (banks.count !== 32 || banks.width !== 4 || !verdict.isSound || verdict.bytes > 16) return null;
    const at = lookedAt(state, side);
    const isMatrix = verdict.matrix !== null && verdict.bytes === 16;
    const first = isMatrix ? Math.min(Math.floor(at.row / 8) * 8, shape.rows - 8) : 0;
    const rows = range(isMatrix ? 8 : Math.min(shape.rows, 32), 0).map((row) => row + first);
    const offsets = rows.map((row) => side.place(row, at.column) * shape.unitBytes);
    const lanes = isMatrix ? offsets : range(32).map((lane) => offsets[lane] ?? "-");
    const access = ask({ ask: "access", op: isMatrix ? "ldmatrix.x1" : "ld", bytes: String(verdict.bytes), offsets: lanes.join(",") });
    const what = isMatrix ? "ldmatrix" : `${count(verdict.bytes, "byte")} a lane`;
    return { access, first, name: `${what}, rows ${span(rows[0], rows.at(-1))} of column ${at.column}` };
  }

  /** That read in the banks, below its picture. */
  function wavefronts(ask, state, side, pick) {
    const read = columnRead(ask, state, side);
    if (!read) return null;
    const { access, first, name } = read;
    const { row, column } = lookedAt(state, side);
    return [
      h("p", { class: "ia-key" }, h("b", {}, count(access.table.wavefronts, "wavefront")), `: ${name}. Lanes in the banks, a line a wavefront:`),
      places.strip(access, { name, lane: row - first, onPick: (lane) => pick({ row: first + lane, col: column }) }),
    ];
  }

  /** The banks of a physical unit, as text and as a color. */
  function banksOfPlace(model, place) {
    const { banks, shape } = model;
    const first = place * shape.unitBytes;
    const all = Math.ceil(shape.unitBytes / banks.width);
    const from = Math.floor(first / banks.width) % banks.count;
    if (all >= banks.count) return { text: "all", named: "all banks", group: 0 };
    const text = span(from, from + all - 1);
    return { text, named: `bank${all > 1 ? "s" : ""} ${text}`, group: Math.floor(from / all) };
  }

  /** The selected logical unit, within the tile. */
  function lookedAt(state, model) {
    return { row: Math.min(state.row, model.shape.rows - 1), column: Math.min(state.col, model.shape.columns - 1) };
  }

  // ---- The picture ------------------------------------------------------------------------------------

  /** Memory as lines of 128 bytes, each once around the banks, whatever the row length. */
  function lines(state, side, pick) {
    const { shape, memory } = side;
    const across = LINE / shape.unitBytes;
    const all = Math.ceil((shape.rows * shape.columns) / across);
    const at = lookedAt(state, side);
    const chosen = side.place(at.row, at.column);
    const unitsAt = (line, slot) => {
      const place = line * across + slot;
      return memory[Math.floor(place / shape.columns)]?.[place % shape.columns] ?? [];
    };
    return h("figure", { class: "ia-figure" },
      ui.grid({
        label: "the row and logical column that each unit of each line of 128 bytes holds; arrows move",
        corner: "unit", rows: Math.min(all, MOST), columns: across, rowHead: (line) => `line ${line}`, columnHead: String,
        picked: chosen === null ? null : { row: Math.floor(chosen / across), column: chosen % across },
        cell: (line, slot) => {
          const found = unitsAt(line, slot);
          const where = `line ${line}, unit ${slot}`;
          if (found.length === 0) return { text: "·", name: `${where}: nothing`, classes: "ia-empty" };
          const names = found.map(({ row, column }) => `${row}.${column}`);
          return {
            text: names.join("+"), group: found[0].column,
            name: `${where}: row ${found.map(({ row, column }) => `${row} of column ${column}`).join(" and row ")}, ${banksOfPlace(side, line * across + slot).named}`,
            classes: `${found[0].column === at.column ? "ia-traced" : ""} ${found.length > 1 ? "ia-bad" : ""}`,
          };
        },
        onPick: (line, slot) => {
          const [logical] = unitsAt(line, slot);
          if (logical) pick({ row: logical.row, col: logical.column });
        },
      }),
      h("figcaption", {},
        `${titleOf(state, side)}: 3.1 is row 3 of column 1. ${count(shape.rowBytes, "byte")} a row, so a line of ${LINE} bytes has ${count(LINE / shape.rowBytes, "row")}.`));
  }

  const hasLines = ({ shape }) => LINE % shape.unitBytes === 0 && LINE % shape.rowBytes === 0;
  const titleOf = (state, side) => (side.side === "without" ? "Nothing moved" : side.swizzle ? side.swizzle.name : state.map);

  function picture(state, model, pick) {
    if (state.view === "lines" && hasLines(model)) return lines(state, model, pick);
    const inMemory = state.view !== "banks";
    const { columns } = model.shape;
    const at = lookedAt(state, model);
    const slotOf = (row, column) => {
      const place = model.place(row, column);
      return place === null ? null : place % columns;
    };
    const slot = slotOf(at.row, at.column);
    const isTraced = (logical, atSlot) => (state.trace === "column" ? logical?.column === at.column : atSlot === slot);
    const edges = (row, column) =>
      model.tile ? `${column > 0 && column % model.tile === 0 ? "ia-left " : ""}${row > 0 && row % model.tile === 0 ? "ia-top" : ""}` : "";
    const memoryCell = (row, column) => {
      const found = model.memory[row][column];
      const [first] = found;
      const where = `row ${row}, slot ${column}`;
      if (!first) return { text: "·", name: `${where}: nothing`, classes: `ia-empty ${edges(row, column)}` };
      const names = found.map((unit) => (unit.row === row ? `${unit.column}` : `${unit.row}.${unit.column}`));
      const { named } = banksOfPlace(model, row * columns + column);
      return {
        text: names.join("+"),
        name: `${where}: column ${names.join(" and ")}, ${named}`,
        group: first.column,
        classes: `${isTraced(first, column) ? "ia-traced" : ""} ${found.length > 1 ? "ia-bad" : ""} ${edges(row, column)}`,
      };
    };
    const bankCell = (row, column) => {
      const place = model.place(row, column);
      const where = `row ${row}, column ${column}`;
      if (place === null) return { text: "out", name: `${where}: outside the tile`, classes: "ia-empty" };
      const { text, named, group } = banksOfPlace(model, place);
      return {
        text, group, name: `${where}: ${named}, slot ${place % columns}`,
        classes: `${isTraced({ row, column }, place % columns) ? "ia-traced" : ""} ${edges(row, column)}`,
      };
    };
    const place = model.place(at.row, at.column);
    const picked = inMemory
      ? place === null ? null : { row: Math.floor(place / columns), column: place % columns }
      : at;
    const what = inMemory
      ? "the logical column that is stored in each slot of memory"
      : "the banks in which each logical column lies";
    const isCut = model.shownRows < state.rows || model.shownColumns < columns;
    return h("figure", { class: "ia-figure" },
      ui.grid({
        label: `${what}; arrows move`,
        corner: inMemory ? "slot" : "col",
        rows: model.shownRows, columns: model.shownColumns,
        rowHead: (row) => `row ${row}`, columnHead: String,
        cell: inMemory ? memoryCell : bankCell,
        picked,
        onPick: (row, column) => {
          const logical = inMemory ? model.memory[row][column][0] : { row, column };
          if (logical) pick({ row: logical.row, col: logical.column });
        },
      }),
      h("figcaption", {},
        `${titleOf(state, model)}: ${what}. `,
        isCut ? `${count(model.shownRows, "row")} of ${state.rows}, ${model.shownColumns} of ${columns} units of a row. ` : "",
        levels(model)));
  }

  /** Grid, tile, unit: how many of each. */
  function levels({ swizzle, tile, shape }) {
    const unit = `A unit is ${count(shape.unitBytes, "byte")}, a row ${count(shape.columns, "unit")}`;
    if (!tile) return `${unit}.`;
    const across = shape.columns / tile;
    const many = across === 1 ? "one to a row" : `${across} side by side in a row`;
    return `${unit}. The pattern is a tile of ${tile} × ${tile} units, ${many}; it repeats after ${swizzle.periodBytes.toLocaleString("en")} bytes.`;
  }

  // ---- The bits of an address -------------------------------------------------------------------------

  function bits(state, model) {
    const { shape, banks, swizzle, place: placeOf } = model;
    const at = lookedAt(state, model);
    const before = at.row * shape.rowBytes + at.column * shape.unitBytes;
    const place = placeOf(at.row, at.column);
    const elements = Math.max(shape.unitBytes / state.element, 1);
    const which = `Row ${at.row}, column ${at.column}`;
    if (place === null) return h("p", {}, `${which} would be outside the tile.`);
    const after = place * shape.unitBytes;
    const { named } = banksOfPlace(model, place);
    const firstElement = (at.column * shape.unitBytes) / state.element;
    const holds = Number.isInteger(firstElement)
      ? `, elements ${span(firstElement, firstElement + elements - 1)} of its row,`
      : "";
    const [unitBits, rowBits] = [log2(shape.unitBytes), log2(shape.rowBytes)];
    const least = Math.max(log2(banks.width * banks.count), Math.ceil(log2(shape.rows * shape.rowBytes)));
    const top = Math.min(Math.max(swizzle ? swizzle.base + Math.abs(swizzle.shift) + swizzle.bits : 0, least), 32);
    const numbers = range(top).reverse();
    const bit = (number, at) => Math.floor(number / 2 ** at) % 2;
    const field = (at) => (at < unitBits ? ["b", "byte of the unit"] : at < rowBits ? ["c", "column"] : ["r", "row"]);
    const isIn = (mask, at) => Boolean(swizzle) && model.side === "with" && bit(mask, at) === 1;
    const isBank = (at) => at >= log2(banks.width) && at < log2(banks.width * banks.count);
    const line = (name, of) => h("tr", {}, h("th", { scope: "row" }, name), numbers.map((at) => of(at)));
    const digits = (number) => (at) =>
      h("td", { class: isIn(swizzle?.yMask, at) ? "ia-y" : isIn(swizzle?.zMask, at) ? "ia-z" : null }, String(bit(number, at)));
    const table = h("div", { class: "ia-scroll" }, h("table", { class: "ia-bits" },
      h("caption", {}, "Address bits, the highest on the left"),
      h("thead", {}, h("tr", {}, h("th", { scope: "row" }, "bit"), numbers.map((at) => h("th", { scope: "col" }, at)))),
      h("tbody", {},
        Number.isInteger(rowBits) ? line("field", (at) => h("td", { title: field(at)[1], class: `ia-f${field(at)[0]}` }, field(at)[0])) : null,
        line("logical", digits(before)),
        line("XOR", (at) => h("td", {}, bit(before, at) === bit(after, at) ? "·" : "1")),
        line("physical", digits(after)),
        line("bank", (at) => h("td", { class: isBank(at) ? "ia-bank" : null }, isBank(at) ? "•" : "")))));
    const sentence =
      `${which}${holds} starts at byte ${before} and is stored at byte ${after}: slot ${place % shape.columns} of row ${Math.floor(place / shape.columns)}, ${named}.`;
    return [
      h("p", { "aria-live": "polite", class: "ia-said" }, sentence),
      table,
      h("p", { class: "ia-key" },
        Number.isInteger(rowBits) ? "r row, c column, b byte of a unit. " : "",
        swizzle && swizzle.bits > 0 && model.side === "with" ? [
          h("span", { class: "ia-y" }, "Y"), " bits are XORed into ", h("span", { class: "ia-z" }, "Z"), " bits. "] : "",
        "• bits choose the bank."),
      trace(state, model, at),
    ];
  }

  /** The whole column, or the whole slot, row by row. */
  function trace(state, model, at) {
    const { shape, place: placeOf } = model;
    const rows = range(Math.min(shape.rows, MOST));
    if (state.trace === "column") {
      const slots = rows.map((row) => {
        const place = placeOf(row, at.column);
        return place === null ? "out" : place % shape.columns;
      });
      return h("p", { class: "ia-said" }, `Column ${at.column} is stored, row by row, in slots ${slots.join(" ")}.`);
    }
    const place = placeOf(at.row, at.column);
    if (place === null) return null;
    const slot = place % shape.columns;
    const columns = rows.map((row) => model.memory[row][slot].map((unit) => unit.column).join("+") || "–");
    return h("p", { class: "ia-said" }, `Slot ${slot} holds, row by row, columns ${columns.join(" ")}.`);
  }

  // ---- The verdict ------------------------------------------------------------------------------------

  const way = (degree) => `${degree}-way`;
  const yes = (flag) => (flag ? "yes" : "no");

  function verdict(state, model) {
    const { with: one, without: other } = model.verdicts;
    const why = model.shape.rows < 8 ? "fewer than 8 rows" : "rows are not contiguous";
    const lines = [
      ["stays in its row", (v) => yes(!v.leaves)],
      ["bijective", (v) => yes(v.isBijective)],
      ["widest aligned access", (v) => (v.isSound ? count(v.widest, "byte") : "–")],
      ["read along a row", (v) => (v.isSound ? way(v.row) : "–"), (v) => v.row > 1],
      ["read down a column", (v) => (v.isSound ? way(v.column) : "–"), (v) => v.column > 1],
      ["ldmatrix", (v) => (v.isSound ? (v.matrix === null ? `no: ${why}` : way(v.matrix)) : "–"), (v) => v.matrix > 1],
    ];
    const cell = (v, of, isBad) => {
      const bad = v.isSound ? isBad?.(v) : of(v) === "no";
      return h("td", { class: bad ? "ia-bad" : v.isSound && isBad && of(v) === "1-way" ? "ia-good" : null }, of(v));
    };
    const name = model.swizzle ? model.swizzle.name : state.map;
    return h("section", { "aria-label": "verdict", class: "ia-verdict" },
      h("div", { class: "ia-scroll" }, h("table", {},
        h("thead", {}, h("tr", {}, h("th", {}), h("th", { scope: "col" }, "nothing moved"), h("th", { scope: "col" }, name))),
        h("tbody", {}, lines.map(([title, of, isBad]) =>
          h("tr", {}, h("th", { scope: "row" }, title), cell(other, of, isBad), cell(one, of, isBad)))))),
      h("div", { class: "ia-said", "aria-live": "polite", "data-notes": true }, notes(state, model, one).map((note) => h("p", {}, note))));
  }

  function notes(state, model, verdict) {
    const { shape, swizzle } = model;
    const said = [];
    if (verdict.leaves) {
      const { row, column, unit } = verdict.leaves;
      said.push(`Row ${row}, column ${column} leaves its row: it would map to unit ${unit} of 0 to ${shape.columns - 1}.`);
    }
    if (verdict.collision) {
      const [a, b] = verdict.collision;
      said.push(`Row ${a.row}, column ${a.column} and row ${b.row}, column ${b.column} map to the same place.`);
    }
    if (verdict.isSound) {
      said.push(`Degrees are of reads of ${count(verdict.bytes, "byte")} a lane, ${count(verdict.lanesInAPhase, "lane")} at a time.`);
    }
    if (verdict.pair) {
      const { first, second, bank, logicalColumn, offsets, spread } = verdict.pair;
      said.push(`First colliding pair in column ${logicalColumn}: lanes ${first} and ${second} (rows ${first} and ${second}) read bytes ${offsets.join(" and ")}, both in bank ${bank}.`);
      if (spread.length <= 8) {
        const parts = spread.map(([unit, rows]) => `unit ${unit} for rows ${rows.join(", ")}`);
        said.push(`Over ${count(shape.rows, "row")}, column ${logicalColumn} takes only ${count(spread.length, "unit")} of its ${shape.columns}: ${parts.join("; ")}. Rows that share a unit share its banks.`);
      }
    }
    if (swizzle) {
      const inElements = swizzle.base - log2(state.element);
      said.push(inElements >= 0
        ? `On offsets counted in elements of ${count(state.element, "byte")} it is Swizzle<${swizzle.bits},${inElements},${swizzle.shift}>.`
        : `Units of ${count(swizzle.unitBytes, "byte")} split elements of ${state.element}.`);
    }
    return said;
  }

  /** The command for the terminal; options with their default are omitted. */
  function commandOf(state, model) {
    const { shape, swizzle, banks } = model;
    const text = swizzle ? swizzle.expression : state.map.trim();
    const isPhase = shape.rows === model.phaseOfUnit;
    const options = [
      shape.rowBytes === 128 ? "" : ` --row-bytes ${shape.rowBytes}`,
      shape.unitBytes === 16 ? "" : ` --unit ${shape.unitBytes}`,
      isPhase ? "" : ` --rows ${shape.rows}`,
      state.bytes === "widest" || model.verdicts.with.bytes !== Number(state.bytes) ? "" : ` --bytes ${state.bytes}`,
      banks.count === 32 ? "" : ` --banks ${banks.count}`,
      banks.width === 4 ? "" : ` --bank-width ${banks.width}`,
    ];
    return `cargo ladder layout map ${ui.quoted(text)}${options.join("")}`;
  }

  // ---- The page ---------------------------------------------------------------------------------------

  function start(root, ask) {
    const place = places.placeOf(root, "workbench", DEFAULTS);
    let state = read();
    const controls = h("form", { class: "ia-controls", "aria-label": "settings", onsubmit: (event) => event.preventDefault() });
    const shown = h("div", { class: "ia-shown" });
    root.append(controls, shown);

    function read() {
      const found = place.read();
      const state = ui.merged(place.usual, found, ALLOWED);
      // A link to a mapping need not state its kind.
      return "map" in found && !("source" in found) ? { ...state, source: "map" } : state;
    }

    /** A change; `fields` says that the controls change, too. */
    function set(change, { fields = false } = {}) {
      state = { ...state, ...change };
      if (fields) drawControls();
      draw();
    }

    const refocused = (change, name) => {
      set(change, { fields: true });
      controls.querySelector(name)?.focus();
    };

    function drawControls() {
      const number = (name, label, min, max, hint) =>
        ui.numberField({ name, label, hint, min, max, value: state[name], onChange: (value) => set({ [name]: value }) });
      const select = (name, label, options) => ui.selectField({
        name, label, value: state[name],
        options: options.map((option) => (Array.isArray(option) ? option : [option, option])),
        onChange: (value) => set({ [name]: typeof DEFAULTS[name] === "number" ? Number(value) : value }),
      });
      const radios = (name, label, options, fields) =>
        ui.choice({
          name, label, options, value: state[name],
          onChange: (value) => (fields ? refocused({ [name]: value }, `[name=${name}]:checked`) : set({ [name]: value })),
        });
      const isSwizzle = state.source === "swizzle";
      const presets = isSwizzle
        ? PRESETS.map(([text, b, m, s]) => h("button", {
            type: "button", "data-preset": text,
            "aria-pressed": String(state.b === b && state.m === m && state.s === s),
            onclick: () => refocused({ b, m, s }, `[data-preset="${text}"]`),
          }, text))
        : EXAMPLES.map((text) => h("button", {
            type: "button", "data-preset": text, "aria-pressed": String(state.map === text),
            onclick: () => refocused({ map: text }, `[data-preset="${text}"]`),
          }, h("code", {}, text)));
      // Packed atoms are introduced in the chapter that begins with one.
      const packed = place.isChapter && place.usual.view !== "lines" ? "" : h("div", { class: "ia-presets", role: "group", "aria-label": "packed atoms" }, h("span", {}, "Packed atoms"),
        PACKED.map(([text, change]) => h("button", {
          type: "button", "data-packed": text, onclick: () => refocused(change, `[data-packed="${text}"]`),
        }, text)));
      const box = h("input", {
        type: "text", name: "map", value: state.map, spellcheck: "false", autocomplete: "off", autocapitalize: "off",
        "aria-describedby": "ia-language", oninput: () => set({ map: box.value }),
      });
      controls.replaceChildren(
        radios("source", "Mapping", [["swizzle", "a swizzle: B, M, S"], ["map", "one that I type"]], true),
        h("div", { class: "ia-presets", role: "group", "aria-label": "presets" }, presets),
        isSwizzle
          ? h("div", { class: "ia-row" },
              number("b", "B", 0, 8, "bits XORed"), number("m", "M", 0, 10, "low bits that stay"), number("s", "S", -10, 10, "places they travel"))
          : h("div", { class: "ia-row" },
              h("label", { class: "ia-field ia-wide" }, h("span", {}, places.formulaLabel("unit")), box,
                h("small", { id: "ia-language" }, "| ^ & << >> + - * / % ( ), 12, 0x1f, 0b1100, row, col; as in C"))),
        packed,
        more(
          h("div", { class: "ia-row" },
            number("rows", "Rows", 1, 256),
            isSwizzle ? null : [number("row_bytes", "Bytes of a row", 1, 65536), select("unit", "Unit, bytes", [1, 2, 4, 8, 16, 32, 64, 128])],
            select("element", "Element, bytes", ALLOWED.element),
            select("bytes", "Read, bytes a lane", [["widest", "widest"], "2", "4", "8", "16"]),
            select("banks", "Banks", [4, 8, 16, 32, 64]),
            select("width", "Bank, bytes", [1, 2, 4, 8, 16])),
          h("div", { class: "ia-row" },
            radios("view", "Show", [["memory", "memory"], ["lines", "lines of 128 bytes"], ["banks", "banks"]]),
            radios("swizzle", isSwizzle ? "Swizzle" : "Mapping", [["both", "without and with"], ["with", "with"], ["without", "without"]]),
            isSwizzle ? radios("extent", "Extent", [["grid", "full grid"], ["tile", "one tile"]]) : null,
            radios("trace", "Trace", [["column", "logical column"], ["slot", "physical slot"]]))));
    }

    let isOpen = !place.isChapter;
    /** Further settings: folded in a chapter. */
    function more(...rows) {
      if (!place.isChapter) return h("div", { class: "fig-all" }, rows);
      const details = h("details", { class: "ia-more", open: isOpen, ontoggle: () => { isOpen = details.open; } }, h("summary", {}, "More settings"), rows);
      return details;
    }

    function draw() {
      place.write(urlState());
      let model;
      try {
        model = modelOf(ask, state);
      } catch (error) {
        shown.replaceChildren(ui.refusal(error));
        return;
      }
      for (const button of controls.querySelectorAll("[data-preset]")) {
        const preset = PRESETS.find(([text]) => text === button.dataset.preset);
        const isOn = state.source === "swizzle"
          ? preset && preset[1] === state.b && preset[2] === state.m && preset[3] === state.s
          : button.dataset.preset === state.map;
        button.setAttribute("aria-pressed", String(Boolean(isOn)));
      }
      for (const button of controls.querySelectorAll("[data-packed]")) {
        const [, packed] = PACKED.find(([text]) => text === button.dataset.packed);
        button.setAttribute("aria-pressed", String(Object.entries(packed).every(([name, value]) => state[name] === value)));
      }
      const sides = state.swizzle === "both" ? ["without", "with"] : [state.swizzle];
      const pick = (side) => (change) => {
        set(change);
        ui.focusGrid(shown.querySelector(`[data-side=${side}]`));
      };
      shown.replaceChildren(
        h("div", { class: "fig-sides" }, sides.map((side) => {
          const one = model.sides[side];
          return h("section", { "data-side": side, "aria-label": titleOf(state, one) }, picture(state, one, pick(side)), wavefronts(ask, state, one, pick(side)));
        })),
        h("section", { class: "ia-address", "aria-label": "the chosen cell" }, bits(state, model.sides[sides.at(-1)])),
        verdict(state, model),
        ui.command(commandOf(state, model)),
        ...(place.isChapter ? [places.link("workbench.html", urlState(), DEFAULTS, "The same on a page of its own")] : []));
    }

    /** Only the parameters of the current source, so that links contain nothing irrelevant. */
    function urlState() {
      const { b, m, s, map, row_bytes, unit, source, ...common } = state;
      if (source === "swizzle") return { b, m, s, ...common };
      return { source, map, row_bytes, unit, ...common };
    }

    place.onChange(() => {
      state = read();
      drawControls();
      draw();
    });
    drawControls();
    draw();
  }

  globalThis.gemm.workbench = { DEFAULTS, PRESETS, modelOf, commandOf };
  ui.mount("workbench", start);
})();
