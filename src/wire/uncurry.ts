/**
 * Returns a method of a prototype as a function whose first argument is the object. A function that is made before any
 * submitted code runs keeps working when a task replaces the method.
 */
export function uncurry<Owner, Name extends keyof Owner>(prototype: Owner, name: Name): Uncurried<Owner, Owner[Name]> {
  return Function.prototype.call.bind(prototype[name] as () => unknown) as Uncurried<Owner, Owner[Name]>;
}

type Uncurried<Owner, Method> = Method extends (...args: infer Args) => infer Result
  ? (self: Owner, ...args: Args) => Result
  : never;
