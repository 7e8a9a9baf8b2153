// Makes Node write a report of every fatal error.
// answers: 500 task_threw
process.report.reportOnUncaughtException = true;
process.report.reportOnFatalError = true;
process.report.directory = "/";
process.report.filename = MARK;
throw new Error("fatal");
