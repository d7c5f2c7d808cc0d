// SPDX-License-Identifier: BSD-2-Clause
//
// Runs scenarios in the simulator that web pages have: node wasm.mjs SIMULATOR.JS MODULE RUNS FOLDER
//
// RUNS is a file of JSON, a list of runs, each with its parts and until when it goes. The records of
// run N go to the file N in FOLDER, what was counted to standard output: for each run a list, or
// the text of what the simulator refused.

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";

const [script, wasm, runs, folder] = process.argv.slice(2);
const simulate = new Function(`${readFileSync(script, "utf8")}; return simulate;`)();
const module = new WebAssembly.Module(readFileSync(wasm));
const said = [];
for (const [number, { parts, until }] of JSON.parse(readFileSync(runs, "utf8")).entries()) {
  try {
    const { records, counts } = simulate(module, parts, until);
    writeFileSync(join(folder, `${number}`), records);
    said.push(counts);
  } catch (error) {
    said.push(error.message);
  }
}
process.stdout.write(JSON.stringify(said));
