import type dgramModule from "node:dgram";
import { Server } from "node:net";

import { notServed } from "./errors.ts";

const { defineProperty } = Object;
const later = process.nextTick.bind(process);

/** Is handed what gives an error as long as nobody has heard of it, else null. */
export type NoteUnheard = (unheard: () => Error | null) => void;

/**
 * Has a server that would listen say what a task does instead: as Node has it, by an event of a later turn. A code that
 * only starts its server has its result before that, which would tell nobody anything; so the run is told as well.
 */
export function patchListen(note: NoteUnheard): void {
  define(Server.prototype, "listen", function listen(this: Server): Server {
    const message =
      "listen is not possible: nobody could connect to a task; answer with export default { fetch(request) { ... } }";
    const error = notServed("listen", message);
    let told = false;
    note(() => {
      if (told || this.listenerCount("error") > 0) return null;
      told = true;
      return error;
    });
    later(() => {
      if (!told) this.emit("error", error);
      told = true;
    });
    return this;
  });
}

type Dgram = typeof dgramModule;

/** Has datagram sockets say that there is no UDP. */
export function patchDatagrams({ Socket }: Dgram): void {
  for (const name of ["bind", "connect", "send"] as const) {
    define(Socket.prototype, name, function refuse(this: InstanceType<Dgram["Socket"]>, ...args: unknown[]): unknown {
      const callback = args[args.length - 1];
      const error = notServed(
        name,
        `UDP ${name} is not possible: a task reaches TCP only, by net, tls, http and fetch`,
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
