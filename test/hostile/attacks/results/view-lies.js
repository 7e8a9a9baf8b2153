// Answers with a view that claims to be longer than its memory.
// answers: 200
// answers: 500 task_threw
// answers: 500 result_too_large
class Longer extends Uint8Array {
  get byteLength() {
    return 2 ** 30;
  }
  get byteOffset() {
    return -1;
  }
  get length() {
    return 2 ** 30;
  }
}
return new Longer(8);
