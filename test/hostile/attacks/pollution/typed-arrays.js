// Replaces the methods and the constructor of typed arrays.
// answers: 200 "replaced"
// answers: 500 task_exited
const TypedArray = Object.getPrototypeOf(Uint8Array);
for (const name of ["set", "subarray", "slice", "fill", "copyWithin", "indexOf", "join"]) TypedArray.prototype[name] = () => null;
Object.defineProperty(TypedArray, Symbol.species, { value: class {} });
for (const name of ["length", "byteLength", "byteOffset", "buffer"]) {
  Object.defineProperty(TypedArray.prototype, name, { get: () => 0 });
}
return "replaced";
