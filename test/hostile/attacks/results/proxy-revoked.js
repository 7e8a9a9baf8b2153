// Returns a Proxy that is no more.
// answers: 500 task_threw
const { proxy, revoke } = Proxy.revocable({}, {});
revoke();
return { proxy };
