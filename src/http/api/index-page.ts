import { VERSION } from "../headers.ts";

/** The answer of `GET /`. */
export const INDEX: Readonly<
  Record<"service" | "version" | "openapi" | "errors" | "health" | "llms" | "documents", string>
> = {
  service: "caisson",
  version: VERSION,
  openapi: "/openapi.json",
  errors: "/errors",
  health: "/healthz",
  llms: "/llms.txt",
  documents: "README.md and docs/ in the folder of caisson",
};

/** Returns `INDEX` as a page. */
export function indexPage(): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>caisson</title>
<style>body{font:16px/1.5 system-ui;max-width:40rem;margin:2rem auto;padding:0 1rem}</style>
<h1>caisson ${INDEX.version}</h1>
<p>This service runs untrusted JavaScript and TypeScript over HTTP.
<ul>
<li><a href="${INDEX.openapi}">${INDEX.openapi}</a>: the HTTP API, as OpenAPI 3.1
<li><a href="${INDEX.errors}">${INDEX.errors}</a>: all errors, and what helps
<li><a href="${INDEX.health}">${INDEX.health}</a>: whether the service takes runs
<li><a href="${INDEX.llms}">${INDEX.llms}</a>: how a language model uses it
</ul>
<p>The documents are in ${INDEX.documents}.
`;
}

/** Whether a client asks for a page, as browsers do. */
export function wantsPage(accept: string | undefined): boolean {
  return /\btext\/html\b/i.test(accept ?? "");
}
