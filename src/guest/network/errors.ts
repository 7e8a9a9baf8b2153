import type { NetworkFault } from "../../wire/messages.ts";

const NativeError = Error;
const { assign } = Object;

/** What the service said went wrong, as the error that Node itself would give. */
export function errorOf({ message, ...members }: NetworkFault): NodeJS.ErrnoException {
  return assign(new NativeError(message), members);
}

/** Something that the policy of no operator could allow, because there is no way out for it. */
export function denied(message: string): NodeJS.ErrnoException {
  return errorOf({ message, code: "EGRESS_DENIED" });
}

/** Something that a task cannot do here; the message says what serves instead. */
export function notServed(syscall: string, message: string): NodeJS.ErrnoException {
  return errorOf({ message, code: "ENOTSUP", syscall });
}

/** A wrong argument: the classes and codes are those of Node. */
export function badArgument(code: string, message: string): NodeJS.ErrnoException {
  return assign(new TypeError(message), { code });
}

export function notFound(hostname: string): NodeJS.ErrnoException {
  const message = `getaddrinfo ENOTFOUND ${hostname}`;
  return errorOf({ message, errno: -3008, code: "ENOTFOUND", syscall: "getaddrinfo", hostname });
}
