import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import type { ServerResponse } from "node:http";
import { it } from "node:test";

import { endCount, endPart, FamilyRequests } from "../../../src/http/api/family-requests.ts";

const LIMITED = { code: "token_limited" };

function begin(requests: FamilyRequests, family: string): ServerResponse {
  const answer = new EventEmitter() as ServerResponse;
  requests.begin(family, answer);
  return answer;
}

it("a family has a number of requests under way, which end with their work and their answer", () => {
  const requests = new FamilyRequests(2);
  const [first] = [begin(requests, "a"), begin(requests, "a")];
  assert.throws(() => begin(requests, "a"), LIMITED);
  begin(requests, "b");
  // The client has left, but the work goes on.
  first.emit("close");
  assert.throws(() => begin(requests, "a"), LIMITED);
  endPart(first);
  const second = begin(requests, "a");
  assert.throws(() => begin(requests, "a"), LIMITED);
  // The other way around.
  endPart(second);
  assert.throws(() => begin(requests, "a"), LIMITED);
  second.emit("close");
  begin(requests, "a");
});

it("a request whose client left before its token was verified ends with its work", () => {
  const requests = new FamilyRequests(1);
  const gone = Object.assign(new EventEmitter(), { destroyed: true }) as unknown as ServerResponse;
  requests.begin("a", gone);
  assert.throws(() => begin(requests, "a"), LIMITED);
  endPart(gone);
  begin(requests, "a");
});

it("a stream does not count, and ends once", () => {
  const requests = new FamilyRequests(1);
  const stream = begin(requests, "a");
  endCount(stream);
  const other = begin(requests, "a");
  stream.emit("close");
  endPart(stream);
  assert.throws(() => begin(requests, "a"), LIMITED);
  endCount(other);
  begin(requests, "a");
});

it("while all families have many requests, each has only its share", () => {
  const requests = new FamilyRequests(32);
  for (const family of ["a", "b", "c", "d"]) for (let count = 0; count < 32; count++) begin(requests, family);
  // 128 requests are under way: the share of five families is a fifth of them.
  for (let count = 0; count < 26; count++) begin(requests, "e");
  assert.throws(() => begin(requests, "e"), LIMITED);
  begin(requests, "f");
});
