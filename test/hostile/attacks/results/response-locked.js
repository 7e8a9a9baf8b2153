// Answers with a Response whose body has another reader.
// answers: 500 task_threw
const response = new Response("body");
response.body.getReader();
return response;
