import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import { hintOfRun } from "./hint-of-run.ts";
import { assertProblem } from "./problem.ts";
import { type Service, shareService } from "./service.ts";

let service: Service;
before(async () => {
  service = await shareService();
});
after(() => service.stop());

const JSON_TEXT = '{"items": [1], "name": "Ada"}';
const IS_TEXT = /^context\.body is a text, so .*: send JSON with Content-Type: application\/json/;

describe("code that reads a member of a body that is a text", () => {
  const rows: readonly [code: string, hint: RegExp][] = [
    ["({ body }) => body.items.length", IS_TEXT],
    ["export default ({ body }) => body.items.map((n) => n)", IS_TEXT],
    ["export default ({ body: { items } }) => items.length", IS_TEXT],
    ["({ data }) => data.items.length", IS_TEXT],
    ["const { body } = context;\nreturn body.items[0]", IS_TEXT],
    ["(context) => context.body.items.length", IS_TEXT],
    ["({ body }) => body.name", IS_TEXT],
    ["({ body }) => ({ hi: body.name })", IS_TEXT],
    ["({ body }) => ({ hi: body.name, n: 1 })", IS_TEXT],
    ["({ body }) => `hi ${body.name}`", IS_TEXT],
  ];
  for (const [code, hint] of rows) {
    it(`has a hint that names the text: ${code}`, async () => {
      assert.match(await hintOfRun(service, "text-body", code, { data: JSON_TEXT }), hint);
    });
  }

  const others: readonly [code: string, data: unknown][] = [
    ["({ body }) => body.length", JSON_TEXT],
    ["({ body }) => ({ n: body.name ?? 1, o: undefined })", JSON_TEXT],
    ["({ body }) => { const o = {}; return o.a.b + body.length }", JSON_TEXT],
    ["({ body }) => body.items.a.b", { items: {} }],
    ["({ body }) => body.name", "a text"],
  ];
  for (const [code, data] of others) {
    it(`has no such hint: ${code} of ${JSON.stringify(data)}`, async () => {
      assert.doesNotMatch(await hintOfRun(service, "text-body", code, { data }), /is a text/);
    });
  }

  it("names the type of a request that was no JSON", async () => {
    const json = { code: "export default ({ body }) => body.items.length" };
    await service.request("PUT", "/api/tasks/text-body/count", { json });
    const headers = { "Content-Type": "text/plain;charset=UTF-8" };
    const answer = await service.request("POST", "/api/run/text-body/count", { body: JSON_TEXT, headers });
    const { hint } = assertProblem(answer, 500, "task_threw");
    assert.match(
      hint ?? "(none)",
      /^context\.body is a text, because it came as text\/plain, so it has no items: send/,
    );
  });
});
