import { z } from "zod";

import type { AnswerReader } from "../ask-node.ts";
import { type AnswerKind, foreign, writeLines } from "./kind.ts";

/** The most characters of a text, and the most entries of a list, that a node sends. */
const MAX_CHARS = 4_096;
const MAX_ENTRIES = 512;

/** What an administrator reads of one node. */
export interface NodeSystem {
  readonly process: string;
  readonly version: string;
  readonly startedAt: string;
  /** The isolation level. */
  readonly isolation: string;
  /** Without those about other nodes. */
  readonly warnings: readonly string[];
  readonly checks: readonly {
    readonly layer: string;
    readonly state: "held" | "weak" | "open";
    readonly proof: string;
    readonly remedy: string | null;
  }[];
  readonly settings: readonly { readonly name: string; readonly value: string | null; readonly setBy: SetBy }[];
}

type SetBy = "default" | "flag" | "variable" | "file";

/** The states of nodes. The merge has the part of each, the node that answers first. */
export function systemParts(): AnswerKind<readonly NodeSystem[]> {
  return {
    write: (parts, family) => writeLines(parts, family),
    newReader: () => new PartReader(),
    merge: (parts) => Promise.resolve(parts.flat()),
  };
}

const text = z.string().max(MAX_CHARS);
/** A node of another version may send more members. */
const partLine: z.ZodType<NodeSystem> = z.object({
  ...{ process: text, version: text, startedAt: z.iso.datetime(), isolation: text },
  warnings: z.array(text).max(MAX_ENTRIES),
  checks: z
    .array(z.object({ layer: text, state: z.enum(["held", "weak", "open"]), proof: text, remedy: text.nullable() }))
    .max(MAX_ENTRIES),
  settings: z
    .array(z.object({ name: text, value: text.nullable(), setBy: z.enum(["default", "flag", "variable", "file"]) }))
    .max(MAX_ENTRIES),
});

class PartReader implements AnswerReader<readonly NodeSystem[]> {
  #part: NodeSystem | null = null;

  line(value: unknown): void {
    if (this.#part !== null) throw foreign();
    this.#part = partLine.parse(value);
  }

  end(): readonly NodeSystem[] {
    if (this.#part === null) throw foreign();
    return [this.#part];
  }
}
