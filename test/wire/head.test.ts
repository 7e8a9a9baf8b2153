import assert from "node:assert/strict";
import { describe, it } from "node:test";

import * as fc from "fast-check";

import { parseHead } from "../../src/containers/guest/parse-messages.ts";
import { encodeHead, HEAD_BYTES } from "../../src/wire/head.ts";

describe("the head of an answer, as the guest writes it", () => {
  it("is refused with a message that names the header and says what is wrong", () => {
    const refused: [status: unknown, headers: unknown[], message: RegExp][] = [
      [200, ["x-a", "\u{2603}"], /^header "x-a" holds the character U\+2603, .*encodeURIComponent/],
      [200, ["x-a", "a\r\nset-cookie: b"], /^header "x-a" holds the character U\+d,/],
      [200, ["x-a", "\u{1f600}"], /U\+1f600/],
      [200, ["x a", "b"], /^header "x a" has a name that HTTP cannot carry; use letters/],
      [200, ["", "b"], /^header "" has a name/],
      [200, [`${"x".repeat(1_000)} `, "b"], /^header "x{100}" has a name/],
      [200, ["x-a", 5], /^header "x-a" is a number/],
      [200, [Symbol("x"), "b"], /name that is a symbol/],
      [200, ["x-a"], /not names and values/],
      [200, Array.from({ length: 402 }, () => "x"), /^the head has 201 headers, where 200 can be answered$/],
      [200, ["x-a", "b".repeat(70_000)], /^the head is 700\d\d bytes, where 65536 can be answered; .*body$/],
      ["200", [], /^the status is the string "200", where an integer from 200 to 599 can be answered$/],
      [Symbol("200"), [], /^the status is Symbol\(200\),/],
      [undefined, [], /^the status is undefined,/],
      [101, [], /^the status is 101,/],
      [200.5, [], /^the status is 200\.5,/],
    ];
    for (const [status, headers, message] of refused) {
      const head = { status: status as number, headers: headers as string[] };
      assert.throws(() => encodeHead(head), { name: "TypeError", message }, String(message));
    }
  });

  it("does not repeat a value, which may be a secret", () => {
    assert.throws(() => encodeHead({ status: 200, headers: ["x-a", "hush\n"] }), { message: /^(?!.*hush)/ });
  });

  it("may be as long as a frame, in bytes and not in characters", () => {
    const empty = encodeHead({ status: 200, headers: ["x-a", ""] }).length;
    const room = HEAD_BYTES - empty;
    assert.equal(encodeHead({ status: 200, headers: ["x-a", "b".repeat(room)] }).length, HEAD_BYTES);
    for (const value of ["b".repeat(room + 1), "\u{e9}".repeat(room / 2 + 1), '"'.repeat(room / 2 + 1)]) {
      assert.throws(() => encodeHead({ status: 200, headers: ["x-a", value] }), /can be answered/);
    }
  });

  it("is one that the service takes, whatever a task asks for", () => {
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
