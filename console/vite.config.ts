import { fileURLToPath } from "node:url";

import { defineConfig } from "vite";

/** What all pages need, and none of the editor and the chart. */
const SHARED =
  /\/console\/src\/(?:(?!main|app)[^/]+|parts\/(?!editor|chart|complete-names)[^/]+)$|\/client\/src\/|preact/;

// Relative paths, so that the console works behind a path prefix. The service serves the files at `console/`.
export default defineConfig({
  base: "./",
  // The source of the client, because a start does not build the package.
  resolve: { alias: { "@caisson/client": fileURLToPath(new URL("../client/src/index.ts", import.meta.url)) } },
  build: {
    target: "es2023",
    outDir: "../dist/console",
    emptyOutDir: true,
    assetsDir: "console",
    // A module is loaded by the entry, which the policy of the page trusts by its digest.
    modulePreload: false,
    // The packages in the build require that copies contain their licenses.
    rolldownOptions: {
      output: {
        // One file has what all pages share: each small file would be one more round trip before the first view.
        codeSplitting: {
          groups: [{ name: "shared", test: SHARED }],
        },
      },
    },
    license: { fileName: "console/licenses.txt" },
    // One style sheet, so that no page waits for its own.
    cssCodeSplit: false,
    reportCompressedSize: false,
    chunkSizeWarningLimit: 900,
  },
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
});
