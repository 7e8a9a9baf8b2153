import type threadsModule from "node:worker_threads";
import type { MessagePort, Worker as NodeWorker, WorkerOptions } from "node:worker_threads";

import { carrier } from "./carrier.ts";

const NativeProxy = Proxy;
const { construct } = Reflect;
/** What a worker runs before the task's own code. */
const PRELOAD = import.meta.filename.replace(/workers\.([jt]s)$/, "worker.$1");

/**
 * Of address space. V8 takes 512 MiB for each thread and counts them as data, of which a guest has no room for two where
 * no control group holds it (RLIMIT_DATA of setrlimit(2)). With this a worker adds some 30 MiB.
 */
const CODE_RANGE_MIB = 16;

/** What a worker inherits when nothing is given: those of the flags of this thread that may be given. */
const inherited = process.execArgv.filter((flag) => /^--(?:no-addons|permission|allow-)/.test(flag));

/** What the preload finds in place of the task's `workerData`. */
export interface WorkerNetwork {
  network: { port: MessagePort; ids: Int32Array };
  data: unknown;
}

/** Gives every worker a way to the network through this thread. */
export function patchWorkers(threads: typeof threadsModule): void {
  const NodeWorkerClass = threads.Worker;
  const { MessageChannel } = threads;
  const Worker = new NativeProxy(NodeWorkerClass, {
    construct(target, [file, given]: [string | URL, WorkerOptions | undefined], newTarget): NodeWorker {
      const { port1, port2 } = new MessageChannel();
      const data: WorkerNetwork = { network: { port: port2, ids: carrier().ids }, data: given?.workerData };
      const options: WorkerOptions = {
        ...given,
        resourceLimits: { codeRangeSizeMb: CODE_RANGE_MIB, ...given?.resourceLimits },
        workerData: data,
        transferList: [...(given?.transferList ?? []), port2],
        execArgv: [...(given?.execArgv ?? inherited), "--require", PRELOAD],
      };
      const worker = construct(target, [file, options], newTarget === Worker ? target : newTarget) as NodeWorker;
      carrier().adopt(port1);
      return worker;
    },
  });
  Object.assign(threads, { Worker });
}
