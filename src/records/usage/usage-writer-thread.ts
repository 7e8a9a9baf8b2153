import { workerData } from "node:worker_threads";

import { serveRequests } from "../serve-requests.ts";
import { UsageWriter, type WriteReply, type WriteRequest } from "./usage-writer.ts";

const { file, process: name } = workerData as { file: string; process: string };
const writer = new UsageWriter(file, name);
serveRequests((request: WriteRequest): WriteReply => writer.fulfil(request));
