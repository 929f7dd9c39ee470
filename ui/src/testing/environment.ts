/** jsdom, made once for all files of a thread: they share their modules, and some of those keep the document. */
import { builtinEnvironments, type Environment } from "vitest/environments";

const { jsdom } = builtinEnvironments;

const environment: Environment = {
  name: "page",
  transformMode: jsdom.transformMode,
  async setup(global, options) {
    if (!("document" in global)) await jsdom.setup(global, options);
    return { teardown: () => undefined }; // it ends with its thread
  },
};

export default environment;
