import axe from "axe-core";

/** jsdom draws no colours, and the landmarks and the document are the shell's. */
const ELSEWHERE = ["color-contrast", "region", "document-title", "html-has-lang"];

/** `except`: rules that only hold for a whole screen. */
export async function faults(except: readonly string[] = []): Promise<string[]> {
  const rules = Object.fromEntries([...ELSEWHERE, ...except].map((rule) => [rule, { enabled: false }]));
  const { violations } = await axe.run(document, { rules, resultTypes: ["violations"] });
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" ")}`);
}
