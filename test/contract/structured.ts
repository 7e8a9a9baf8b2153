/** One member of a structured list: a string and its parameters. */
export interface Member {
  name: string;
  parameters: Record<string, number>;
}

const MEMBER = /^"([\x20-\x21\x23-\x5b\x5d-\x7e]*)"((?:; *[a-z*][a-z0-9_.*-]*=-?\d{1,15})*)$/;

/**
 * Reads a header that is a list of strings with integers as parameters (RFC 9651, sections 3.1 and 4.2), as
 * draft-ietf-httpapi-ratelimit-headers-11 uses it. @throws {Error} if the header has another form
 */
export function parseMembers(header: string): Member[] {
  return header.split(/[ \t]*,[ \t]*/).map((text) => {
    const match = MEMBER.exec(text);
    if (!match) throw new Error(`not a member of a structured list: ${text}`);
    const pairs = match[2]!.split(";").slice(1);
    const parameters = pairs.map((pair) => pair.trim().split("=")).map(([key, value]) => [key!, Number(value)]);
    return { name: match[1]!, parameters: Object.fromEntries(parameters) as Record<string, number> };
  });
}
