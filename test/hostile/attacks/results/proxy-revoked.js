// Returns a revoked Proxy.
// answers: 500 task_threw
const { proxy, revoke } = Proxy.revocable({}, {});
revoke();
return { proxy };
