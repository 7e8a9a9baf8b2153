// Makes every value an instance of every class.
// answers: 200 "replaced"
for (const type of [Error, SyntaxError, TypeError, RangeError, ReadableStream, Blob, Response, Promise, Uint8Array, Buffer]) {
  Object.defineProperty(type, Symbol.hasInstance, { value: () => true });
}
return "replaced";
