/**
 * Returns the machine code of a listing. Each line has the bytes in hexadecimal, two blanks, and the instruction. A test
 * compares them with the output of an assembler.
 */
export function machineCode(listing: string): Buffer {
  const lines = listing.split("\n").map((line) => line.trim().split("  ")[0]!);
  return Buffer.from(lines.join("").replaceAll(" ", ""), "hex");
}
