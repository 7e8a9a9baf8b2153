// Replaces Error and its subclasses, and makes each stack a trap.
// answers: 500 task_threw
Object.defineProperty(Error.prototype, "stack", { get() { throw this; } });
Object.defineProperty(Error.prototype, "message", { get() { throw this; } });
Object.defineProperty(Error.prototype, "name", { get() { throw this; } });
globalThis.Error = globalThis.TypeError = globalThis.SyntaxError = class {};
throw Object.create(Object.getPrototypeOf(new RangeError("x")));
