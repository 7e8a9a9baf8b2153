// Uses a name of half a megabyte that is not defined, twice.
// submits: its value
// answers: 500 task_threw
"return " + "x".repeat(500_000) + ".y"
