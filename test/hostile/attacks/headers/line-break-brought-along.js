// Splits the response with its own Response class, which checks nothing.
// answers: 500 task_threw
class Brought {
  get [Symbol.toStringTag]() {
    return "Response";
  }
  status = 200;
  headers = new Map([["x-a", "1"], ["x-b", "2\r\nSet-Cookie: a=b"]].map(([name, value]) => [name, value]));
  body = null;
}
return new Brought();
