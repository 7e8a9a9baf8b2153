// Throws errors with statuses that are reserved for the service.
// answers: 500 task_threw
throw Object.assign(new Error("busy"), { status: 429, statusCode: 503, headers: { "retry-after": "1" } });
