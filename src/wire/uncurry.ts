/**
 * Takes a method off its prototype, to be called with its object as the first argument. What is taken before any submitted
 * code runs keeps working when a task replaces the method.
 */
export function uncurry<Owner, Name extends keyof Owner>(prototype: Owner, name: Name): Uncurried<Owner, Owner[Name]> {
  return Function.prototype.call.bind(prototype[name] as () => unknown) as Uncurried<Owner, Owner[Name]>;
}

type Uncurried<Owner, Method> = Method extends (...args: infer Args) => infer Result
  ? (self: Owner, ...args: Args) => Result
  : never;
