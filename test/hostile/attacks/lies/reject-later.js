// Leaves a promise that rejects after its answer.
// answers: 200 1
setTimeout(() => void Promise.reject(new Error("later")), 1);
return 1;
