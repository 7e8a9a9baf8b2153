import type { SourcePosition } from "./code-frame.ts";
import { safeMap } from "./safe-map.ts";
import type { InlineMap } from "./source-map.ts";

/** The maps of texts that were generated from submitted ones, because their TypeScript or JSX is more than types. */

/** A generated line without a position has that of a line before it, at most so many lines before. */
const MOST_LINES = 100;
const END_OF_LINE = 2 ** 30;

/** Finds positions of a generated text in the submitted text. */
export class GeneratedMap {
  readonly #map: InlineMap;
  readonly #headLength: number;
  readonly #leftOutLines: number;

  /**
   * @param map the map of what was generated, from a text that begins with `headLength` further characters
   * @param leftOutLines the lines before the generated text that are not part of it
   */
  constructor(map: InlineMap, headLength: number, leftOutLines: number = 0) {
    this.#map = map;
    this.#headLength = headLength;
    this.#leftOutLines = leftOutLines;
  }

  /** Never throws. */
  originalOf({ line, column }: SourcePosition): SourcePosition | null {
    for (let before = 0; before < MOST_LINES && before < line; before += 1) {
      const generated = { line: line - before + this.#leftOutLines, column: before === 0 ? column : END_OF_LINE };
      const found = this.#map.originalOf(generated);
      if (!found) continue;
      return { line: found.line, column: Math.max(1, found.column - (found.line === 1 ? this.#headLength : 0)) };
    }
    return null;
  }
}

const maps = safeMap<string, GeneratedMap>();

/** @param name the name of the submitted text: `task.ts`, or the name of a module */
export function noteMap(codeId: number, name: string, map: GeneratedMap | null): void {
  const key = `${codeId}/${name}`;
  if (map) maps.set(key, map);
  else maps.delete(key);
}

export function generatedMap(codeId: number, name: string): GeneratedMap | null {
  return maps.get(`${codeId}/${name}`) ?? null;
}

export function forgetMaps(codeId: number): void {
  maps.forEach((_, key) => {
    if (key.startsWith(`${codeId}/`)) maps.delete(key);
  });
}
