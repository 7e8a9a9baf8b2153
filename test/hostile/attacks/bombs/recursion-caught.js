// Overflows the stack repeatedly, and catches the error at a depth with no room for a handler.
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
