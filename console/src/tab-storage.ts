/**
 * What this tab keeps until it is closed. Browsers that refuse storage to a frame of another site keep it in memory, until the
 * frame is loaded again.
 */
export const tabStorage: Pick<Storage, "getItem" | "setItem" | "removeItem"> = openStorage();

function openStorage(): Pick<Storage, "getItem" | "setItem" | "removeItem"> {
  try {
    return sessionStorage;
  } catch {
    const values = new Map<string, string>();
    return {
      getItem: (name) => values.get(name) ?? null,
      setItem: (name, value) => void values.set(name, value),
      removeItem: (name) => void values.delete(name),
    };
  }
}
