import type threadsModule from "node:worker_threads";
import type { MessagePort, Worker as NodeWorker, WorkerOptions } from "node:worker_threads";

import { carrier } from "./carrier.ts";

const NativeProxy = Proxy;
const { construct } = Reflect;
/** The script that a worker runs before the task's code. */
const PRELOAD = import.meta.filename.replace(/workers\.([jt]s)$/, "worker.$1");

/**
 * The address space that V8 reserves for code. By default, V8 reserves 512 MiB for each thread, which counts as data. A
 * guest without a control group is limited by RLIMIT_DATA (setrlimit(2)) and has no room for two threads. With 16 MiB, a
 * worker adds some 30 MiB.
 */
const CODE_RANGE_MIB = 16;

/** The flags that a worker inherits by default: the flags of this thread that Node accepts for workers. */
const inherited = process.execArgv.filter((flag) => /^--(?:no-addons|permission|allow-)/.test(flag));

/** The `workerData` that the preload receives. It contains the task's `workerData`. */
export interface WorkerNetwork {
  network: { port: MessagePort; ids: Int32Array };
  data: unknown;
}

/** Makes every worker use the network through this thread. */
export function patchWorkers(threads: typeof threadsModule): void {
  const NodeWorkerClass = threads.Worker;
  const { MessageChannel } = threads;
  const Worker = new NativeProxy(NodeWorkerClass, {
    construct(target, [file, taskOptions]: [string | URL, WorkerOptions | undefined], newTarget): NodeWorker {
      const { port1, port2 } = new MessageChannel();
      const data: WorkerNetwork = { network: { port: port2, ids: carrier().ids }, data: taskOptions?.workerData };
      const options: WorkerOptions = {
        ...taskOptions,
        resourceLimits: { codeRangeSizeMb: CODE_RANGE_MIB, ...taskOptions?.resourceLimits },
        workerData: data,
        transferList: [...(taskOptions?.transferList ?? []), port2],
        execArgv: [...(taskOptions?.execArgv ?? inherited), "--require", PRELOAD],
      };
      const worker = construct(target, [file, options], newTarget === Worker ? target : newTarget) as NodeWorker;
      carrier().adopt(port1);
      return worker;
    },
  });
  Object.assign(threads, { Worker });
}
