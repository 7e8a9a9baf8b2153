// Answers with a status that ends the process of a server which does not look.
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
