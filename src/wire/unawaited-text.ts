/** The methods of a Response or a Request that return the promise of its body. */
const OF_BODY = /^(?:json|text|blob|arrayBuffer|formData|bytes)$/;

export function isOfBody(call: string): boolean {
  return OF_BODY.test(call);
}

/** Returns the hint for a member that code reads of the promise of a body, instead of the body. */
export function unawaitedBodyText(call: string, member: string): string {
  return `${call}() returns a promise, so its ${member} is undefined: put await before the call, as in (await response.${call}()).${member}.`;
}
