import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import type { Answer } from "./http.ts";
import { assertProblem } from "./problem.ts";
import { type Service, shareService } from "./service.ts";

interface DuplicateCase {
  readonly what: string;
  /** JSON that `JSON.stringify` cannot write. */
  readonly text: string;
  readonly member: string;
}

const TOKEN: readonly DuplicateCase[] = [
  { what: "at the top", text: '{"containers":["a"],"expiresIn":"5m","expiresIn":"365d"}', member: "expiresIn" },
  { what: "with one value", text: '{"containers":["a"],"depth":1,"depth":1}', member: "depth" },
  { what: "first and last", text: '{"can":["run"],"containers":["a"],"can":["run","issue"]}', member: "can" },
  { what: "written with an escape", text: '{"containers":["a"],"net":false,"\\u006eet":["a.example"]}', member: "net" },
  { what: "with an unknown name", text: '{"containers":["a"],"typo":1,"typo":2}', member: "typo" },
  {
    what: "in an object",
    text: '{"containers":["a"],"limits":{"token":{"minute":1},"token":{"minute":1000}}}',
    member: "token",
  },
  {
    what: "in an object in an object",
    text: '{"containers":["a"],"limits":{"token":{"minute":1,"minute":1000}}}',
    member: "minute",
  },
  { what: "in an object in a list", text: '{"containers":["a"],"params":{"all":[1,{"b":1,"b":2}]}}', member: "b" },
  { what: "named __proto__", text: '{"containers":["a"],"params":{"__proto__":1,"__proto__":2}}', member: "__proto__" },
];
const SECRETS: readonly DuplicateCase[] = [{ what: "at the top", text: '{"KEY":"one","KEY":"two"}', member: "KEY" }];
const POLICY: readonly DuplicateCase[] = [
  { what: "at the top", text: '{"limits":{"minute":1},"limits":{}}', member: "limits" },
  { what: "in an object", text: '{"limits":{"minute":1,"minute":1000}}', member: "minute" },
];
const TASK: readonly DuplicateCase[] = [
  { what: "at the top", text: '{"code":"1","public":false,"public":true}', member: "public" },
  { what: "in an object", text: '{"code":"1","limits":{"token":{"day":1,"day":9}}}', member: "day" },
];

let service: Service;
let jti: string;

before(async () => {
  service = await shareService();
  const json = { containers: ["a"], secretsReadable: true };
  jti = ((await service.request("POST", "/api/tokens", { json })).json() as { jti: string }).jti;
});
after(() => service.stop());

function send(method: string, target: string, body: string): Promise<Answer> {
  return service.request(method, target, { body, headers: { "content-type": "application/json" } });
}

function testRejections(method: string, target: () => string, cases: readonly DuplicateCase[]): void {
  for (const { what, text, member } of cases) {
    it(`are rejected by ${method} ${target().replace(/undefined/, "{jti}")}, ${what}`, async () => {
      const answer = await send(method, target(), text);
      assertProblem(answer, 400, "request_invalid");
      assert.ok(answer.text.includes(member), answer.text);
    });
  }
}

describe("two members of one name in the JSON body of a request", () => {
  testRejections("POST", () => "/api/tokens", TOKEN);
  testRejections("PUT", () => `/api/tokens/${jti}/secrets`, SECRETS);
  testRejections("PUT", () => "/api/containers/a", POLICY);
  testRejections("PUT", () => "/api/tasks/a/task", TASK);

  it("are valid in different objects", async () => {
    const text = '{"containers":["a"],"params":{"a":{"b":1},"b":{"b":1},"c":[{"b":1},{"b":2}]}}';
    assert.equal((await send("POST", "/api/tokens", text)).status, 201);
  });

  it("are valid inside of a string", async () => {
    const text = '{"containers":["a"],"params":{"a":"{\\"b\\":1,\\"b\\":2}"}}';
    assert.equal((await send("POST", "/api/tokens", text)).status, 201);
  });
});
