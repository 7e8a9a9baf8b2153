import type { NetworkFault } from "../../wire/messages.ts";

const NativeError = Error;
const { assign } = Object;

/** Converts a fault that the service reported to the error that Node would report. */
export function errorOf({ message, ...members }: NetworkFault): NodeJS.ErrnoException {
  return assign(new NativeError(message), members);
}

/** Makes the error for a connection that no policy can allow, because the service does not support it. */
export function denied(message: string): NodeJS.ErrnoException {
  return errorOf({ message, code: "EGRESS_DENIED" });
}

/** Makes the error for a function that is not available in a task. The message names the alternative. */
export function notSupported(syscall: string, message: string): NodeJS.ErrnoException {
  return errorOf({ message, code: "ENOTSUP", syscall });
}

/** Makes the error for a wrong argument, with the class and the code that Node uses. */
export function badArgument(code: string, message: string): NodeJS.ErrnoException {
  return assign(new TypeError(message), { code });
}

export function notFound(hostname: string): NodeJS.ErrnoException {
  const message = `getaddrinfo ENOTFOUND ${hostname}`;
  return errorOf({ message, errno: -3008, code: "ENOTFOUND", syscall: "getaddrinfo", hostname });
}
