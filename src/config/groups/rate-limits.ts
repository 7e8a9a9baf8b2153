import { many, type Settings } from "../setting.ts";
import { limits, type WindowLimits } from "../values.ts";

export interface RateLimitConfig {
  readonly containerLimit: WindowLimits;
  readonly tokenLimit: WindowLimits;
  readonly authLimit: WindowLimits;
}

export const RATE_LIMITS: Settings<RateLimitConfig> = {
  containerLimit: many("--container-limit <window=runs>", {}, "limit of every container", limits),
  tokenLimit: many("--token-limit <window=runs>", {}, "limit of every token", limits),
  authLimit: many(
    "--auth-limit <window=tokens>",
    { minute: 300 },
    "checks of tokens that the service has not checked lately, for each client address (IPv6: its /64, and 16 times as many for its /48), default " +
      "minute=300; stops a client that guesses tokens or keeps the service busy with checks",
    limits,
  ),
};
