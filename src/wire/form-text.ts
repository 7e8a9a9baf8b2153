/** Returns the hint for a member that a body lacks because it is a form with parts. */
export function formBodyText(name: string): string {
  return `context.body is the text of a form with parts, so it has no ${name}: send the form without files (curl -d), or read it in a fetch handler: (await request.formData()).get("${name}").`;
}
