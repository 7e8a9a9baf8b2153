// Replaces the functions that create frames.
// answers: 200 "replaced"
const hijack = () => { throw new Error("hijacked"); };
for (const name of Object.getOwnPropertyNames(Buffer.prototype)) if (name !== "constructor") Buffer.prototype[name] = hijack;
for (const name of ["from", "alloc", "allocUnsafe", "allocUnsafeSlow", "concat", "byteLength", "isBuffer"]) Buffer[name] = hijack;
Buffer.poolSize = -1;
return "replaced";
