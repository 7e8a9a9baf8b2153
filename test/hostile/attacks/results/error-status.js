// Throws errors with statuses that are the service's own.
// answers: 500 task_threw
throw Object.assign(new Error("busy"), { status: 429, statusCode: 503, headers: { "retry-after": "1" } });
