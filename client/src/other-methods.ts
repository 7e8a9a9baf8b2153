/** Methods that other clients have, and what does the same here. A program without types reads only "is not a function". */
export function nameOthers(prototype: object, others: Readonly<Record<string, string>>): void {
  for (const [names, instead] of Object.entries(others)) {
    for (const name of names.split(" ")) {
      Object.defineProperty(prototype, name, {
        get: (): never => {
          throw new TypeError(`there is no ${name}: ${instead}`);
        },
      });
    }
  }
}
