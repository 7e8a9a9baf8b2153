import { uncurry } from "../wire/uncurry.ts";
import type { SourcePosition } from "./code-frame.ts";
import { find } from "./source-map-segments.ts";
import { shortName } from "./source-names.ts";

/** The longest map that is read, in characters of its comment. Reading it takes the guest some 10 ms for each megabyte. */
const MAX_CHARACTERS = 4 * 2 ** 20;
/** The positions that are kept for each map, because the same line often throws again. */
const MAX_KNOWN = 256;

const COMMENT = "sourceMappingURL=data:";
const MEDIA_TYPE = /^application\/json(?:;charset=[\w-]{1,32})?(;base64)?$/i;
const MAX_MEDIA_TYPE = 64;

const { parse } = JSON;
const { isArray } = Array;
const decodeURL = decodeURIComponent;
const toBytes = Buffer.from.bind(Buffer) as (text: string, encoding: "base64") => Buffer;
const toText = uncurry(Buffer.prototype as Buffer, "toString");
const { create } = Object;

/** A position in an original text. The text is null if the map does not contain it. */
export interface OriginalPosition extends SourcePosition {
  readonly file: string;
  readonly text: string | null;
}

interface RawMap {
  readonly mappings: string;
  readonly sources: readonly unknown[];
  readonly sourcesContent: readonly unknown[];
  readonly sourceRoot: string;
}

/**
 * The source map in the last line of a text, which bundlers and compilers write there. Its author is the author of the code,
 * so a wrong map harms only the positions of this code. Node's `SourceMap` would make a list of every segment, which takes
 * fifty times the memory of the map.
 */
export class InlineMap {
  readonly #map: RawMap;
  #known: Record<string, OriginalPosition | null> = create(null) as {};
  #knownCount = 0;

  private constructor(map: RawMap) {
    this.#map = map;
  }

  /** Returns null if the text has no map that can be used. Never throws. */
  static of(text: string): InlineMap | null {
    try {
      const map = rawMap(jsonOf(text));
      return map && new InlineMap(map);
    } catch {
      return null;
    }
  }

  /** Returns null if the map has no original for a position. Never throws. */
  originalOf({ line, column }: SourcePosition): OriginalPosition | null {
    try {
      const key = `${line}:${column}`;
      const known = this.#known[key];
      if (known !== undefined) return known;
      if (this.#knownCount >= MAX_KNOWN) {
        this.#known = create(null) as {};
        this.#knownCount = 0;
      }
      this.#knownCount += 1;
      return (this.#known[key] = this.#find(line, column));
    } catch {
      return null;
    }
  }

  #find(line: number, column: number): OriginalPosition | null {
    const { mappings, sources, sourcesContent, sourceRoot } = this.#map;
    const found = find(mappings, line - 1, column - 1);
    if (!found) return null;
    const source = sources[found.source];
    if (typeof source !== "string") return null;
    const text = sourcesContent[found.source];
    return {
      file: shortName(sourceRoot + source),
      line: found.line + 1,
      column: found.column + 1,
      text: typeof text === "string" ? text : null,
    };
  }
}

/** Returns the JSON of the map in the last line of a text; empty if there is none. */
function jsonOf(text: string): string {
  const comment = text.lastIndexOf(COMMENT);
  if (comment < 4 || text.length - comment > MAX_CHARACTERS) return "";
  if (!/^\/\/[#@] $/.test(text.slice(comment - 4, comment))) return "";
  const data = text.slice(comment + COMMENT.length).trimEnd();
  const comma = data.slice(0, MAX_MEDIA_TYPE).indexOf(",");
  const type = MEDIA_TYPE.exec(data.slice(0, Math.max(0, comma)));
  if (!type) return "";
  const content = data.slice(comma + 1);
  // Text after the data means that this is not a comment, or not the last line of the text.
  if (type[1] !== undefined) return /^[\w+/=-]*$/.test(content) ? toText(toBytes(content, "base64")) : "";
  return /^[^\s`]*$/.test(content) ? decodeURL(content) : "";
}

function rawMap(json: string): RawMap | null {
  if (json === "") return null;
  const map = parse(json) as Partial<Record<keyof RawMap | "version", unknown>> | null;
  if (typeof map !== "object" || map === null || map.version !== 3) return null;
  const { mappings, sources, sourcesContent, sourceRoot } = map;
  // A map of sections has no mappings. Bundlers do not write such maps inline.
  if (typeof mappings !== "string" || !isArray(sources)) return null;
  return {
    mappings,
    sources,
    sourcesContent: isArray(sourcesContent) ? sourcesContent : [],
    sourceRoot: typeof sourceRoot === "string" && sourceRoot !== "" ? `${sourceRoot}/` : "",
  };
}
