/** An error of Node's HTTP parser: the bytes that it received last, and how many of these it has read. */
export interface ParserError extends NodeJS.ErrnoException {
  readonly rawPacket?: Buffer;
  readonly bytesParsed?: number;
  /** What the parser expected. */
  readonly reason?: string;
}

/** The name of a header at the start of a line. No text of a value is shown: it may be a token. */
const NAME = /^([A-Za-z][A-Za-z-]{0,39}):/;
const LF = 10;

/** Returns what to do about a header that the parser rejects, or null for another error. */
export function headerHint({ code, rawPacket, bytesParsed = 0, reason = "" }: ParserError): string | null {
  // The lines between the parts of a body have the same codes.
  if (reason.includes("chunk")) return null;
  if (code === "HPE_CR_EXPECTED" || code === "HPE_LF_EXPECTED") return brokenHint(nameBefore(rawPacket, bytesParsed));
  if (code !== "HPE_INVALID_HEADER_TOKEN") return null;
  const start = lineStart(rawPacket, bytesParsed);
  const end = rawPacket?.indexOf(LF, start) ?? -1;
  const line = rawPacket?.toString("latin1", start, end === -1 ? undefined : end) ?? "";
  // A line without a name is probably the rest of the value before it.
  if (!line.includes(":")) return brokenHint(nameBefore(rawPacket, start));
  const name = NAME.exec(line)?.[1];
  return name === undefined
    ? "The name of a header contains a space, or another character that HTTP does not permit there: write Name: value."
    : `The value of the header ${name} contains a control character: remove it.`;
}

function brokenHint(name: string | null): string {
  const header = name === null ? "A header probably" : `The header ${name}`;
  return `${header} contains a line break, such as that of a token from a file with Windows line ends: remove it, as tr -d '\\r\\n' does.`;
}

/** Returns the name of the header in the line that has or ends with the byte before `at`; null if that is in an earlier packet. */
function nameBefore(packet: Buffer | undefined, at: number): string | null {
  if (!packet || at < 1) return null;
  const start = lineStart(packet, at - 1);
  return NAME.exec(packet.toString("latin1", start, Math.min(at, start + 64)))?.[1] ?? null;
}

function lineStart(packet: Buffer | undefined, at: number): number {
  return packet && at > 0 ? packet.lastIndexOf(LF, at - 1) + 1 : 0;
}
