// Answers with a Response whose members are replaced.
// answers: 500 task_threw
const response = new Response("body");
Object.defineProperty(response, "headers", { get: () => ({ forEach: (each) => each(Symbol("value"), Symbol("name")) }) });
return response;
