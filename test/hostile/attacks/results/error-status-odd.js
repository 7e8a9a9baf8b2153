// Throws an error whose status is no number, and then another.
// answers: 500 task_threw
let looks = 0;
throw Object.defineProperty(new Error("odd"), "status", { get: () => (looks++ === 0 ? "404" : { valueOf: () => 200 }) });
