/** The line that the command sends to the socket. */
export interface Request {
  readonly withoutRecords: boolean;
}

/** A line of the answer. The bytes of a part follow its line. The answer is whole only with its last line. */
export type Frame =
  | { readonly part: string; readonly bytes: number }
  | { readonly warning: string }
  | { readonly error: string }
  | { readonly end: true };

/** The most bytes of a line: far more than a name and a message of the system. */
export const LINE_BYTES = 65_536;
