import { type ServerResponse, STATUS_CODES } from "node:http";

/** The methods of Node's responses that `writeHead` calls. They are the same in all versions of Node that can run the service. */
interface StoresHeader {
  _storeHeader(firstLine: string, headers: readonly string[]): void;
}

/** Node removes the body of these statuses in `writeHead`. */
const BODILESS = new Set([204, 304]);

/**
 * Writes the head of an answer as `response.writeHead` does, but checks only some of its headers. The checks of all headers of a
 * run take a twentieth of the service's time.
 *
 * @param lines complete header lines whose names and values only the service chooses, as `headerLines` makes them
 * @param headers name, value, name, value. `Content-Length` must be here, because Node looks for it.
 */
export function writeHeadWith(
  response: ServerResponse,
  status: number,
  lines: string,
  headers: readonly string[],
): void {
  const isPlain = !BODILESS.has(status) && !response.headersSent && response.getHeaderNames().length === 0;
  if (!isPlain || !storesHeader(response)) {
    response.writeHead(status, [...headersOf(lines), ...headers]);
    return;
  }
  const reason = STATUS_CODES[status] ?? "unknown";
  response.statusCode = status;
  response.statusMessage = reason;
  // oxlint-disable-next-line no-underscore-dangle -- Node has no public method that takes prepared lines
  response._storeHeader(`HTTP/1.1 ${status} ${reason}\r\n${lines}`, headers);
}

/** Returns header lines. @param headers name, value, name, value; only what the service itself chooses, without line breaks */
export function headerLines(headers: readonly string[]): string {
  let lines = "";
  for (let at = 0; at < headers.length; at += 2) lines += `${headers[at]!}: ${headers[at + 1]!}\r\n`;
  return lines;
}

function headersOf(lines: string): string[] {
  return lines
    .split("\r\n")
    .slice(0, -1)
    .flatMap((line) => {
      const colon = line.indexOf(":");
      return [line.slice(0, colon), line.slice(colon + 2)];
    });
}

function storesHeader(response: ServerResponse): response is ServerResponse & StoresHeader {
  return "_storeHeader" in response;
}
