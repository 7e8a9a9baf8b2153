import { defaultData } from "../../user-folder.ts";
import { one, type Settings } from "../setting.ts";
import { boolean, choice, file, text } from "../values.ts";

export interface DataConfig {
  readonly data: string;
  readonly keys: string | null;
  readonly secretsKey: string | null;
  readonly user: string | null;
  readonly fsync: boolean;
  readonly logLevel: "debug" | "info" | "warn" | "error" | "silent";
  readonly killRevoked: boolean;
}

export const DATA: Settings<DataConfig> = {
  data: one("--data <folder>", defaultData(), "folder for keys, tokens, policies and counts", text),
  keys: one<string | null>("--keys <file>", null, "signing keys; by default a file of the data folder", file),
  secretsKey: one<string | null>(
    "--secrets-key <file>",
    null,
    "key that encrypts secrets, the same for all nodes of a Redis; by default a file of the data folder",
    file,
  ),
  user: one<string | null>(
    "--user <name>",
    null,
    "user that the service becomes when root starts it; by default the owner of the data folder",
    text,
  ),
  fsync: one("--fsync", false, "keep counts through a power failure", boolean),
  logLevel: one(
    "--log-level <level>",
    "info",
    "least level that is logged: debug, info, warn, error or silent",
    choice("debug", "info", "warn", "error", "silent"),
  ),
  killRevoked: one(
    "--kill-revoked",
    false,
    "end the runs in flight of tokens that are revoked; stops a stolen token while its runs last",
    boolean,
  ),
};
