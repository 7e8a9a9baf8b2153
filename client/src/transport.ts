import type { Routes } from "./api-types.ts";
import { errorOfAnswer } from "./error-of-answer.ts";
import { CaissonError, errorOfFailure } from "./error.ts";
import type { OnHint } from "./hint-notice.ts";
import { mustBeJson, mustBeObject, mustBeOptions, mustBeToken, readUrl } from "./options.ts";
import { readJson, readText } from "./read-json.ts";
import { type RetryOptions, retryWhenLimited } from "./retry.ts";

/** A credential, or a function that returns the current one. */
export type Token = string | (() => string | Promise<string>);

export interface CaissonOptions {
  /** The address of the service, such as `https://caisson.example.com`. */
  readonly url: string | URL;
  /** The token of each request. A public task needs none. */
  readonly token?: Token | undefined;
  /** Whether requests wait when a limit is used up. By default they do not. */
  readonly retry?: RetryOptions | undefined;
  /**
   * Receives the hint of a run that succeeded, such as one whose code has no `return`. By default, `run` prints each hint
   * once as a warning.
   */
  readonly onHint?: OnHint | undefined;
  /** Replaces the `fetch` of the platform. */
  readonly fetch?: typeof fetch | undefined;
}

/** The options of each request. */
export interface RequestOptions {
  /** Aborts the request. A run that the request has started is cancelled. */
  readonly signal?: AbortSignal | undefined;
  /** Replaces the option of the client. */
  readonly retry?: RetryOptions | undefined;
}

type Query = Readonly<Record<string, string | number | boolean | readonly string[] | null | undefined>>;

/** The body of a request that is not JSON. It can be sent again. */
export type RequestBody = string | Uint8Array<ArrayBuffer> | ArrayBuffer | Blob | FormData | URLSearchParams;

export interface Parameters {
  readonly path?: Readonly<Record<string, string>> | undefined;
  readonly query?: Query | undefined;
  /** A value that is sent as JSON. */
  readonly json?: unknown;
  /** What is sent instead of JSON. */
  readonly body?: RequestBody | undefined;
  readonly headers?: Readonly<Record<string, string | undefined>> | undefined;
  /** A status that is no success, and whose answer is wanted anyway. */
  readonly wanted?: number | undefined;
}

/** The parameters of an operation of the OpenAPI document. */
export type ParametersOf<Route extends keyof Routes> = Omit<Parameters, "path" | "query" | "json"> &
  ({} extends Routes[Route]["path"] ? { readonly path?: undefined } : { readonly path: Routes[Route]["path"] }) & {
    readonly query?: Routes[Route]["query"] | undefined;
    readonly json?: Routes[Route]["body"] | undefined;
  };

/** Sends requests to one service. */
export class Transport {
  readonly #url: string;
  readonly #token: Token | undefined;
  readonly #retry: RetryOptions;
  readonly #fetch: typeof fetch;

  constructor(options: CaissonOptions) {
    mustBeOptions(
      options,
      "url token retry onHint fetch",
      'new Caisson({ url: "https://caisson.example.com", token })',
    );
    const { url, token, retry, fetch: own } = options;
    mustBeRetry(retry);
    this.#url = readUrl(url);
    this.#token = typeof token === "function" || token === undefined ? token : mustBeToken(token);
    this.#retry = retry ?? {};
    // A browser's `fetch` must be called without `this`.
    this.#fetch = own ?? ((input, init) => fetch(input, init));
  }

  /** Returns the JSON of the answer. */
  async json<Route extends keyof Routes>(
    route: Route,
    parameters: ParametersOf<Route>,
    options: RequestOptions = {},
  ): Promise<Routes[Route]["answer"]> {
    const response = await this.send(route, parameters, options);
    return (await this.#whole(readJson(response), options)) as Routes[Route]["answer"];
  }

  /** Returns the text of the answer, with its headers. */
  async text(
    route: keyof Routes,
    parameters: Parameters,
    options: RequestOptions = {},
  ): Promise<{ readonly text: string; readonly headers: Headers }> {
    const response = await this.send(route, parameters, options);
    return { text: await this.#whole(readText(response), options), headers: response.headers };
  }

  /** Returns the answer, if it is a success, or has the status that is wanted. @throws {CaissonError} */
  send(route: keyof Routes, parameters: Parameters, options: RequestOptions = {}): Promise<Response> {
    const { signal, retry } = mustBeObject(options, "{ signal }");
    mustBeRetry(retry);
    if (signal !== undefined && typeof signal?.aborted !== "boolean")
      throw new TypeError("signal must be an AbortSignal, such as AbortSignal.timeout(5_000)");
    if (typeof (parameters.query ?? {}) !== "object" || "0" in (parameters.query ?? {}))
      throw new TypeError('the query must be an object, such as { container: "acme" }');
    return retryWhenLimited(() => this.#sendOnce(route, parameters, signal), { ...this.#retry, ...retry }, signal);
  }

  /** Returns the error of a body that could not be read completely. */
  failure(error: unknown, signal: AbortSignal | undefined): CaissonError {
    return errorOfFailure(error, this.#url, signal);
  }

  /** Returns the token of the next request. */
  async token(): Promise<string | undefined> {
    const token = typeof this.#token === "function" ? await this.#token() : this.#token;
    return token === undefined ? undefined : mustBeToken(token);
  }

  async #sendOnce(route: keyof Routes, parameters: Parameters, signal: AbortSignal | undefined): Promise<Response> {
    const [method, template] = route.split(" ") as [string, string];
    const { path = {}, query = {}, json, body, headers = {}, wanted } = parameters;
    const sent = new Headers();
    for (const [name, value] of Object.entries(headers)) if (value !== undefined) sent.set(name, value);
    const token = await this.token();
    if (token !== undefined) sent.set("authorization", `Bearer ${token}`);
    if (json !== undefined) sent.set("content-type", "application/json");
    const url = `${this.#url}${template.replaceAll(/\{(\w+)\}/g, (_, name: string) => segment(name, path[name]))}${queryOf(query)}`;
    const content = json === undefined ? body : mustBeJson(json);
    try {
      const response = await this.#fetch(url, {
        method,
        headers: sent,
        // A redirect could take the token to another place, and changes POST to GET.
        redirect: "manual",
        ...(content !== undefined && { body: content }),
        ...(signal && { signal }),
      });
      if (response.ok || response.status === wanted) return response;
      const refused = await errorOfAnswer(response, this.#url);
      throw token === undefined && refused.code === "token_missing" ? withoutToken(refused) : refused;
    } catch (error) {
      throw this.failure(error, signal);
    }
  }

  async #whole<T>(read: Promise<T>, { signal }: RequestOptions): Promise<T> {
    try {
      return await read;
    } catch (error) {
      throw this.failure(error, signal);
    }
  }
}

/** Adds that the client has no token: a variable of the environment is often not set. */
function withoutToken(refused: CaissonError): CaissonError {
  const hint = "The client has no token, or its token is undefined: new Caisson({ url, token }).";
  return new CaissonError({ code: refused.code, detail: refused.detail, status: refused.status, hint });
}

function mustBeRetry(retry: unknown): void {
  if (retry !== undefined) mustBeOptions(retry, "limited maxWaitMs", "retry: { limited: true, maxWaitMs: 60_000 }");
}

/** @throws {TypeError} if the value is not a segment of a path. A URL with `..` would be another path. */
export function segment(name: string, value: unknown): string {
  if (typeof value !== "string" || /^\.{0,2}$|\p{Cs}/u.test(value))
    throw new TypeError(`${name} must be a name, not ${JSON.stringify(value)}`);
  return encodeURIComponent(value);
}

function queryOf(query: Query): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined || value === null) continue;
    for (const each of Array.isArray(value) ? value : [value]) parameters.append(name, String(each));
  }
  return parameters.size === 0 ? "" : `?${parameters.toString()}`;
}
