// Splits the response by a line break in the name of a header.
// answers: 500 task_threw
class Brought {
  get [Symbol.toStringTag]() {
    return "Response";
  }
  status = 200;
  headers = { forEach: (each) => each("1", "x-a: 1\r\nset-cookie") };
  body = null;
}
return new Brought();
