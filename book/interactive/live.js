// The book's engine (book/live), loaded when it is first used: in this page for small questions, in a worker for runs.
//
// gemm.live.possible          whether this browser can run it
// gemm.live.ask()             a promise of a function that answers a request at once, in this page
// gemm.live.run(request, …)   { answer, stop }: the same in a worker, which does not block the page
//
// Requests and answers are listed in book/live/README.md. From disk Chromium opens neither modules nor workers by their
// address, so the module comes as text in a script and the worker from a Blob.
(() => {
  "use strict";

  const root = new URL("../", document.currentScript.src);
  const possible = typeof WebAssembly === "object" && typeof Worker === "function"
    && typeof DecompressionStream === "function" && typeof Blob === "function";

  /** The engine as one function, from an instance of the module. The worker gets this text, too, so it uses nothing from here. */
  function engine(instance) {
    const { memory, request, call, answer } = instance.exports;
    return (question) => {
      const bytes = new TextEncoder().encode(JSON.stringify(question));
      const at = request(bytes.length);
      new Uint8Array(memory.buffer).set(bytes, at);
      const length = call(at, bytes.length);
      const found = JSON.parse(new TextDecoder().decode(new Uint8Array(memory.buffer, answer(), length)));
      if (found.error !== undefined) throw Object.assign(new Error(found.error), { name: "Refused" });
      return found;
    };
  }

  const waiting = new Map();

  /** Loads a script of the book once; the script calls `arrived` with its name. */
  function arrival(name, path) {
    if (!waiting.has(name)) {
      const entry = {};
      entry.promise = new Promise((resolve, reject) => Object.assign(entry, { resolve, reject }));
      waiting.set(name, entry);
      const script = document.createElement("script");
      script.src = new URL(path, root);
      script.onerror = () => {
        waiting.delete(name);
        entry.reject(new Error(`${path} could not be loaded; try again`));
      };
      document.head.append(script);
    }
    return waiting.get(name).promise;
  }

  const arrived = (name, what) => waiting.get(name)?.resolve(what);

  /** Decodes and unpacks base64. */
  async function unpacked(text) {
    const packed = Uint8Array.from(atob(text), (one) => one.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(stream).arrayBuffer();
  }

  let compiled = null;
  /** The module, compiled once. */
  function module() {
    compiled ??= arrival("module", "live/module.js").then(unpacked).then(WebAssembly.compile);
    compiled.catch(() => { compiled = null; });
    return compiled;
  }

  /** The files of these bundles, such as rungs/05_swizzle or book/kernels/two_stages.ptx. */
  async function filesOf(bundles) {
    const files = await Promise.all(bundles.map((name) => arrival(name, `live/files/${name}.js`)));
    return Object.assign({}, ...files);
  }

  let here = null;
  /** A function that answers in this page. */
  function ask() {
    here ??= module()
      .then((module) => WebAssembly.instantiate(module, { page: { progress() {}, panicked() {} } }))
      .then(engine);
    here.catch(() => { here = null; });
    return here;
  }

  /** The worker's code: it gets the module, files and a request, once. */
  function work(engine) {
    onmessage = async ({ data: { module, files, request } }) => {
      let instance = null;
      let panic = "";
      const page = {
        progress: (done, all) => postMessage({ done, all }),
        panicked: (at, length) => {
          panic = new TextDecoder().decode(new Uint8Array(instance.exports.memory.buffer, at, length));
        },
      };
      try {
        instance = await WebAssembly.instantiate(module, { page });
        const ask = engine(instance);
        ask({ ask: "files", files });
        postMessage({ answer: ask(request) });
      } catch (error) {
        postMessage({ error: panic || (error.name === "RuntimeError" ? `the engine stopped: ${error.message}` : error.message) });
      }
    };
  }

  let address = null;
  const workerAddress = () => {
    address ??= URL.createObjectURL(new Blob([`"use strict";(${work})(${engine})`], { type: "text/javascript" }));
    return address;
  };

  /** Rejects a request that was stopped. */
  class Stopped extends Error {}

  /** Answers a request in a worker that has the files of these bundles. Calls `onProgress(done, all)` with numbers of blocks. */
  function run(request, { bundles = [], files = {}, onProgress = () => {} } = {}) {
    let worker = null;
    let refuse = null;
    const stopped = new Promise((_, reject) => { refuse = reject; });
    stopped.catch(() => {});
    const answer = (async () => {
      const loaded = Promise.all([module(), filesOf(bundles)]);
      const [compiled, given] = await Promise.race([loaded, stopped]);
      const answered = new Promise((resolve, reject) => {
        worker = new Worker(workerAddress());
        worker.onmessage = ({ data }) => {
          if (data.all !== undefined) onProgress(data.done, data.all);
          else if (data.error !== undefined) reject(new Error(data.error));
          else resolve(data.answer);
        };
        worker.onerror = (event) => reject(new Error(event.message || "the worker could not be started"));
        worker.postMessage({ module: compiled, files: { ...given, ...files }, request });
      });
      return Promise.race([answered, stopped]);
    })().finally(() => worker?.terminate());
    return { answer, stop: () => refuse(new Stopped("stopped")) };
  }

  globalThis.gemm = Object.assign(globalThis.gemm ?? {}, {
    live: { possible, ask, run, files: filesOf, arrived, Stopped },
  });
})();
