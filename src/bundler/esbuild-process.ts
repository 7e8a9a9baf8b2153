import { connect } from "node:net";

import { ESBUILD_HOST } from "./build-messages.ts";

/**
 * Replaces `child_process` in esbuild's JavaScript API (`esbuild/lib/main.js`). esbuild runs in a guest next to this one, and the
 * connection to it is its standard input and output.
 */
export function spawn(): object {
  const socket = connect(1, ESBUILD_HOST);
  const child = {
    stdin: { write: socket.write.bind(socket), on: ignore, destroy: ignore },
    stdout: socket,
    on: (event: string, listener: (error: Error) => void) => {
      if (event === "error") socket.on("error", listener);
    },
    ...{ ref: ignore, unref: ignore, kill: () => socket.destroy() },
  };
  return child;
}

function ignore(): void {}
