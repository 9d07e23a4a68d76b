// Shared by the interactive pages: elements, fields, a grid with keyboard navigation, state in the URL.
(() => {
  "use strict";

  /** An element; attributes that are null or false are omitted, functions become listeners. */
  function h(tag, attributes = {}, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (typeof value === "function") element.addEventListener(name.slice(2), value);
      else if (value !== null && value !== undefined && value !== false) {
        element.setAttribute(name, value === true ? "" : value);
      }
    }
    element.append(...children.flat().filter((child) => child !== null && child !== undefined));
    return element;
  }

  /** A labeled number; reports each change to an integer within bounds, and names the bounds after any other change. */
  function numberField({ name, label, hint, min, max, value, onChange }) {
    const input = h("input", {
      type: "number", name, min, max, value, inputmode: "numeric",
      oninput: () => {
        const number = Number(input.value);
        const isFine = input.value !== "" && Number.isInteger(number) && number >= min && number <= max;
        input.setAttribute("aria-invalid", String(!isFine));
        below.textContent = isFine ? hint ?? "" : `an integer from ${min} to ${max}`;
        if (isFine) onChange(number);
      },
    });
    const below = h("small", {}, hint ?? "");
    return h("label", { class: "ia-field" }, h("span", {}, label), input, below);
  }

  /** A labeled list of [value, text]. */
  function selectField({ name, label, options, value, onChange }) {
    const select = h("select", { name, onchange: () => onChange(select.value) },
      options.map(([option, text]) => h("option", { value: option, selected: String(option) === String(value) }, text)));
    return h("label", { class: "ia-field" }, h("span", {}, label), select);
  }

  /** Radio buttons, side by side. */
  function choice({ name, label, options, value, onChange }) {
    return h("fieldset", { class: "ia-choice" }, h("legend", {}, label),
      h("div", {}, options.map(([option, text]) =>
        h("label", {}, h("input", {
          type: "radio", name, value: option, checked: option === value, onchange: () => onChange(option),
        }), h("span", {}, text)))));
  }

  /** Where the mouse was seen last. */
  let mouse = "";

  /**
   * A table of cells of which one is in the tab order; arrows, Home and End move it. `cell(row, column)`
   * gives text, name (for screen readers), group (color), classes. `onPick(row, column)` is called for
   * clicks and keyboard moves, `onPoint` also for a hovering mouse, with nulls when it leaves.
   */
  function grid({ label, corner = "", rows, columns, rowHead, columnHead, cell, picked, onPick, onPoint = null }) {
    const cells = [];
    const focusable = picked && picked.row < rows && picked.column < columns ? picked : { row: 0, column: 0 };
    const body = Array.from({ length: rows }, (_, row) => {
      const line = Array.from({ length: columns }, (_, column) => {
        const { text, name, group = null, classes = "" } = cell(row, column);
        const isPicked = picked && picked.row === row && picked.column === column;
        return h("td", {
          role: "gridcell", "aria-label": name, "data-row": row, "data-column": column,
          "aria-selected": String(Boolean(isPicked)),
          tabindex: focusable.row === row && focusable.column === column ? 0 : -1,
          class: [group === null ? "" : `ia-g${group % 8}`, classes].join(" ").trim() || null,
        }, text);
      });
      cells.push(line);
      return h("tr", {}, h("th", { scope: "row" }, rowHead(row)), line);
    });
    const place = (event) => {
      const found = event.target.closest?.("td[data-row]");
      return found ? [Number(found.dataset.row), Number(found.dataset.column)] : null;
    };
    const table = h("table", {
      role: "grid", "aria-label": label, class: "ia-grid",
      onclick: (event) => { const at = place(event); if (at) onPick(...at); },
      onmouseover: (event) => {
        // A table that is redrawn under a resting mouse is not pointed at.
        const now = `${event.screenX},${event.screenY}`;
        const at = now === mouse ? null : place(event);
        mouse = now;
        if (at && onPoint) onPoint(...at);
      },
      onmouseleave: () => onPoint?.(null, null),
      onkeydown: (event) => {
        const at = place(event);
        const steps = {
          ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1],
          Home: [0, -columns], End: [0, columns],
        };
        const isPick = event.key === "Enter" || event.key === " ";
        if (!at || event.altKey || event.ctrlKey || event.metaKey || !(isPick || steps[event.key])) return;
        // mdBook turns pages with the same keys.
        event.preventDefault();
        event.stopPropagation();
        const [down, right] = steps[event.key] ?? [0, 0];
        const clamp = (number, end) => Math.min(Math.max(number, 0), end - 1);
        onPick(clamp(at[0] + down, rows), clamp(at[1] + right, columns));
      },
    },
    h("thead", {}, h("tr", {}, h("th", {}, corner),
      Array.from({ length: columns }, (_, column) => h("th", { scope: "col" }, columnHead(column))))),
    h("tbody", {}, body));
    return h("div", { class: "ia-scroll" }, table);
  }

  /** Focuses the cell in the tab order, so that the focus stays in a grid that was redrawn after a click
   *  or a key. If the page got the focus, the next arrow would turn it. */
  function focusGrid(parent) {
    parent.querySelector('td[tabindex="0"]')?.focus({ preventScroll: false });
  }

  /** Name and value pairs, as a list of terms. */
  const facts = (pairs) =>
    h("dl", { class: "ia-facts" }, pairs.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))));

  /** A command line with a button that copies it. */
  function command(text) {
    const button = h("button", {
      type: "button", class: "ia-copy",
      onclick: async () => {
        try {
          await navigator.clipboard.writeText(text);
          button.textContent = "copied";
        } catch {
          // Not allowed here, but the text can still be selected.
          getSelection().selectAllChildren(code);
        }
      },
    }, "copy");
    const code = h("code", {}, text);
    return h("div", { class: "ia-command" }, h("span", {}, "In the terminal"), h("pre", {}, code), button);
  }

  /** 'x', quoted for a shell. */
  const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;

  /** The address's fragment, as pairs. */
  const readState = () => Object.fromEntries(new URLSearchParams(location.hash.slice(1)));

  /** Sets the fragment to the pairs that differ from the defaults, without a new history entry. */
  function writeState(state, defaults) {
    const parameters = new URLSearchParams();
    for (const [name, value] of Object.entries(state)) {
      if (String(value) !== String(defaults[name])) parameters.set(name, value);
    }
    // Commas and the like are allowed there, and easier to read unescaped.
    const text = parameters.toString().replaceAll("%2C", ",");
    history.replaceState(null, "", `${location.pathname}${location.search}${text ? `#${text}` : ""}`);
  }

  /** Defaults, overridden by a URL; numbers stay numbers, and disallowed values are dropped. */
  function merged(defaults, read, allowed = {}) {
    const state = { ...defaults };
    for (const [name, text] of Object.entries(read)) {
      if (!Object.hasOwn(defaults, name)) continue;
      const value = typeof defaults[name] === "number" ? Number(text) : text;
      const isFine = typeof value === "number" ? text.trim() !== "" && Number.isInteger(value) : true;
      if (isFine && (!allowed[name] || allowed[name].includes(value))) state[name] = value;
    }
    return state;
  }

  /** 1 unit, 2 units. */
  const count = (number, noun) => `${number} ${noun}${number === 1 ? "" : "s"}`;
  /** 0 to 3, or 5. */
  const span = (first, last) => (first === last ? `${first}` : `${first}–${last}`);

  /**
   * Starts a page in its place, with the engine's `ask`. The printed book, and browsers without WebAssembly, keep what readers
   * without JavaScript see.
   */
  function mount(name, start) {
    const { live } = globalThis.gemm;
    if (!live.possible || /\/print(-[0-9a-f]+)?\.html$/.test(location.pathname)) return;
    for (const place of document.querySelectorAll(`[data-interactive="${name}"]`)) {
      place.setAttribute("aria-busy", "true");
      live.ask().then((ask) => {
        const root = h("div", { class: "ia" });
        place.replaceChildren(root);
        start(root, remembered(ask));
      }).catch((error) => {
        // Keep what readers without JavaScript see.
        place.prepend(h("p", { class: "ia-error", role: "alert" }, error.message));
        console.error(error);
      }).finally(() => place.removeAttribute("aria-busy"));
    }
  }

  /** The same function with a cache of its last answers, because a page that is redrawn asks again. */
  function remembered(ask) {
    const answers = new Map();
    return (request) => {
      const key = JSON.stringify(request);
      if (!answers.has(key)) {
        if (answers.size > 50) answers.clear();
        answers.set(key, ask(request));
      }
      return answers.get(key);
    };
  }

  /** Shows the engine's error messages; any other error is a bug of the page. */
  function refusal(error) {
    if (error.name !== "Refused") throw error;
    return h("pre", { class: "ia-error", role: "alert" }, error.message);
  }

  /** The integers from `start` up to, but not including, `end`. */
  const range = (end, start = 0) => Array.from({ length: end - start }, (_, i) => start + i);

  const LANES = 32;

  /** A warp's accesses to shared memory, as `cargo ladder banks` names them. */
  const OPERATIONS = ["ld", "st", ...["ldmatrix", "stmatrix"].flatMap((name) =>
    [1, 2, 4].flatMap((count) => [`${name}.x${count}`, `${name}.x${count}.trans`]))];

  /** The number of addresses of an operation. */
  const addressesOf = (op) => 8 * Number(op.match(/x(\d)/)?.[1] ?? 4);

  globalThis.gemm = Object.assign(globalThis.gemm ?? {}, {
    ui: {
      h, numberField, selectField, choice, grid, focusGrid, facts, command, quoted,
      readState, writeState, merged, count, span, mount, refusal, range, LANES, OPERATIONS, addressesOf,
    },
  });
})();
