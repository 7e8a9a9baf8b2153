import { stat } from "node:fs";

import { bytesFrame } from "../wire/frames.ts";
import { FROM_GUEST, TO_GUEST } from "../wire/messages.ts";
import { captureConsole } from "./console.ts";
import { watchFetch } from "./decoded-responses.ts";
import { defineCommonJsGlobals, installModuleHooks } from "./modules.ts";
import { onNetworkFrame, openNetwork } from "./network/main-thread.ts";
import { addPackages } from "./packages.ts";
import { exitGuest, guardProcess, showIdle } from "./process.ts";
import {
  abortRun,
  addCode,
  endBody,
  forgetCode,
  forgetPackages,
  payer,
  setPendingError,
  startPreflight,
  startRun,
  startRunWithBody,
  takeBody,
  takeTransformed,
  widenWindow,
} from "./runner.ts";
import { openLink, send } from "./service-link.ts";
import { hideOwnFrames } from "./stack-frames.ts";
import { lookForStall, watchForStall } from "./stall.ts";
import { rememberBuiltIns } from "./tamper-check.ts";
import { stopWarming, warm, warmWhileIdle } from "./warm.ts";
import { bindWebAssembly } from "./web-assembly.ts";

/** The program inside the sandbox. It runs submitted code for one container and exchanges frames on descriptor 3. */

function onFrame(type: number, id: number, payload: Buffer): void {
  switch (type) {
    case TO_GUEST.run:
      stopWarming();
      return startRun(id, payload);
    case TO_GUEST.preflight:
      stopWarming();
      return startPreflight(id, payload);
    case TO_GUEST.code:
      return addCode(id, payload);
    case TO_GUEST.runWithBody:
      stopWarming();
      return startRunWithBody(id, payload);
    case TO_GUEST.body:
      return takeBody(id, payload);
    case TO_GUEST.bodyEnd:
      return endBody(id);
    case TO_GUEST.window:
      return widenWindow(id, payload);
    case TO_GUEST.ping:
      send(bytesFrame(FROM_GUEST.pong, id));
      return lookForStall();
    case TO_GUEST.abort:
      return abortRun(id, payload);
    case TO_GUEST.forget:
      return forgetCode(id);
    case TO_GUEST.packages:
      return addPackages(id, payload);
    case TO_GUEST.forgetPackages:
      return forgetPackages(id);
    case TO_GUEST.transformed:
      return takeTransformed(id, payload);
    case TO_GUEST.opened:
    case TO_GUEST.received:
    case TO_GUEST.sendMore:
    case TO_GUEST.peerEnded:
    case TO_GUEST.peerReset:
    case TO_GUEST.answer:
      return onNetworkFrame(type, id, payload);
    default:
      throw new TypeError(`unknown frame type ${type}`);
  }
}

process.removeAllListeners("warning");
guardProcess();
watchForStall();
hideOwnFrames();
captureConsole();
installModuleHooks();
defineCommonJsGlobals();
watchFetch();
bindWebAssembly();
openNetwork({ send, payer, setPendingError });
// The socket opens later, so that the frames of these runs are dropped. See load.ts.
if (process.argv.at(-1) === "cache") await warm();
else {
  // libuv starts its threads at its first call of a file. Without a control group the service finds the threads of tasks by their number.
  if (process.argv.at(-1) === "threads") stat(process.argv[1]!, () => {});
  // Code that reads its arguments finds none.
  process.argv.length = 2;
}
rememberBuiltIns();
openLink({ frame: onFrame, idle: showIdle, closed: () => exitGuest(0) });
showIdle();
send(bytesFrame(FROM_GUEST.ready, 0));
warmWhileIdle();
