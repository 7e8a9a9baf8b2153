// Throws an error whose status is not a number and changes at each access.
// answers: 500 task_threw
let looks = 0;
throw Object.defineProperty(new Error("odd"), "status", { get: () => (looks++ === 0 ? "404" : { valueOf: () => 200 }) });
