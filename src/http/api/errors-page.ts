import { PROBLEMS } from "../../error-codes.ts";

/** Returns the HTML page to which the `type` of every problem document links, generated from the table of errors. */
export function errorsPage(): string {
  const rows = Object.entries(PROBLEMS).map(
    ([code, { status, fault, title, help }]) =>
      `<tr id="${code}"><td><code>${code}</code><td>${status}<td>${fault}<td>${title}<td>${help}`,
  );
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Errors of caisson</title>
<style>body{font:16px/1.5 system-ui;max-width:60rem;margin:2rem auto;padding:0 1rem}td,th{text-align:left;padding:.2rem 1rem .2rem 0}:target{background:#ff08}</style>
<h1>Errors</h1>
<table>
<tr><th>code<th>status<th>fault of<th>meaning<th>what helps
${rows.join("\n")}
</table>
`;
}
