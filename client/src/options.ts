/** Checks of arguments. A program without types would otherwise learn nothing about a misspelled option. */

/** @param names of all options, with a space between them. @param form an example. @throws {TypeError} */
export function mustBeOptions(options: unknown, names: string, form: string): void {
  if (typeof options !== "object" || options === null || Array.isArray(options) || options instanceof URL)
    throw new TypeError(`the options must be an object: ${form}`);
  const wrong = Object.keys(options).find((name) => !names.split(" ").includes(name));
  if (wrong !== undefined)
    throw new TypeError(`there is no option ${wrong}; the options are ${names.replaceAll(" ", ", ")}: ${form}`);
}

/** Returns the address of a service without a slash at its end. @throws {TypeError} */
export function readUrl(url: unknown): string {
  const text = String(url);
  if (!/^https?:\/\/[^?#]+$/i.test(text) || !URL.canParse(text))
    throw new TypeError(
      `url must be the http or https address of a service, such as "https://caisson.example.com", not ${JSON.stringify(url)}`,
    );
  return new URL(text).href.replace(/\/+$/, "");
}

/** @throws {TypeError} without the token */
export function mustBeToken(token: string): string {
  if (typeof token !== "string") throw new TypeError("token must be a text, or a function that returns one");
  if (token.trim() === "") throw new TypeError("token is empty; perhaps a variable of the environment is not set");
  if (/^bearer\s/i.test(token)) throw new TypeError("token is the text after Bearer; leave Bearer out");
  // The error of a header would repeat the token.
  if (/[^\t\x20-\x7e]/.test(token.trim()))
    throw new TypeError("token has a line break, or another character that no token has; send the token alone");
  return token;
}

/** @param form an example. @throws {TypeError} */
export function mustBeObject<T>(value: T, form: string): T {
  if (typeof value === "object" && value !== null) return value;
  throw new TypeError(`the argument must be an object such as ${form}, not ${typeof value}`);
}

/** @throws {TypeError} if the value has no JSON, such as one with a circle, a BigInt, a function or a promise as a member */
export function mustBeJson(value: unknown): string {
  mustKeepItsJson(value, "data", 0);
  try {
    return JSON.stringify(value);
  } catch (error) {
    throw new TypeError(`data must be JSON: ${(error as Error).message}`, { cause: error });
  }
}

/** The members of one object that are looked at. */
const MAX_LOOKED_AT = 100;
/** What JSON turns into `{}`. */
const EMPTIED = /^(?:Promise|Map|Set|URLSearchParams|Headers|FormData|Blob|File|ArrayBuffer|Response|Request)$/;

/** @throws {TypeError} for a function or a value of which JSON keeps nothing, to the depth of the members of `data` */
function mustKeepItsJson(value: unknown, name: string, depth: number): void {
  if (typeof value === "function") throw new TypeError(`${name} must be JSON, not a function`);
  if (typeof value !== "object" || value === null || "toJSON" in value) return;
  const kind = Object.prototype.toString.call(value).slice("[object ".length, -1);
  if (EMPTIED.test(kind))
    throw new TypeError(`${name} must be JSON, not a ${kind}: ${kind === "Promise" ? "await it" : "send what it has"}`);
  if (depth > MAX_DEPTH || kind !== "Object") return;
  let left = MAX_LOOKED_AT;
  for (const [member, of] of Object.entries(value)) {
    if ((left -= 1) < 0) return;
    mustKeepItsJson(of, depth === 0 ? member : `${name}.${member}`, depth + 1);
  }
}

/** Of an envelope, its members and those of `data`. */
const MAX_DEPTH = 1;
