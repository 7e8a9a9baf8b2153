// Returns an error instead of throwing it, with a status that is reserved for the service.
// answers: 500 task_threw returned
return Object.assign(new Error("returned"), { status: 403, statusCode: 401 });
