// Reads uninitialized memory, to find bytes of other containers.
// answers: 200 "filled"
globalThis.kept = Array.from({ length: 64 }, () => Buffer.alloc(1 << 20, MARK));
return "filled";
// then, in another container
// answers: 200 0
const taken = Array.from({ length: 64 }, () => Buffer.allocUnsafeSlow(1 << 20));
return taken.filter((bytes) => bytes.includes(MARK)).length;
