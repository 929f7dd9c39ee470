import type { Ask } from "./protocol";
import { Runner } from "./runner";

const runner = new Runner(
  (tell) => self.postMessage(tell, { transfer: [tell.places.buffer] }),
  (run) => setTimeout(run, 0), // lets in what the page has said meanwhile
  () => performance.now(),
);

self.onmessage = (event: MessageEvent<Ask>) => runner.hear(event.data);
