export const NO_WEBGL =
  "This browser does not let the page draw with WebGL, so there is no picture. Turn on hardware acceleration, or use " +
  "another browser. Finding nodes and the lists beside work without it.";

/** Asked before the drawing code is loaded: without WebGL it cannot even start. */
export function hasWebgl(): boolean {
  if (typeof WebGL2RenderingContext === "undefined") return false;
  const context = document.createElement("canvas").getContext("webgl2");
  context?.getExtension("WEBGL_lose_context")?.loseContext();
  return context !== null;
}
