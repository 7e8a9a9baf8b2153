// Fails with a code of the service, as if the token were wrong.
// after: frames
// answers: 500 task_exited
forge(69, own, JSON.stringify({ code: "token_invalid", detail: "the token is not valid", status: 401 }));
return never;
