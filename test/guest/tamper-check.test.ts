import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { FROM_GUEST } from "../../src/wire/messages.ts";
import { GuestProcess } from "./guest-process.ts";

const TAMPERING: Readonly<Record<string, string>> = {
  "replaces a method of strings": "String.prototype.startsWith = () => true; return 1",
  "replaces it after an await": "await null; String.prototype.startsWith = () => true; return 1",
  "replaces the method that matches patterns": "RegExp.prototype.exec = () => null; return 1",
  "replaces a flag of patterns": "Object.defineProperty(RegExp.prototype, 'flags', { get: () => '' }); return 1",
  "replaces the iterator of arrays": "Object.getPrototypeOf([].values()).next = () => ({ done: true }); return 1",
  "sets an index for all arrays": "Array.prototype[5_000] = 1; return 1",
  "adds a property to all objects": "Object.prototype.get = () => 1; return 1",
  "removes a global": "delete globalThis.Function; return 1",
  "replaces a built-in with a getter that throws":
    "Object.defineProperty(Reflect, 'apply', { get() { throw 1 } }); return 1",
  "replaces the method that emits events": "require('node:events').prototype.emit = () => true; return 1",
  "replaces a method and then throws": "String.prototype.trim = () => ''; throw new Error('x')",
};
const HARMLESS: Readonly<Record<string, string>> = {
  "adds a method to arrays": "Array.prototype.last = function () { return this[this.length - 1] }; return [1].last()",
  "sets globals": "globalThis.count = 1; globalThis.setTimeout = () => {}; return 1",
  "changes modules of Node": "require('node:fs').readFileSync = () => ''; return 1",
  "defines classes": "class A extends Map { get() { return 1 } } return new A().get()",
};

describe("a guest, after the first run of submitted code,", () => {
  for (const [what, code] of Object.entries(TAMPERING)) {
    it(`asks to be replaced if the code ${what}`, async () => {
      await using guest = await GuestProcess.start();
      const retires = guest.frame(FROM_GUEST.retire);
      const { result, fault } = await guest.run(code);
      // The `retire` frame comes before the answer, so that the service sends the next run to another guest.
      assert.ok(result ?? fault);
      await retires;
    });
  }

  it("does not ask to be replaced if the code leaves the built-ins unchanged", async () => {
    await using guest = await GuestProcess.start();
    let hasAsked = false;
    void guest.frame(FROM_GUEST.retire).then(() => (hasAsked = true));
    for (const code of Object.values(HARMLESS)) assert.equal(await guest.value(code), 1);
    await guest.ping();
    assert.equal(hasAsked, false);
  });
});
