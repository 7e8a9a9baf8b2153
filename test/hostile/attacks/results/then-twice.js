// Returns a thenable that resolves and rejects, and then throws.
// answers: 200 1
return {
  then(resolve, reject) {
    resolve(1);
    reject(new Error("two"));
    resolve(3);
    throw new Error("four");
  },
};
