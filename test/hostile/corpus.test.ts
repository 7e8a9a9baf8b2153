import { holdCorpus } from "./corpus.ts";

/** Every rung that keeps hostile code in has to stand the whole corpus. */
for (const rung of ["namespaces"]) holdCorpus(rung);
