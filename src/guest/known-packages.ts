import { distance } from "./distance.ts";

/** Packages that a task does not need, or that cannot work in it, and what to write instead. */
const REPLACED: readonly { readonly names: RegExp; readonly hint: string }[] = [
  {
    names: /^(?:node-fetch|cross-fetch|isomorphic-fetch|whatwg-fetch|undici)$/,
    hint: "fetch, Request, Response and FormData are there without an import: remove the line.",
  },
  {
    names: /^(?:express|koa|fastify|restify|connect|@hapi\/hapi|polka)$/,
    hint: 'No client can connect to a task, so a server is not needed: export default { fetch(request) { return new Response("hi") } }, or a function (context) that returns the result.',
  },
  {
    names: /^(?:dotenv|dotenv\/config|dotenv-safe)$/,
    hint: "A task has no file .env: a task or a token sets params and secrets, and the code reads context.params and context.secrets.",
  },
  {
    names: /^(?:readline-sync|prompt-sync|prompts|inquirer)$/,
    hint: "A task has no stdin: its input comes with the request, in context.body.",
  },
  {
    names: /^(?:node-cron|cron|node-schedule)$/,
    hint: "The service has no schedule: export a function, and let cron call /api/run/{container}/{name}.",
  },
];

/** Packages that are imported often. A misspelling of one of them names it. */
const POPULAR =
  "lodash lodash-es axios moment dayjs date-fns luxon uuid nanoid zod joi yup ajv cheerio jsdom jsonwebtoken bcrypt bcryptjs validator papaparse csv-parse xml2js fast-xml-parser js-yaml marked handlebars mustache qs semver ramda rxjs immer mathjs decimal.js bignumber.js openai stripe pg mysql2 mongodb mongoose redis ioredis sharp nodemailer hono express underscore classnames chalk async bluebird typescript prettier graphql node-fetch".split(
    " ",
  );
/** Shorter names resemble each other by chance. */
const MIN_CHARACTERS = 4;

/** Returns what to write instead of the import of a package, or undefined. */
export function replacedHint(specifier: string): string | undefined {
  return REPLACED.find(({ names }) => names.test(specifier))?.hint;
}

/** Returns the popular package of which a name is a misspelling: one letter too many, too few or wrong, or two in the wrong order; or null. */
export function popularNear(name: string): string | null {
  if (name.length < MIN_CHARACTERS || POPULAR.includes(name)) return null;
  return (
    POPULAR.find((each) => each.length >= MIN_CHARACTERS && each[0] === name[0] && distance(name, each) < 2) ?? null
  );
}
