// Runs off the stack again and again, and catches it each time where there is no room for a handler.
// answers: 500 task_threw
// answers: 500 task_blocked
// answers: 200
let rounds = 0;
const deep = () => {
  try {
    deep();
  } catch {
    if (rounds++ < 10_000) deep();
  }
};
deep();
return rounds;
