// Sends headers with getters that return another value at each access.
// answers: 500 task_threw
let looks = 0;
class Brought {
  get [Symbol.toStringTag]() {
    return "Response";
  }
  get status() {
    return looks++ === 0 ? 200 : 99_999;
  }
  headers = { forEach: (each) => each({ toString: () => "1\r\nset-cookie: a=b" }, "x-a") };
  body = null;
}
return new Brought();
