#!/usr/bin/env node
// Starts the command line with the Node that caisson pins, if npm has installed it, and otherwise with this Node.
// This file must be readable for an old Node, because it names the version that is needed.
import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";

const NEEDED = 24;
const main = fileURLToPath(new URL("../dist/main.js", import.meta.url));
const pinned = findPinned();

if (pinned === null || pinned === process.execPath) {
  if (Number.parseInt(process.versions.node, 10) < NEEDED) {
    console.error(
      `caisson needs Node ${NEEDED} or newer, and this is ${process.versions.node}: install it from https://nodejs.org`,
    );
    process.exit(4);
  }
  process.argv[1] = main;
  await import("../dist/main.js");
} else {
  const words = [pinned, ...process.execArgv, main, ...process.argv.slice(2)];
  // The same process continues as the other Node, with its id, its terminal and its signals.
  if (process.execve) process.execve(pinned, words, process.env);
  startBelow(words);
}

/** Returns the path of the pinned Node; null if there is none for this system. */
function findPinned() {
  try {
    const require = createRequire(import.meta.url);
    return require.resolve(`node-${process.platform}-${process.arch}/bin/node`);
  } catch {
    return null;
  }
}

/** For a Node without `process.execve`: passes on the signals and the exit code. */
function startBelow([program, ...words]) {
  const child = spawn(program, words, { stdio: "inherit" });
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2"])
    process.on(signal, () => child.kill(signal));
  child.once("error", (error) => {
    console.error(`caisson: ${program} cannot be started: ${error.message}`);
    process.exit(4);
  });
  child.once("exit", (code, signal) => {
    if (signal === null) process.exit(code ?? 4);
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  });
}
