/** Tries all and gives the names of those that got through. An attempt is stopped by an error that a system call or Node gives, and by nothing else: a slip in the attempt itself is no wall. */
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
