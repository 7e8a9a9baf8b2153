// Returns an object whose toJSON returns an object with a toJSON, without end.
// answers: 500 result_unserializable
// answers: 500 task_threw
// answers: 500 task_memory
// answers: 500 task_blocked
class Deeper {
  toJSON() {
    return { deeper: new Deeper() };
  }
}
return new Deeper();
