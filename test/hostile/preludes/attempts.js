/** Makes all attempts, and returns the names of the successful ones. Only an error code of a system call or of Node counts as a refusal: a bug in an attempt does not. */
const through = async (attempts) => {
  const got = [];
  for (const [name, attempt] of Object.entries(attempts)) {
    try {
      await attempt();
      got.push(name);
    } catch (error) {
      if (typeof (error?.code ?? error?.cause?.code) !== "string") got.push(`${name}: ${error}`);
    }
  }
  return got;
};
