// Calls back and then throws, and rejects, too.
// answers: 200 1
// answers: 500 task_threw
module.exports = (context, cb) => {
  cb(null, 1);
  Promise.reject(new Error("too late"));
  throw new Error("too late");
};
