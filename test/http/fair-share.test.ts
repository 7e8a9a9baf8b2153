import assert from "node:assert/strict";
import { it } from "node:test";

import { FairShare, type Hold } from "../../src/http/fair-share.ts";

/** Creates a share. Returns the names of the holds that were cut, and a function that adds a hold of a given size. */
function shareOf(maxBytes: number): { cut: string[]; hold: (owner: string, name: string, bytes: number) => Hold } {
  const share = new FairShare(maxBytes);
  const cut: string[] = [];
  const hold = (owner: string, name: string, bytes: number): Hold => {
    const added = share.hold(owner, () => cut.push(name));
    added.grow(bytes);
    return added;
  };
  return { cut, hold };
}

it("the owner with the most bytes loses its oldest hold, and no other owner loses one", () => {
  const { cut, hold } = shareOf(100);
  hold("quiet", "quiet 1", 30);
  for (const name of ["greedy 1", "greedy 2", "greedy 3"]) hold("greedy", name, 20);
  assert.equal(cut.length, 0);
  hold("greedy", "greedy 4", 20);
  assert.deepEqual(cut, ["greedy 1"]);
  hold("quiet", "quiet 2", 20);
  assert.deepEqual(cut, ["greedy 1", "greedy 2"]);
});

it("a growing hold is cut itself if its owner has the most bytes and no older hold", () => {
  const { cut, hold } = shareOf(100);
  hold("quiet", "quiet", 30);
  const greedy = hold("greedy", "greedy", 10);
  greedy.grow(70);
  assert.deepEqual(cut, ["greedy"]);
  greedy.grow(1_000);
  hold("quiet", "quiet 2", 60);
  assert.deepEqual(cut, ["greedy"]);
});

it("a released hold does not count any more, and a second release has no effect", () => {
  const { cut, hold } = shareOf(100);
  const released = hold("a", "released", 90);
  released.release();
  released.release();
  hold("a", "first", 90);
  assert.equal(cut.length, 0);
  hold("a", "second", 20);
  assert.deepEqual(cut, ["first"]);
});

it("a pinned hold is not cut; the next largest owner loses its oldest hold", () => {
  const { cut, hold } = shareOf(100);
  hold("large", "pinned", 80).pin();
  hold("small", "small", 10);
  hold("smaller", "smaller", 5);
  hold("other", "other", 8);
  assert.deepEqual(cut, ["small"]);
});

it("an owner cannot pin more memory than remains for all others, however many owners pin holds", () => {
  const { cut, hold } = shareOf(100);
  const first = hold("large", "large 1", 30);
  assert.equal(first.pin(), true);
  assert.equal(hold("large", "large 2", 20).pin(), true);
  const refused = hold("large", "large 3", 10);
  assert.equal(refused.pin(), false);
  refused.release();
  // The first hold of an owner can always be pinned.
  assert.equal(hold("other", "other 1", 24).pin(), true);
  const more = hold("other", "other 2", 2);
  assert.equal(more.pin(), false);
  more.release();
  hold("small", "small", 25);
  assert.deepEqual(cut, []);
  first.release();
  assert.equal(hold("large", "large 4", 10).pin(), true);
});

it("the only hold is never cut", () => {
  const { cut, hold } = shareOf(100);
  hold("a", "alone", 1_000);
  assert.deepEqual(cut, []);
});
