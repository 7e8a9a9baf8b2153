// Returns more than an answer may be.
// answers: 500 result_too_large
return "x".repeat(7 << 20);
