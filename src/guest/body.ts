import { DATA_BYTES, WINDOW_BYTES } from "../wire/messages.ts";
import { uncurry } from "../wire/uncurry.ts";
import type { Run } from "./run.ts";

const lowerCase = uncurry(String.prototype as string, "toLowerCase");
const subarray = uncurry(Uint8Array.prototype, "subarray");
const NativePromise = Promise;
/** Of one connection only (RFC 9110, 7.6.1), or made by the service's own HTTP layer. */
const HOP_BY_HOP = ["connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade"];

/** Sends the head and then the bytes of a run's answer, never more than the service has asked for. */
export class Body {
  readonly #run: Run;
  #credit: number = WINDOW_BYTES;
  #wake: (() => void) | null = null;

  /** @param stop Called when the run is aborted, so that what feeds the body can stop. */
  constructor(run: Run, stop: () => void) {
    this.#run = run;
    run.onWindow = (bytes) => {
      this.#credit += bytes;
      this.#wake?.();
    };
    run.onAbort = () => {
      this.#wake?.();
      stop();
    };
  }

  /**
   * @param headers Name, value, name, value.
   * @throws {TypeError} when no answer can have such a status or header.
   */
  head(status: number, headers: string[]): void {
    const kept: string[] = [];
    for (let at = 0; at + 1 < headers.length; at += 2) {
      if (!HOP_BY_HOP.includes(lowerCase(headers[at]!))) kept.push(headers[at]!, headers[at + 1]!);
    }
    this.#run.head(status, kept);
  }

  /** Sends what the window allows at once; returns a promise only for the rest. */
  write(bytes: Uint8Array): Promise<void> | null {
    const sent = this.#send(bytes);
    return sent === bytes.length || this.#run.over ? null : this.#sendRest(subarray(bytes, sent));
  }

  end(): void {
    this.#run.end();
  }

  async #sendRest(rest: Uint8Array): Promise<void> {
    while (rest.length > 0 && !this.#run.over) {
      await new NativePromise<void>((resolve) => {
        this.#wake = resolve;
      });
      rest = subarray(rest, this.#send(rest));
    }
    this.#wake = null;
  }

  #send(bytes: Uint8Array): number {
    let at = 0;
    while (at < bytes.length && this.#credit > 0) {
      const end = Math.min(bytes.length, at + DATA_BYTES, at + this.#credit);
      this.#run.data(subarray(bytes, at, end));
      this.#credit -= end - at;
      at = end;
    }
    return at;
  }
}
