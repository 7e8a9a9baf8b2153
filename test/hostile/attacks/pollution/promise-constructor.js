// Makes every promise use a replaced constructor, through the species of promises.
// answers: 200 "replaced"
const hijack = function (executor) {
  executor(() => {}, () => {});
};
Object.defineProperty(Promise, Symbol.species, { value: hijack });
Object.defineProperty(Promise.prototype, "constructor", { get: () => hijack });
Promise.resolve = Promise.reject = Promise.withResolvers = Promise.all = hijack;
globalThis.Promise = hijack;
return "replaced";
