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
  return token;
}

/** @param form an example. @throws {TypeError} */
export function mustBeObject<T>(value: T, form: string): T {
  if (typeof value === "object" && value !== null) return value;
  throw new TypeError(`the argument must be an object such as ${form}, not ${typeof value}`);
}

/** @throws {TypeError} if the value has no JSON, such as one with a circle, a BigInt or a function as a member */
export function mustBeJson(value: unknown): string {
  for (const [name, member] of Object.entries(value ?? {}))
    if (typeof member === "function") throw new TypeError(`${name} must be JSON, not a function`);
  try {
    return JSON.stringify(value);
  } catch (error) {
    throw new TypeError(`data must be JSON: ${(error as Error).message}`, { cause: error });
  }
}
