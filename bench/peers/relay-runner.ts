/** The other process of the relay: runs each text as the body of a function, and keeps what it has compiled of the latest texts. */
import { Socket } from "node:net";
import { compileFunction } from "node:vm";

import { FrameWriter, readFrames } from "./relay-frames.ts";

const MOST_KEPT = 1_000;
const link = new Socket({ fd: 3 });
const writer = new FrameWriter(link);
const kept = new Map<string, () => unknown>();

readFrames(link, (id, code) => {
  let run = kept.get(code);
  if (run === undefined) {
    if (kept.size === MOST_KEPT) kept.clear();
    run = compileFunction(code) as () => unknown;
    kept.set(code, run);
  }
  writer.write(id, JSON.stringify(run()));
});
