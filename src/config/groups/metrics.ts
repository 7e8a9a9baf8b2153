import { many, one, type Settings } from "../setting.ts";
import { containerNames, file } from "../values.ts";

export interface MetricsConfig {
  readonly metricsToken: string | null;
  readonly metricsContainers: readonly string[];
}

export const METRICS: Settings<MetricsConfig> = {
  metricsToken: one<string | null>(
    "--metrics-token <file>",
    null,
    "file with a token that reads /metrics and nothing else: 16 to 512 letters, digits and ._~+/=- characters, for the " +
      "collector of the metrics; administrators can always read them",
    file,
  ),
  metricsContainers: many<readonly string[]>(
    "--metrics-containers <names>",
    [],
    "containers whose runs have a label in /metrics, 50 at most: callers choose the names of containers, and each label costs " +
      "memory of the collector",
    containerNames,
  ),
};
