import { distance } from "./distance.ts";

/** Returns the popular package of which a name is a misspelling: one letter too many, too few or wrong, or two in the wrong order; or null. */
export function popularNear(name: string): string | null {
  const lower = lowerCaseOf(name);
  if (lower !== null && POPULAR.includes(lower)) return lower;
  if (name.length < MIN_CHARACTERS || POPULAR.includes(name)) return null;
  return (
    POPULAR.find((each) => each.length >= MIN_CHARACTERS && each[0] === name[0] && distance(name, each) < 2) ?? null
  );
}

/**
 * Returns the name of a package in lower case if it has capital letters, and is none of the packages that are older than the rule
 * against them; otherwise null.
 */
export function lowerCaseOf(name: string): string | null {
  const lower = name.toLowerCase();
  return lower === name || OLD.includes(name) ? null : lower;
}

/** Packages with capital letters that are still in use. */
const OLD = ["JSONStream", "Base64", "JSV", "CSSselect", "XMLHttpRequest"];

/** Packages that are imported often. A misspelling of one of them names it. */
const POPULAR =
  "lodash lodash-es axios moment dayjs date-fns luxon uuid nanoid zod joi yup ajv cheerio jsdom jsonwebtoken bcrypt bcryptjs validator papaparse csv-parse xml2js fast-xml-parser js-yaml marked handlebars mustache qs semver ramda rxjs immer mathjs decimal.js bignumber.js openai stripe pg mysql2 mongodb mongoose redis ioredis sharp nodemailer hono express underscore classnames chalk async bluebird typescript prettier graphql node-fetch".split(
    " ",
  );
/** Shorter names resemble each other by chance. */
const MIN_CHARACTERS = 4;
