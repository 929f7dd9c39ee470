import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import tailwindcss from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { defineConfig, type Plugin } from "vitest/config";

/** What is served is compressed once, here: `nephila serve` only picks the file. */
function compressed(): Plugin {
  const text = /\.(html|js|css|svg|json|txt)$/;
  return {
    name: "compressed",
    apply: "build",
    writeBundle(options, bundle) {
      for (const name of Object.keys(bundle).filter((file) => text.test(file))) {
        const path = join(options.dir ?? "", name);
        const bytes = readFileSync(path);
        const quality = { [constants.BROTLI_PARAM_QUALITY]: 11 };
        writeFileSync(`${path}.br`, brotliCompressSync(bytes, { params: quality }));
        writeFileSync(`${path}.gz`, gzipSync(bytes, { level: 9 }));
      }
    },
  };
}

/** Tests that need a document; all others are twice as fast without. */
const IN_A_PAGE = ["src/**/*.test.tsx", "src/**/*.page.test.ts"];

const server = process.env.NEPHILA_URL ?? "http://127.0.0.1:3000";

export default defineConfig({
  base: "/ui/",
  plugins: [react(), tailwindcss(), compressed()],
  build: {
    outDir: "../src/nephila/ui",
    emptyOutDir: true,
    assetsInlineLimit: 0, // a strict CSP: everything is a file
    modulePreload: { polyfill: false },
    target: "es2022",
    chunkSizeWarningLimit: 700,
  },
  worker: { format: "es" },
  server: { proxy: { "/api": { target: server, ws: true }, "/openapi.json": server } },
  test: {
    restoreMocks: true,
    unstubGlobals: true,
    testTimeout: 300_000, // longer than a wait in a test, so that one that fails says what it waited for
    hookTimeout: 300_000, // 10 s would fail a hook that only came late
    teardownTimeout: 300_000, // and a thread that ends late
    pool: "threads",
    maxWorkers: "100%", // two cores would be one thread
    isolate: false, // modules are loaded once for all files of a thread; testing/setup.ts keeps tests apart
    projects: [
      {
        extends: true,
        test: { name: "plain", environment: "node", include: ["src/**/*.test.ts"], exclude: IN_A_PAGE },
      },
      {
        extends: true,
        test: {
          name: "page",
          environment: "./src/testing/environment.ts",
          include: IN_A_PAGE,
          setupFiles: ["src/testing/setup.ts"],
        },
      },
    ],
  },
});
