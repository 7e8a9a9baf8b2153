import assert from "node:assert/strict";
import { it } from "node:test";

import { UnreadAnswers } from "../../src/http/unread.ts";

it("the token that has the most unread loses its oldest answer, and no other does", () => {
  const unread = new UnreadAnswers(100);
  const cut: string[] = [];
  const add = (token: string, name: string, bytes: number): (() => void) => {
    return unread.add(token, bytes, () => cut.push(name));
  };
  add("quiet", "quiet 1", 30);
  for (const name of ["greedy 1", "greedy 2", "greedy 3"]) add("greedy", name, 20);
  assert.equal(cut.length, 0);
  add("greedy", "greedy 4", 20);
  assert.deepEqual(cut, ["greedy 1"]);
  add("quiet", "quiet 2", 20);
  assert.deepEqual(cut, ["greedy 1", "greedy 2"]);
});

it("an answer that was read counts no more, and once only", () => {
  const unread = new UnreadAnswers(100);
  const cut: string[] = [];
  const read = unread.add("a", 90, () => cut.push("read"));
  read();
  read();
  unread.add("a", 90, () => cut.push("first"));
  assert.equal(cut.length, 0);
  unread.add("a", 20, () => cut.push("second"));
  assert.deepEqual(cut, ["first"]);
});

it("an answer alone is never too much", () => {
  const unread = new UnreadAnswers(100);
  unread.add("a", 1_000, () => assert.fail("it was cut"));
});
