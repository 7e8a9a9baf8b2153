/** Returns at most this many bytes of a text: its beginning and its end, with a note between them. */
export function cut(text: string, mostBytes: number): string {
  const bytes = Buffer.from(
    text.length > mostBytes * 2 ? `${text.slice(0, mostBytes)}${text.slice(-mostBytes)}` : text,
  );
  const all = text.length > mostBytes * 2 ? Buffer.byteLength(text) : bytes.length;
  if (all <= mostBytes) return text;
  const room = mostBytes - NOTE_BYTES;
  if (room < NOTE_BYTES) return beginning(bytes, mostBytes);
  const head = beginning(bytes, Math.ceil(room * HEAD_SHARE));
  const tail = end(bytes, room - Buffer.byteLength(head));
  const left = all - Buffer.byteLength(head) - Buffer.byteLength(tail);
  return `${head}\n… ${left} bytes left out …\n${tail}`;
}

/** The room for the note: its words, and a number of 16 digits. */
const NOTE_BYTES = 48;
const HEAD_SHARE = 0.6;

/** The first bytes of a text, without a part of a character. */
function beginning(bytes: Buffer, most: number): string {
  let to = Math.min(most, bytes.length);
  while (to > 0 && to < bytes.length && isContinued(bytes[to]!)) to -= 1;
  return bytes.toString("utf8", 0, to);
}

function end(bytes: Buffer, most: number): string {
  let from = Math.max(0, bytes.length - most);
  while (from < bytes.length && isContinued(bytes[from]!)) from += 1;
  return bytes.toString("utf8", from);
}

/** Whether a byte is not the first one of a character. */
function isContinued(byte: number): boolean {
  return (byte & 0b1100_0000) === 0b1000_0000;
}
