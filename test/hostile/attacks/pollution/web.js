// Replaces the web classes of which answers are made.
// answers: 200 "replaced"
for (const type of [Response, Headers, ReadableStream, AbortController, AbortSignal, Blob, TextEncoder, URL]) {
  for (const name of Object.getOwnPropertyNames(type.prototype)) {
    if (name === "constructor") continue;
    Object.defineProperty(type.prototype, name, { get: () => { throw new Error("hijacked"); }, configurable: true });
  }
}
return "replaced";
