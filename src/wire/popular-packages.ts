import { distance } from "./distance.ts";

/** Returns the popular package of which a name is a misspelling: one letter too many, too few or wrong, or two in the wrong order; or null. */
export function popularNear(name: string): string | null {
  if (name.length < MIN_CHARACTERS || POPULAR.includes(name)) return null;
  return (
    POPULAR.find((each) => each.length >= MIN_CHARACTERS && each[0] === name[0] && distance(name, each) < 2) ?? null
  );
}

/** Packages that are imported often. A misspelling of one of them names it. */
const POPULAR =
  "lodash lodash-es axios moment dayjs date-fns luxon uuid nanoid zod joi yup ajv cheerio jsdom jsonwebtoken bcrypt bcryptjs validator papaparse csv-parse xml2js fast-xml-parser js-yaml marked handlebars mustache qs semver ramda rxjs immer mathjs decimal.js bignumber.js openai stripe pg mysql2 mongodb mongoose redis ioredis sharp nodemailer hono express underscore classnames chalk async bluebird typescript prettier graphql node-fetch".split(
    " ",
  );
/** Shorter names resemble each other by chance. */
const MIN_CHARACTERS = 4;
