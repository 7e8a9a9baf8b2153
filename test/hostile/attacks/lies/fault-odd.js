// Fails with texts that are not strings, and with a status that is reserved for the service.
// after: frames
// answers: 500 task_exited
// answers: 500 task_threw
forge(69, own, JSON.stringify({ code: "task_threw", detail: "forged", status: 403, error: { name: 1, message: [] } }));
return never;
