import { Console } from "node:console";
import { Readable, Writable } from "node:stream";

import type { LogLevel } from "../wire/messages.ts";
import { uncurry } from "../wire/uncurry.ts";
import { currentRun } from "./current-run.ts";
import { logLine } from "./logs.ts";
import type { Run } from "./run.ts";
import { withoutOwnFrames } from "./stack-frames.ts";
import { withPositions } from "./stack-positions.ts";

const includes = uncurry(String.prototype as string, "includes");

/** Methods whose log level differs from that of their stream. */
const OWN_LEVEL = { debug: "debug", warn: "warn" } as const;

/**
 * Sends what the task writes to `console`, `process.stdout` and `process.stderr` to the service, each entry with its run.
 * The sandbox has no terminal and no usable standard descriptors.
 */
export function captureConsole(): void {
  let level: LogLevel | null = null;
  const print = (own: LogLevel, text: string): void => {
    const run = currentRun();
    logLine(run, level ?? own, asPrinted(text, run));
  };
  const stdout = sink((text) => print("info", text));
  const stderr = sink((text) => print("error", text));
  const captured = new Console({ stdout, stderr });
  for (const name of Object.keys(captured) as (keyof Console)[]) {
    const method = captured[name] as unknown;
    if (typeof method === "function") Object.assign(console, { [name]: method });
  }
  for (const name of Object.keys(OWN_LEVEL) as (keyof typeof OWN_LEVEL)[]) {
    const method = captured[name].bind(captured);
    console[name] = (...values: unknown[]) => {
      level = OWN_LEVEL[name];
      try {
        Reflect.apply(method, undefined, values);
      } finally {
        level = null;
      }
    };
  }
  const stdin = new Readable({ read: () => {} });
  stdin.push(null);
  const standard = { stdin, stdout, stderr };
  for (const [name, value] of Object.entries(standard))
    Object.defineProperty(process, name, { value, configurable: true });
}

/** A synchronous stream, so that a crash does not lose the line before it. */
function sink(write: (text: string) => void): Writable {
  return new Writable({
    decodeStrings: false,
    write: (chunk: string | Buffer, _encoding, done) => {
      const text = typeof chunk === "string" ? chunk : chunk.toString();
      write(text.endsWith("\n") ? text.slice(0, -1) : text);
      done();
    },
  });
}

/**
 * Returns a text that a task printed with the positions of its stacks as thrown errors have them, and without frames of the
 * guest's own program. Most texts have no stack and are returned as they are.
 */
function asPrinted(text: string, run: Run | undefined): string {
  if (!includes(text, "task:/")) return withoutOwnFrames(text);
  const submitted = withoutOwnFrames(text);
  return run ? run.code.asPrinted(submitted) : withPositions(submitted);
}
