/** Replaces a module of Node that is not needed. */
export const workerData: null = null;
