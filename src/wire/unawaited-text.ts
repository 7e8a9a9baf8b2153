/** The methods of a Response or a Request that return the promise of its body. */
const OF_BODY = /^(?:json|text|blob|arrayBuffer|formData|bytes)$/;

export function isOfBody(call: string): boolean {
  return OF_BODY.test(call);
}

/** Returns the hint for a member that code reads of the promise of a body, instead of the body. */
export function unawaitedBodyText(call: string, member: string): string {
  return `${call}() returns a promise, so its ${member} is undefined: put await before the call, as in (await response.${call}()).${member}.`;
}

/** Returns the hint for a promise that code uses like its value. @param member that is read of the promise; null for another use */
export function usedPromiseText(call: string, variable: string | null, member: string | null): string {
  if (member === null)
    return `${call}(...) returns a promise, and the code uses it like a value: put await before ${call}(...).`;
  return variable === null
    ? `${call}(...) is a promise, so its ${member} is undefined: write (await ${call}(...)).${member}.`
    : `${variable} is a promise, so ${variable}.${member} is undefined: put await before ${call}(...), where ${variable} is declared.`;
}
