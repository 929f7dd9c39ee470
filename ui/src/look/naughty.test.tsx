import { render } from "@testing-library/react";
import type { ReactElement } from "react";
import { MemoryRouter } from "react-router";
import { describe, expect, it } from "vitest";
import { NAUGHTY } from "../testing/naughty";
import { Meter } from "./Bars";
import { Confirm } from "./Confirm";
import { Copy } from "./Copy";
import { Field } from "./Field";
import { Moment } from "./Moment";
import { Page } from "./Page";
import { Figure, Panel } from "./Panel";
import { Empty, Failure } from "./States";
import { partsOf, UrlText } from "./UrlText";

/** All in one tree, which is many times faster than one after the other; then each is looked at alone. */
function each(element: (text: string) => ReactElement, check: (box: HTMLElement, text: string) => void): void {
  const all = NAUGHTY.map((text) => (
    <div key={text} data-box>
      {element(text)}
    </div>
  ));
  const { container } = render(<MemoryRouter>{all}</MemoryRouter>);
  const boxes = [...container.querySelectorAll<HTMLElement>("[data-box]")];
  expect(boxes).toHaveLength(NAUGHTY.length);
  NAUGHTY.forEach((text, at) => {
    check(boxes[at] ?? container, text);
  });
}

/** Every element is one of ours, and none has a handler or an address as an attribute. */
function expectOnly(box: HTMLElement, tags: string): void {
  const found = [...box.querySelectorAll("*")];
  const ours = new Set(tags.split(" "));
  expect(found.map(({ tagName }) => tagName.toLowerCase()).filter((name) => !ours.has(name))).toEqual([]);
  const attributes = found.flatMap((element) => element.getAttributeNames());
  expect(attributes.filter((name) => /^on|^src|^srcdoc$|^action$/i.test(name))).toEqual([]);
}

const textOf = (box: HTMLElement, selector: string) => box.querySelector(selector)?.textContent;

describe("naughty strings", () => {
  it("are at least 500, all different", () => {
    expect(NAUGHTY.length).toBeGreaterThanOrEqual(500);
    expect(new Set(NAUGHTY).size).toBe(NAUGHTY.length);
  });

  it("are cut into the parts of a URL without loss", () => {
    for (const text of NAUGHTY) {
      const { scheme, host, near, far } = partsOf(text);
      expect(scheme + host + near + far).toBe(text);
    }
  });

  it("are text in UrlText", () => {
    each(
      (text) => <UrlText url={text} />,
      (box, text) => {
        expect(box.textContent).toBe(text);
        expect(box.firstElementChild?.getAttribute("title")).toBe(text);
        expectOnly(box, "bdi span");
      },
    );
  });

  it("are text in Moment, or a time", () => {
    each(
      (text) => <Moment at={text} />,
      (box, text) => {
        expectOnly(box, "span time");
        const time = box.querySelector("time");
        if (time) expect(time.dateTime).toBe(text);
        else expect(box.textContent).toBe(text || "–");
      },
    );
  });

  it("are text in Copy, Meter and Figure", () => {
    each(
      (text) => (
        <dl>
          <Copy text={text} />
          <Meter part={1} all={2} label={text} />
          <Figure name={text} value={text} note={text} />
        </dl>
      ),
      (box, text) => {
        expectOnly(box, "dl dt dd div button");
        expect(box.querySelector("button")?.getAttribute("aria-label")).toBe(`copy: ${text}`);
        expect(box.querySelector("[role=img]")?.getAttribute("aria-label")).toBe(text);
        expect(textOf(box, "dt")).toBe(text);
        expect(textOf(box, "dd")).toBe(text);
      },
    );
  });

  it("are text in Empty, Failure, Panel and Field", () => {
    each(
      (text) => (
        <Panel title={text}>
          <Empty title={text}>{text}</Empty>
          <Failure what={text} error={new Error(text)} />
          <Field label={text} help={text} error={text}>
            {(attributes) => <input {...attributes} />}
          </Field>
        </Panel>
      ),
      (box, text) => {
        expectOnly(box, "section header h2 div p label input");
        expect(textOf(box, "h2")).toBe(text);
        expect(textOf(box, "label")).toBe(text);
        expect(textOf(box, "[role=alert]")?.startsWith(`${text}: ${text}`)).toBe(true);
      },
    );
  });

  it("are text in the title, the words and the button of Confirm", () => {
    each(
      (text) => (
        <Confirm title={text} action={text} run={async () => undefined} onClose={() => undefined}>
          <p>{text}</p>
        </Confirm>
      ),
      (box, text) => {
        expectOnly(box, "dialog h2 div p button");
        expect(textOf(box, "h2")).toBe(text);
        expect(textOf(box, "p")).toBe(text);
        expect([...box.querySelectorAll("button")].at(-1)?.textContent).toBe(text);
      },
    );
  });

  it("are text in the title and the crumbs of Page", () => {
    each(
      (text) => (
        <Page title={text} crumbs={[{ to: "/crawls", text }]}>
          {text}
        </Page>
      ),
      (box, text) => {
        expectOnly(box, "div header nav ol li a span h1");
        expect(textOf(box, "h1")).toBe(text);
        expect(textOf(box, "a")).toBe(text);
        expect(box.querySelector("a")?.getAttribute("href")).toBe("/crawls");
      },
    );
  });
});
