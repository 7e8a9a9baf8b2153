// Fails with texts that are not texts, and with a status of the service's own.
// after: frames
// answers: 500 task_exited
// answers: 500 task_threw
forge(69, own, JSON.stringify({ code: "task_threw", detail: "forged", status: 403, error: { name: 1, message: [] } }));
return never;
