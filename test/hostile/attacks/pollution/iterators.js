// Replaces all iterators.
// answers: 200 "replaced"
const hijack = () => { throw new Error("hijacked"); };
for (const type of [Array, Map, Set, String, Uint8Array, URLSearchParams, Headers]) type.prototype[Symbol.iterator] = hijack;
Object.getPrototypeOf([][Symbol.iterator]?.call ? {} : {}).next = hijack;
const arrayIterator = Object.getPrototypeOf(new Map().entries());
arrayIterator.next = hijack;
delete Object.prototype.next;
return "replaced";
