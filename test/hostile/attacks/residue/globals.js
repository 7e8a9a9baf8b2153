// Leaves globals for the next container.
// answers: 200 1
globalThis.left = Object.prototype.left = Array.prototype.left = 1;
return left;
// then, in another container
// answers: 200 [null,null,null]
return [globalThis.left ?? null, {}.left ?? null, [].left ?? null];
