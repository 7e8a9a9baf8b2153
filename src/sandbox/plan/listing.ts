/**
 * Machine code from its listing: on each line the bytes in hexadecimal, and after two blanks what they say, which a test
 * has an assembler translate again.
 */
export function machineCode(listing: string): Buffer {
  const lines = listing.split("\n").map((line) => line.trim().split("  ")[0]!);
  return Buffer.from(lines.join("").replaceAll(" ", ""), "hex");
}
