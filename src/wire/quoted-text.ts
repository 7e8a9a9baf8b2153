/** Returns the hint for a text in quotes with an expression that only a template reads. @param names of the expression, such as `user.name` */
export function quotedText(names: string): string {
  return `Only a text between backticks reads \${${names}}: write backticks instead of the quotes around the text.`;
}
