// The committed module in Node.js: `node module.mjs module.js`. A request a line on standard input, an answer a line on
// standard output; a request after which the module stops is answered by `{"error": …}`.
import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";

const [, text] = readFileSync(process.argv[2], "utf8").match(/"module", "([^"]*)"/);
const module = new WebAssembly.Module(gunzipSync(Buffer.from(text, "base64")));
let panic = "";
const { memory, request, call, answer } = new WebAssembly.Instance(module, {
  page: {
    progress() {},
    panicked: (at, length) => { panic = new TextDecoder().decode(new Uint8Array(memory.buffer, at, length)); },
  },
}).exports;

for (const line of readFileSync(0, "utf8").split("\n").filter((line) => line !== "")) {
  const bytes = new TextEncoder().encode(line);
  const at = request(bytes.length);
  new Uint8Array(memory.buffer).set(bytes, at);
  try {
    const length = call(at, bytes.length);
    console.log(new TextDecoder().decode(new Uint8Array(memory.buffer, answer(), length)));
  } catch (error) {
    console.log(JSON.stringify({ error: panic || error.message }));
    process.exit(1);
  }
}
