import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { FROM_GUEST } from "../../src/wire/messages.ts";
import { GuestProcess } from "./guest-process.ts";

const DAMAGE: Readonly<Record<string, string>> = {
  "replaces a method of strings": "String.prototype.startsWith = () => true; return 1",
  "replaces it after an await": "await null; String.prototype.startsWith = () => true; return 1",
  "replaces how patterns are matched": "RegExp.prototype.exec = () => null; return 1",
  "replaces a flag of patterns": "Object.defineProperty(RegExp.prototype, 'flags', { get: () => '' }); return 1",
  "replaces how lists are gone through": "Object.getPrototypeOf([].values()).next = () => ({ done: true }); return 1",
  "sets an index for all lists": "Array.prototype[5_000] = 1; return 1",
  "adds to all objects": "Object.prototype.get = () => 1; return 1",
  "removes a global": "delete globalThis.Function; return 1",
  "puts a getter that throws in place of a tool":
    "Object.defineProperty(Reflect, 'apply', { get() { throw 1 } }); return 1",
  "replaces how events are sent": "require('node:events').prototype.emit = () => true; return 1",
  "fails when it has done it": "String.prototype.trim = () => ''; throw new Error('x')",
};
const HARMLESS: Readonly<Record<string, string>> = {
  "adds a method to lists": "Array.prototype.last = function () { return this[this.length - 1] }; return [1].last()",
  "sets globals": "globalThis.count = 1; globalThis.setTimeout = () => {}; return 1",
  "changes modules of Node": "require('node:fs').readFileSync = () => ''; return 1",
  "makes classes of its own": "class A extends Map { get() { return 1 } } return new A().get()",
};

describe("a guest after the first run of a code", () => {
  for (const [what, code] of Object.entries(DAMAGE)) {
    it(`asks to be replaced when it ${what}`, async () => {
      await using guest = await GuestProcess.start();
      const asked = guest.frame(FROM_GUEST.retire);
      const { result, fault } = await guest.run(code);
      // Before the answer, so that whoever reads the answer is given to another guest.
      assert.ok(result ?? fault);
      await asked;
    });
  }

  it("stays when the code left its tools alone", async () => {
    await using guest = await GuestProcess.start();
    let asked = false;
    void guest.frame(FROM_GUEST.retire).then(() => (asked = true));
    for (const code of Object.values(HARMLESS)) assert.equal(await guest.value(code), 1);
    await guest.ping();
    assert.equal(asked, false);
  });
});
