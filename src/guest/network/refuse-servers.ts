import type dgramModule from "node:dgram";
import { Server } from "node:net";

import { notSupported } from "./network-errors.ts";

const { defineProperty } = Object;
const later = process.nextTick.bind(process);

/** Registers a function that returns an error while the error is not reported, otherwise null. */
export type SetPendingError = (pendingError: () => Error | null) => void;

/**
 * Makes `listen` of a server fail with an error that names the alternative. As in Node, the error is an event of a later
 * turn. Code that only starts a server has its result before that turn, so the error is also set as the run's pending error.
 */
export function patchListen(setPendingError: SetPendingError): void {
  define(Server.prototype, "listen", function listen(this: Server): Server {
    const message =
      "listen is not possible: no client can connect to a task; use export default { fetch(request) { ... } }";
    const error = notSupported("listen", message);
    let isReported = false;
    setPendingError(() => {
      if (isReported || this.listenerCount("error") > 0) return null;
      isReported = true;
      return error;
    });
    later(() => {
      if (!isReported) this.emit("error", error);
      isReported = true;
    });
    return this;
  });
}

type Dgram = typeof dgramModule;

/** Makes the methods of datagram sockets fail, because a task has no UDP. */
export function patchDatagrams({ Socket }: Dgram): void {
  for (const name of ["bind", "connect", "send"] as const) {
    define(Socket.prototype, name, function refuse(this: InstanceType<Dgram["Socket"]>, ...args: unknown[]): unknown {
      const callback = args[args.length - 1];
      const error = notSupported(
        name,
        `UDP ${name} is not possible: a task can use only TCP, with net, tls, http and fetch`,
      );
      if (name === "send" && typeof callback === "function") later(callback, error);
      else later(() => this.emit("error", error));
      return name === "bind" ? this : undefined;
    });
  }
}

function define(prototype: object, name: string, value: unknown): void {
  defineProperty(prototype, name, { value, writable: true, configurable: true });
}
