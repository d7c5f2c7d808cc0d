// SPDX-License-Identifier: BSD-2-Clause
//
// Runs a scenario in the simulator, which is a WebAssembly module (hosts/sim/wasm/exports.cpp).
"use strict";

// The parts of the scenario are objects, whose "part" names what is told and whose other values
// are told in their order: numbers, lists, or null for none. A "name", an "etf" and an "sbf" are
// for others. The run goes up to the instant. What it returns: the bytes of the records, and what
// was counted, a row for each task, then one for each vcpu, as in hosts/sim/count_rows.h. An Error
// says what the simulator refuses, a RangeError that there are more bytes than these, which ends a
// run without an end.
function simulate(module, parts, untilNs, mostBytes = Infinity) {
  const written = [];
  let left = mostBytes;
  let memory = null;
  const view = () => new DataView(memory.buffer);
  const imports = {
    page: {
      refuse(why) {
        const bytes = new Uint8Array(memory.buffer, why);
        throw new Error(new TextDecoder().decode(bytes.slice(0, bytes.indexOf(0))));
      },
    },
    // Of the system's interface the simulator has its records written.
    wasi_snapshot_preview1: {
      fd_write(_file, pieces, count, size) {
        let total = 0;
        for (let at = pieces; at < pieces + 8 * count; at += 8) {
          const [from, length] = [view().getUint32(at, true), view().getUint32(at + 4, true)];
          written.push(new Uint8Array(memory.buffer.slice(from, from + length)));
          total += length;
        }
        left -= total;
        if (left < 0) throw new RangeError("too many records to draw");
        view().setUint32(size, total, true);
        return 0;
      },
      fd_close: () => 0,
      fd_seek: () => 0,
    },
  };
  const { exports } = new WebAssembly.Instance(module, imports);
  memory = exports.memory;
  exports._initialize();
  for (const { part, ...values } of parts) {
    const told = Object.keys(values).filter((key) => !["name", "etf", "sbf"].includes(key));
    const numbers = told.map((key) => values[key]).flatMap((one) =>
      Array.isArray(one) ? [one.length, ...one] : [one ?? -1]);
    const room = exports.room(numbers.length);
    const whole = numbers.map(BigInt);
    const beyond = whole.find((one) =>
      one !== BigInt.asIntN(64, one) && one !== BigInt.asUintN(64, one));
    if (beyond !== undefined) throw new Error(`${part}: found ${beyond}; allowed: 64 bits`);
    new BigInt64Array(memory.buffer, room, numbers.length).set(whole);
    exports[part]();
  }
  exports.start();
  exports.advance(BigInt(untilNs));
  exports.finish();
  const records = new Uint8Array(written.reduce((sum, piece) => sum + piece.length, 0));
  written.reduce((at, piece) => {
    records.set(piece, at);
    return at + piece.length;
  }, 0);
  const counts = exports.counts();
  const rows = new BigInt64Array(memory.buffer, counts, exports.numbers());
  return { records, counts: [...rows].map(Number) };
}
