import { once } from "node:events";
import { createServer, type Server, type Socket } from "node:net";

import type { AnswerMessage } from "../../src/wire/messages.ts";
import { Gateway } from "./gateway.ts";
import { GuestProcess } from "./guest-process.ts";

/** Helper functions for submitted code that uses sockets. A test puts them before the code. */
export const SOCKET_HELPERS = `
  const net = require("net");
  const { once } = require("events");
  const textOf = async (socket) => {
    let text = "";
    for await (const chunk of socket) text += chunk;
    return text;
  };
  const failure = (socket) => new Promise((resolve) => socket.once("error", (error) => resolve({ ...error, message: error.message })));
`;

/** A guest, and a gateway to the servers that the guest can reach by name. */
export interface Networked extends AsyncDisposable {
  readonly guest: GuestProcess;
  readonly gateway: Gateway;
}

/** @param servers The servers by `host:port`, as the guest names them. They are closed with the guest. */
export async function startNetworked(
  servers: Record<string, Server>,
  names: Record<string, AnswerMessage> = {},
): Promise<Networked> {
  await Promise.all(Object.values(servers).map(listening));
  const guest = await GuestProcess.start();
  const gateway = new Gateway(guest, servers, names);
  return {
    guest,
    gateway,
    [Symbol.asyncDispose]: async () => {
      await guest[Symbol.asyncDispose]();
      gateway.close();
      for (const server of new Set(Object.values(servers))) server.close();
    },
  };
}

/** A TCP server that leaves ending the connection to its handler. */
export function tcp(onSocket: (socket: Socket) => void): Server {
  return createServer({ allowHalfOpen: true }, (socket) => {
    socket.on("error", () => {});
    onSocket(socket);
  });
}

/** Returns a server that sends back all bytes, and ends when the client ends. */
export function echo(): Server {
  return tcp((socket) => socket.pipe(socket));
}

async function listening(server: Server): Promise<void> {
  if (server.listening) return;
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
}
