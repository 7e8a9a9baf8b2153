// Answers with its own Response class and a status that would end the process of a server without a check.
// answers: 500 task_threw
class Brought {
  get [Symbol.toStringTag]() {
    return "Response";
  }
  status = 99_999;
  headers = new Map();
  body = null;
}
return new Brought();
