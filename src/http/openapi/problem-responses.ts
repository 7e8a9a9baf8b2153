import { PROBLEMS, type ProblemCode } from "../../error-codes.ts";
import { headersOf } from "./header-table.ts";
import { type HeaderName, type Operation, RUN_HEADERS } from "./operation.ts";

type Json = Record<string, unknown>;

/** The answers with problem documents. Most operations share them, so the document contains each only once. */
export class ProblemResponses {
  readonly #schema: Json;
  readonly #byContent = new Map<string, { readonly name: string; readonly response: Json }>();

  /** @param schema refers to the schema of problem documents */
  constructor(schema: Json) {
    this.#schema = schema;
  }

  /** Returns the answers of an operation to requests that fail, by status. */
  of({ errors, startsRun = false }: Operation): Json {
    const byStatus = Map.groupBy(new Set(errors), (code) => PROBLEMS[code].status);
    const inOrder = [...byStatus].toSorted(([a], [b]) => a - b);
    return Object.fromEntries(inOrder.map(([status, codes]) => [status, this.#shared(status, codes, startsRun)]));
  }

  /** Returns all answers, by their names in the document. */
  get components(): Json {
    return Object.fromEntries([...this.#byContent.values()].map(({ name, response }) => [name, response]));
  }

  /** Returns an example of each problem document, by its code. */
  get examples(): Json {
    return Object.fromEntries(
      Object.entries(PROBLEMS).map(([code, { title, status, help }]) => {
        const value = { type: `/errors#${code}`, title, status, detail: title, code, hint: help };
        return [code, { summary: title, value }];
      }),
    );
  }

  #shared(status: number, codes: readonly ProblemCode[], startsRun: boolean): Json {
    const response = this.#response(status, codes, startsRun);
    const key = JSON.stringify(response);
    let known = this.#byContent.get(key);
    if (!known) {
      const alike = [...this.#byContent.values()].filter(({ name }) => name.startsWith(`Problem${status}`)).length;
      this.#byContent.set(key, (known = { name: `Problem${status}${alike === 0 ? "" : `-${alike + 1}`}`, response }));
    }
    return { $ref: `#/components/responses/${known.name}` };
  }

  #response(status: number, codes: readonly ProblemCode[], startsRun: boolean): Json {
    const headers: HeaderName[] = ["Caisson-Fault"];
    if (status === 403) headers.push("WWW-Authenticate");
    if (status === 405) headers.push("Allow");
    if (status === 429 || status === 503) headers.push("Retry-After");
    if (startsRun) headers.push(...RUN_HEADERS);
    const schema = { allOf: [this.#schema, { properties: { code: { enum: codes } } }] };
    const examples = Object.fromEntries(codes.map((code) => [code, { $ref: `#/components/examples/${code}` }]));
    return {
      description: codes.map((code) => PROBLEMS[code].title).join("; "),
      headers: headersOf(headers),
      content: { "application/problem+json": { schema, examples } },
    };
  }
}
