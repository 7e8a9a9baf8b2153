import assert from "node:assert/strict";
import { describe, it } from "node:test";

import * as fc from "fast-check";

import { parseHead } from "../../src/containers/guest/parse-messages.ts";
import { encodeHead, HEAD_BYTES } from "../../src/wire/head.ts";

describe("encodeHead", () => {
  it("rejects an invalid head with a message that names the header and the mistake", () => {
    const refused: [status: unknown, headers: unknown[], message: RegExp][] = [
      [200, ["x-a", "\u{2603}"], /^header "x-a" contains the character U\+2603, .*encodeURIComponent/],
      [200, ["x-a", "a\r\nset-cookie: b"], /^header "x-a" contains the character U\+d,/],
      [200, ["x-a", "\u{1f600}"], /U\+1f600/],
      [200, ["x a", "b"], /^header "x a" has a name that HTTP forbids; use letters/],
      [200, ["", "b"], /^header "" has a name/],
      [200, [`${"x".repeat(1_000)} `, "b"], /^header "x{100}" has a name/],
      [200, ["x-a", 5], /^the value of header "x-a" is a number/],
      [200, [Symbol("x"), "b"], /^the name of a header is a symbol/],
      [200, ["x-a"], /not names and values/],
      [200, Array.from({ length: 402 }, () => "x"), /^the head has 201 headers; at most 200 can be sent$/],
      [200, ["x-a", "b".repeat(70_000)], /^the head is 700\d\d bytes; at most 65536 can be sent, .*body$/],
      ["200", [], /^the status is the string "200"; it must be an integer from 200 to 599$/],
      [Symbol("200"), [], /^the status is Symbol\(200\);/],
      [undefined, [], /^the status is undefined;/],
      [101, [], /^the status is 101;/],
      [200.5, [], /^the status is 200\.5;/],
    ];
    for (const [status, headers, message] of refused) {
      const head = { status: status as number, headers: headers as string[] };
      assert.throws(() => encodeHead(head), { name: "TypeError", message }, String(message));
    }
  });

  it("does not repeat a value in its message, because the value may be a secret", () => {
    assert.throws(() => encodeHead({ status: 200, headers: ["x-a", "hush\n"] }), { message: /^(?!.*hush)/ });
  });

  it("accepts a head up to the limit of a frame, counted in bytes and not in characters", () => {
    const empty = encodeHead({ status: 200, headers: ["x-a", ""] }).length;
    const room = HEAD_BYTES - empty;
    assert.equal(encodeHead({ status: 200, headers: ["x-a", "b".repeat(room)] }).length, HEAD_BYTES);
    for (const value of ["b".repeat(room + 1), "\u{e9}".repeat(room / 2 + 1), '"'.repeat(room / 2 + 1)]) {
      assert.throws(() => encodeHead({ status: 200, headers: ["x-a", value] }), /can be sent/);
    }
  });

  it("returns only heads that the service accepts, for any input of a task", () => {
    const header = fc.tuple(fc.string({ unit: "binary", maxLength: 4 }), fc.string({ unit: "binary", maxLength: 100 }));
    const headers = fc.array(header, { maxLength: 210, size: "max" });
    fc.assert(
      fc.property(fc.oneof(fc.integer({ min: 190, max: 610 }), fc.double()), headers, (status, pairs) => {
        const head = { status, headers: pairs.flat() };
        let text: string;
        try {
          text = encodeHead(head);
        } catch (error) {
          assert.ok(error instanceof TypeError);
          return;
        }
        assert.deepEqual(parseHead(Buffer.from(text)), head);
      }),
    );
  });
});
