import { nearest } from "../../nearest.ts";

/** The paths of runs. The listener answers them before the API. */
const RUN_PATHS = ["/api/run/:container", "/api/run/:container/:name"];
/** A longer path is not a misspelling, and its comparison would take time. */
const MAX_CHARS = 200;
const MAX_SEGMENTS = 8;
/** Mistakes that cost more than this are not the same path any more. */
const MAX_COST = 2.5;
/** What a mistake costs. */
const COST = {
  /** A misspelled word of the service. */
  misspelled: 1.5,
  /** A name that is missing, such as that of the container. */
  missingName: 1,
  /** A word that is missing, such as `container` in `/api/limits/acme`. */
  missingWord: 2,
  missingPrefix: 0.5,
  surplus: 2,
  /** The number of a version, which other services have in their paths. */
  surplusVersion: 0.5,
};

/**
 * Returns the path that a wrong path probably means, with the names that it contains, or null. It compares words of the
 * service only, so it reveals nothing about the containers and tokens that exist.
 *
 * @param templates the paths of the service, with `:name` for a name
 */
export function nearPath(path: string, templates: readonly string[]): string | null {
  const written = segmentsOf(path);
  if (path.length > MAX_CHARS || written.length > MAX_SEGMENTS) return null;
  let best: string | null = null;
  let least = MAX_COST;
  for (const template of [...new Set([...templates, ...RUN_PATHS])]) {
    const found = align(written, 0, segmentsOf(template.replaceAll(/\{[^}]*\}+/g, "")), 0);
    if (found.cost >= least) continue;
    [best, least] = [`/${found.segments.join("/")}`, found.cost];
  }
  return best;
}

interface Alignment {
  readonly cost: number;
  readonly segments: readonly string[];
}

const IMPOSSIBLE: Alignment = { cost: Infinity, segments: [] };

/** Compares the rest of both paths. The bounds on the segments bound the depth, and `MAX_COST` cuts the branches. */
function align(written: readonly string[], at: number, template: readonly string[], of: number, spent = 0): Alignment {
  if (spent >= MAX_COST) return IMPOSSIBLE;
  const [given, word] = [written[at], template[of]];
  if (given === undefined && word === undefined) return { cost: spent, segments: [] };
  const step = (cost: number, segment: string | null, [nextAt, nextOf]: [number, number]): Alignment => {
    const rest = align(written, nextAt, template, nextOf, spent + cost);
    return segment === null ? rest : { cost: rest.cost, segments: [segment, ...rest.segments] };
  };
  const ways: Alignment[] = [];
  if (given !== undefined && word !== undefined) {
    const cost = word.startsWith(":") ? 0 : costOf(given, word);
    if (cost !== null) ways.push(step(cost, word.startsWith(":") ? given : word, [at + 1, of + 1]));
  }
  if (word !== undefined) {
    const isName = word.startsWith(":");
    // The word after the prefix names the resource, so it cannot be missing. Without the prefix, the first word does.
    const isResource = of === 0 ? word !== "api" : template[of - 1] === "api";
    const cost = isResource
      ? MAX_COST
      : isName
        ? COST.missingName
        : word === "api"
          ? COST.missingPrefix
          : COST.missingWord;
    ways.push(step(cost, isName ? `{${word.slice(1)}}` : word, [at, of + 1]));
  }
  if (given !== undefined) {
    ways.push(step(/^v\d$/.test(given) ? COST.surplusVersion : COST.surplus, null, [at + 1, of]));
  }
  return ways.reduce((one, other) => (other.cost < one.cost ? other : one), IMPOSSIBLE);
}

/** Returns null for another word. */
function costOf(given: string, word: string): number | null {
  if (given === word) return 0;
  if (given.toLowerCase() === word) return 0.1;
  return nearest(given, [word]) === null ? null : COST.misspelled;
}

function segmentsOf(path: string): string[] {
  return path.split("/", MAX_SEGMENTS + 2).filter((segment) => segment !== "");
}
