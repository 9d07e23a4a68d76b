// Shared by the figures in chapters: a figure's place, its state in the address, and the wavefronts of an access as a strip.
(() => {
  "use strict";
  const { ui } = globalThis.gemm;
  const { h, count, range } = ui;

  /**
   * A figure's place: a separate page, or a chapter, whose element has `data-start` (differences from the defaults, as
   * JSON) and `data-say` (what to look at and what to try). In a chapter the state follows `figure=NAME`, and only after a change:
   * before that, the fragment is a heading of the chapter.
   */
  function placeOf(root, name, defaults) {
    const { start, say } = root.parentElement.dataset;
    const isChapter = start !== undefined;
    const usual = { ...defaults, ...JSON.parse(start ?? "{}") };
    const isMine = () => !isChapter || ui.readState().figure === name;
    if (say) root.append(h("p", { class: "ia-say" }, say));
    // mdBook's keys are for the page: not while a field has the focus, and the arrows not within a figure.
    root.addEventListener("keydown", (event) => {
      const isField = event.target.matches("input, select, textarea");
      if (isField || event.key === "ArrowLeft" || event.key === "ArrowRight") event.stopPropagation();
    });
    let isDrawn = false;
    return {
      isChapter, usual,
      read: () => (isMine() ? ui.readState() : {}),
      write(state) {
        if (!isChapter) ui.writeState(state, usual);
        else if (isDrawn) ui.writeState({ figure: name, ...state }, usual);
        isDrawn = true;
      },
      onChange(then) {
        addEventListener("hashchange", () => { if (isMine()) then(); });
        if (isChapter && isMine()) root.parentElement.scrollIntoView();
      },
    };
  }

  /** What a formula that moves the units of a tile computes. */
  const formulaLabel = (unit) => [`Where in its row the ${unit} in row `, h("code", {}, "row"), " and column ", h("code", {}, "col"), " is stored"];

  /** A link to a page with a state that differs from the page's defaults. */
  function link(page, state, defaults, text) {
    const different = Object.entries(state).filter(([name, value]) => String(value) !== String(defaults[name]));
    const parameters = new URLSearchParams(different).toString().replaceAll("%2C", ",");
    return h("p", { class: "ia-key" }, h("a", { href: `${page}${parameters ? `#${parameters}` : ""}` }, text));
  }

  /** The first bank that serves a lane, with the wavefront, counted from 0, and the word. */
  function servedOf({ table }, lane) {
    let wavefront = 0;
    for (const phase of table.phases) {
      for (const words of phase.passes) {
        const bank = words.findIndex((word) => word?.lanes.includes(lane));
        if (bank >= 0) return { bank, wavefront, phase, word: words[bank] };
        wavefront += 1;
      }
    }
    return null;
  }

  /**
   * The wavefronts of an access, one line each, with a mark for each bank and the lane that it serves, colored by `groupOf`. Clicks
   * call `onPick`.
   */
  function strip(access, { name, lane = null, groupOf = (lane) => lane, onPick = null }) {
    const { phases, wavefronts } = access.table;
    const lines = phases.flatMap(({ number, passes }) => passes.map((words, pass) => h("div", { class: pass === 0 && number > 0 ? "fig-phase" : null },
      words.map((word) => {
        if (!word) return h("i");
        const [first, ...others] = word.lanes;
        const isHere = word.lanes.includes(lane);
        return h("i", { class: `ia-g${groupOf(first) % 8} fig-on${isHere ? " fig-here" : ""}`, "data-lane": first },
          h("span", {}, others.length > 0 ? `${first}+` : first));
      }))));
    const busy = lines.length > 0 ? lines : [h("div", {}, range(32).map(() => h("i")))];
    return h("div", {
      class: "fig-strip", role: "img", "data-wavefronts": wavefronts,
      "aria-label": `${name}: ${count(wavefronts, "wavefront")}, each of 32 banks`,
      onclick: (event) => {
        const mark = event.target.closest("[data-lane]");
        if (mark && onPick) onPick(Number(mark.dataset.lane));
      },
    },
    h("div", { class: "fig-banks", "aria-hidden": "true" }, range(32).map((bank) => h("small", {}, bank === 0 ? "bank 0" : bank % 4 === 0 ? bank : ""))), busy,
    onPick ? h("small", { class: "fig-narrow", "aria-hidden": "true" }, "Tap a mark to see its lane.") : null);
  }

  /** The lanes of a warp, one of them selected. `cell(lane)` is as in a grid. */
  function lanes({ label, columns, picked, cell, onPick }) {
    return ui.grid({
      label: `${label}; arrows move`, corner: "lane", rows: 32 / columns, columns,
      rowHead: (row) => row * columns, columnHead: (column) => `+${column}`,
      picked: { row: Math.floor(picked / columns), column: picked % columns },
      cell: (row, column) => cell(row * columns + column),
      onPick: (row, column) => onPick(row * columns + column),
    });
  }

  Object.assign(globalThis.gemm, { places: { placeOf, formulaLabel, link, servedOf, strip, lanes } });
})();
