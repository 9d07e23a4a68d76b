// "Run it here": a button below the output of a command, which runs the same command in this page, with fields for the settings
// that a reader may change. Differences from the book's output are marked. Without WebAssembly there is no button.
(() => {
  "use strict";
  const { ui, live } = globalThis.gemm;
  const { h } = ui;
  if (!live.possible || /\/print(-[0-9a-f]+)?\.html$/.test(location.pathname)) return;

  const WORD = /^[\w./=:,+@-]+$/;
  const shell = (words) => words.map((word) => (WORD.test(word) ? word : ui.quoted(word))).join(" ");

  /** The words of a command from its fields; defaults are omitted. */
  function wordsOf({ head, path, fields }, values) {
    const isGiven = ({ name, default: usual }) => values[name] !== "" && values[name] !== (usual ?? "");
    const options = fields.filter(({ long }) => long).filter(isGiven)
      .flatMap(({ name, long, flag }) => (flag ? [`--${long}`] : [`--${long}`, values[name]]));
    const operands = fields.filter(({ long }) => !long).filter(({ name }) => values[name] !== "")
      .flatMap(({ name, several }) => (several ? values[name].split("\n").filter((line) => line.trim() !== "") : [values[name]]));
    const own = [...path, ...options, ...operands];
    const isCargoRun = head[1] === "run";
    return [...head, ...(isCargoRun && own.length > 0 ? ["--"] : []), ...own];
  }

  /** `cargo run -p rung05_swizzle` or `cargo ladder`, and the index of the command's own words. */
  const headOf = (words) => (words[1] === "run" ? words.slice(0, 4) : words.slice(0, 2));

  // ---- What changed -----------------------------------------------------------------------------------

  /** Pairs of old and new lines, either of which may be missing, by a longest common subsequence. */
  function paired(before, after) {
    const [m, n] = [before.length, after.length];
    const length = Array.from({ length: m + 1 }, () => new Uint32Array(n + 1));
    for (let i = m - 1; i >= 0; i -= 1) {
      for (let j = n - 1; j >= 0; j -= 1) {
        length[i][j] = before[i] === after[j] ? length[i + 1][j + 1] + 1 : Math.max(length[i + 1][j], length[i][j + 1]);
      }
    }
    const pairs = [];
    let [i, j] = [0, 0];
    while (i < m || j < n) {
      const [first, second] = [i, j];
      while ((i < m || j < n) && !(i < m && j < n && before[i] === after[j])) {
        if (j >= n || (i < m && length[i + 1][j] >= length[i][j + 1])) i += 1;
        else j += 1;
      }
      for (let k = 0; k < Math.max(i - first, j - second); k += 1) {
        pairs.push([first + k < i ? before[first + k] : null, second + k < j ? after[second + k] : null]);
      }
      while (i < m && j < n && before[i] === after[j]) {
        pairs.push([before[i], after[j]]);
        i += 1;
        j += 1;
      }
    }
    return pairs;
  }

  const pieces = (line) => line.match(/\s+|[\w.,%]+|[^\w\s]/g) ?? [];

  /** The new lines, with differences from the old ones marked. */
  function marked(before, after) {
    let changes = 0;
    const lines = paired(before.split("\n"), after.split("\n")).flatMap(([old, now]) => {
      if (old === now) return [`${now}\n`];
      changes += 1;
      if (now === null) return [];
      if (old === null) return [h("mark", {}, now === "" ? " " : now), "\n"];
      const parts = paired(pieces(old), pieces(now)).flatMap(([was, is]) =>
        (is === null ? [] : was === is || is.trim() === "" ? [is] : [h("mark", {}, is)]));
      return [...parts, "\n"];
    });
    return { lines, changes };
  }

  // ---- A command and its fields -----------------------------------------------------------------------

  /** A form field for an option; each change calls `onChange`. */
  function fieldOf(field, values, of, onChange) {
    const { name, long, help, flag, several } = field;
    const choices = of.choices[name] ?? field.values;
    const label = long ?? name.toLowerCase().replaceAll("_", " ");
    const set = (value) => { values[name] = value; onChange(); };
    const hint = help ? h("small", {}, help) : null;
    if (flag) {
      const box = h("input", { type: "checkbox", name, checked: values[name] === "true", onchange: () => set(box.checked ? "true" : "") });
      return h("label", { class: "ia-field ia-check" }, h("span", {}, box, ` ${label}`), hint);
    }
    if (choices.length > 0) {
      const options = [...(field.required || field.default ? [] : [["", of.own[name] ?? "–"]]), ...choices.map((one) => (Array.isArray(one) ? one : [one, one]))];
      const select = h("select", { name, onchange: () => set(select.value) },
        options.map(([value, text]) => h("option", { value, selected: value === values[name] }, text)));
      return h("label", { class: "ia-field" }, h("span", {}, label), select, hint);
    }
    const attributes = {
      name, spellcheck: "false", autocomplete: "off", autocapitalize: "off", placeholder: field.default ?? "",
      oninput: (event) => set(event.target.value),
    };
    const input = several ? h("textarea", { rows: 3, ...attributes }) : h("input", { type: "text", ...attributes });
    input.value = values[name];
    const isWide = several || values[name].length > 12;
    return h("label", { class: `ia-field${isWide ? " ia-wide" : ""}` }, h("span", {}, label), input, hint);
  }

  /** A link to the page that steps through the kernel of a rung's command; for `sanitize`, to its first finding. */
  function stepThrough(words) {
    const rung = words[3]?.match(/^rung(.+)$/)?.[1];
    if (!rung) return null;
    const kernel = words[words.indexOf("--kernel") + 1]?.match(/^book\/kernels\/(\w+)\.ptx$/)?.[1];
    const state = kernel ? `kernel=${kernel}` : `rung=${rung}`;
    return h("a", { href: `stepper.html#${state}${kernel && words.includes("sanitize") ? "&at=finding" : ""}` }, "Step through it");
  }

  /** Below one output of the book. */
  function mount(box) {
    // `whole`: the book shows only some lines of the output; the page shows all of it, and marks differences from the previous run.
    const { words, lines = {}, bundles = [], kernels = [], table = null, whole = false } = JSON.parse(box.dataset.run);
    const code = box.querySelector("pre code");
    if (!code) return;
    const [, ...rest] = code.textContent.replace(/\n$/, "").split("\n");
    let before = whole ? null : rest.join("\n");
    const open = h("button", { type: "button", class: "ia-open", "aria-expanded": "false", "aria-label": `Run it here: ${shell(words)}` }, "Run it here");
    const panel = h("div", { class: "ia run-here", hidden: true });
    box.append(h("div", { class: "ia run-bar" }, open, stepThrough(words)), panel);
    let isReady = false;
    open.addEventListener("click", async () => {
      const isOpen = open.getAttribute("aria-expanded") === "true";
      open.setAttribute("aria-expanded", String(!isOpen));
      panel.hidden = isOpen;
      if (isOpen || isReady) return;
      isReady = true;
      panel.replaceChildren(h("p", { class: "ia-key" }, "Loading the engine, about 1 MB, once …"));
      try {
        const ask = await live.ask();
        fill(ask({ ask: "fields", words }));
      } catch (error) {
        isReady = false;
        panel.replaceChildren(h("pre", { class: "ia-error", role: "alert" }, error.message));
      }
    });

    function fill({ path, choices, fields }) {
      const head = headOf(words);
      const values = Object.fromEntries(fields.map(({ name, flag, several, default: usual, given }) =>
        [name, flag ? (given.length > 0 ? "true" : "") : given.length > 0 ? given.join(several ? "\n" : ",") : usual ?? ""]));
      const files = {};
      let chosen = path;
      let running = null;
      const of = {
        choices: { kernel: kernels.map((kernel) => [kernel, kernel.split("/").at(-1)]) },
        own: { kernel: "the rung's own" },
      };
      const shown = fields.filter(({ name, hidden }) => !hidden && (name !== "kernel" || kernels.length > 0));
      const command = h("code", {});
      const start = h("button", { type: "submit", class: "ia-start" }, "Run");
      const stop = h("button", { type: "button", class: "ia-stop", disabled: true, onclick: () => running?.stop() }, "Stop");
      const reset = h("button", { type: "button", onclick: () => { fill({ path, choices, fields }); panel.querySelector(".ia-start").focus(); } }, "As in the book");
      const bar = h("progress", { hidden: true, "aria-label": "blocks emulated" });
      const said = h("p", { class: "ia-said", role: "status", "aria-live": "polite" });
      const output = h("pre", { class: "run-output", tabindex: 0, hidden: true, "aria-label": "output in this browser" });
      const current = () => wordsOf({ head, path: chosen, fields }, values);
      const draw = () => { command.textContent = shell(current()); };
      const subcommand = choices.length === 0 ? null : h("label", { class: "ia-field" }, h("span", {}, "what to do"),
        h("select", { name: "command", onchange: (event) => { chosen = event.target.value ? [event.target.value] : []; draw(); } },
          choices.map(({ name, help }) => h("option", { value: name === "run" ? "" : name, selected: name === (path[0] ?? "run"), title: help }, name))));
      const pasted = table === null ? null : h("label", { class: "ia-field ia-wide" }, h("span", {}, table),
        h("textarea", { name: "table", rows: 6, spellcheck: "false", oninput: (event) => { files[table] = event.target.value; } }));
      if (pasted) {
        live.files([table]).then((found) => { pasted.querySelector("textarea").value = found[table]; }).catch(() => {});
      }
      const form = h("form", {
        class: "ia-controls", "aria-label": `settings of ${shell(words)}`,
        onsubmit: (event) => { event.preventDefault(); run(); },
      },
      h("div", { class: "ia-row" }, subcommand, shown.map((field) => fieldOf(field, values, of, draw))), pasted,
      h("div", { class: "ia-row" }, start, stop, reset, bar));
      panel.replaceChildren(form, h("div", { class: "ia-command" }, h("pre", {}, command)), said, output);
      draw();

      async function run() {
        if (running) return;
        const now = current();
        const extra = now.includes("--kernel") ? [now[now.indexOf("--kernel") + 1]] : [];
        start.disabled = true;
        stop.disabled = false;
        bar.hidden = false;
        bar.removeAttribute("value");
        said.textContent = "Running …";
        output.hidden = true;
        const begun = performance.now();
        running = live.run({ ask: "command", words: now, lines }, {
          bundles: [...new Set([...bundles, ...extra])], files,
          onProgress: (done, all) => { bar.max = all; bar.value = done; },
        });
        try {
          const answer = await running.answer;
          const seconds = ((performance.now() - begun) / 1000).toFixed(1);
          const { lines: text, changes } = marked(before ?? answer.shown, answer.shown);
          output.replaceChildren(h("code", {}, text));
          output.hidden = false;
          const other = whole ? "those of the previous run" : "the book's";
          const what = before === null ? "the whole output"
            : changes > 0 ? `${ui.count(changes, "line")} ${changes === 1 ? "differs" : "differ"} from ${other}, marked`
              : `the same as ${whole ? "before" : "in the book"}`;
          if (whole) before = answer.shown;
          said.textContent = `${what}; ${seconds} s in this browser${answer.code === 0 ? "" : `; exit code ${answer.code}`}`;
        } catch (error) {
          said.textContent = error instanceof live.Stopped ? "Stopped." : `It did not run: ${error.message}`;
        } finally {
          running = null;
          start.disabled = false;
          stop.disabled = true;
          bar.hidden = true;
        }
      }
    }
  }

  for (const box of document.querySelectorAll(".run[data-run]")) mount(box);

  globalThis.gemm.runHere = { wordsOf, headOf, marked, shell };
})();
