// SPDX-License-Identifier: BSD-2-Clause
//
// Perfetto's trace processor, as its web page has it: node trace_processor.mjs FOLDER FROM TO
//
// FOLDER holds engine_bundle.js, the worker of ui.perfetto.dev, and the WebAssembly that it loads.
// FROM holds the requests (a TraceProcessorRpcStream), the stream of replies goes to TO. The worker
// expects a browser: it is given what it uses of one, with the files of FOLDER as the net.

import { appendFileSync, readFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";

const [folder, from, to] = process.argv.slice(2);

class FileRequest {
  open(_method, name) {
    this.name = name;
  }
  send() {
    this.response = readFileSync(join(folder, this.name));
  }
}

const worker = { location: { href: "https://ui.perfetto.dev/engine_bundle.js" } };
const browser = {
  self: worker,
  process: undefined,
  WorkerGlobalScope: class {},
  importScripts() {},
  XMLHttpRequest: FileRequest,
};
const bundle = readFileSync(join(folder, "engine_bundle.js"), "utf8");
new Function(...Object.keys(browser), bundle)(...Object.values(browser));

// The WebAssembly is there, and the promises that waited for it are done once this one is.
await new Promise((resolve) => setImmediate(resolve));
const port = { postMessage: (reply) => appendFileSync(to, reply) };
worker.onmessage({ data: port });
port.onmessage({ data: new Uint8Array(readFileSync(from)) });
