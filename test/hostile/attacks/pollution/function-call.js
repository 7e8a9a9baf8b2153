// Replaces call, apply and bind, which are used to call functions safely.
// answers: 200 "replaced"
// answers: 500 task_threw
const hijack = () => "hijacked";
Function.prototype.call = Function.prototype.apply = Function.prototype.bind = hijack;
Function.prototype.toString = hijack;
Function.prototype[Symbol.hasInstance] === hijack;
Reflect.apply = Reflect.construct = Reflect.get = Reflect.ownKeys = hijack;
return "replaced";
