import assert from "node:assert/strict";
import { it } from "node:test";

import { memberBounds } from "../../../src/http/api/member-bounds.ts";
import { parseJson } from "../../../src/source/json.ts";

const many = (count: number): object =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`name${at}`, "x"]));

async function parse(value: unknown): Promise<unknown> {
  const body = Buffer.from(JSON.stringify(value));
  return await parseJson(body, 64, undefined, memberBounds(body));
}

it("an object of a body has at most 128 members, wherever it is", async () => {
  const larger = { code: "request_invalid", message: "an object of the body has more than 128 members" };
  for (const place of [
    (members: object) => members,
    (members: object) => ({ secrets: members }),
    (members: object) => ({ params: members }),
    (members: object) => ({ limits: { token: members } }),
    (members: object) => ({ params: { a: many(1_000) }, limits: { token: members } }),
    (members: object) => [{ a: 1 }, members],
  ]) {
    assert.deepEqual(await parse(place(many(128))), place(many(128)));
    await assert.rejects(parse(place(many(129))), larger);
  }
});

it("a value of params may have more members", async () => {
  const body = { params: { a: many(1_000), b: [many(500)] } };
  assert.deepEqual(await parse(body), body);
  const escaped = Buffer.from(JSON.stringify(body).replace("params", String.raw`\u0070arams`));
  assert.deepEqual(await parseJson(escaped, 64, undefined, memberBounds(escaped)), body);
});
