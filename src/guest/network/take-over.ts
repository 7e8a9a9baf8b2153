import type { Socket } from "node:net";

import type { OpenedMessage } from "../../wire/messages.ts";
import type { Connection } from "./connection.ts";

const toBuffer = Buffer.from.bind(Buffer) as (text: string, encoding: BufferEncoding) => Buffer;
const concat = Buffer.concat.bind(Buffer) as (parts: Uint8Array[]) => Buffer;
const { defineProperty, keys } = Object;

interface Chunk {
  chunk: string | Uint8Array;
  encoding: BufferEncoding;
}
type Done = (error?: Error | null) => void;

/** The members of a socket that describe its two ends. */
export const END_NAMES = [
  "remoteAddress",
  "remotePort",
  "remoteFamily",
  "localAddress",
  "localPort",
  "localFamily",
] as const;

/**
 * Makes a socket use a connection instead of a handle. It defines the methods that Node documents for streams on the socket
 * itself, so other sockets do not change.
 */
export function takeOver(socket: Socket, connection: Connection): void {
  own(socket, {
    _read: () => connection.readMore(),
    _write: (chunk: string | Uint8Array, encoding: BufferEncoding, done: Done) =>
      connection.write(bytesOf({ chunk, encoding }), done),
    _writev: (chunks: Chunk[], done: Done) => {
      const parts: Uint8Array[] = [];
      for (let index = 0; index < chunks.length; index += 1) parts[index] = bytesOf(chunks[index]!);
      connection.write(concat(parts), done);
    },
    _final: (done: Done) => connection.end(done),
    _destroy: (error: Error | null, done: Done) => connection.destroy(error, done),
    ref: () => {
      connection.keepAlive(true);
      return socket;
    },
    unref: () => {
      connection.keepAlive(false);
      return socket;
    },
    resetAndDestroy: () => socket.destroy(),
    address: () => addressOf(connection.ends),
  });
  ownGetters(socket, {
    pending: () => socket.connecting || !connection.ends,
    bytesRead: () => connection.bytesRead,
    bytesWritten: () => connection.bytesWritten + socket.writableLength,
  });
  for (let index = 0; index < END_NAMES.length; index += 1) {
    const name = END_NAMES[index]!;
    ownGetters(socket, { [name]: () => connection.ends?.[name] });
  }
}

/** Defines methods on a socket that override the methods of its class. */
export function own(socket: Socket, methods: Record<string, (...args: never[]) => unknown>): void {
  const names = keys(methods);
  for (let index = 0; index < names.length; index += 1) {
    const name = names[index]!;
    defineProperty(socket, name, { value: methods[name], writable: true, configurable: true });
  }
}

export function ownGetters(socket: Socket, getters: Record<string, () => unknown>): void {
  const names = keys(getters);
  for (let index = 0; index < names.length; index += 1) {
    const name = names[index]!;
    defineProperty(socket, name, { get: getters[name]!, configurable: true });
  }
}

export function addressOf(ends: OpenedMessage | null): object {
  return ends ? { address: ends.localAddress, port: ends.localPort, family: ends.localFamily } : {};
}

/** Encodes a chunk: sockets do not decode strings before `_write`. */
function bytesOf({ chunk, encoding }: Chunk): Uint8Array {
  return typeof chunk === "string" ? toBuffer(chunk, encoding) : chunk;
}
