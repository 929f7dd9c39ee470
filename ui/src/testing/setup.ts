/** Adds what jsdom lacks, and cleans up between tests: the files of a run share their modules. */
import { cleanup, configure } from "@testing-library/react";
import { afterEach, beforeEach } from "vitest";
import { connection } from "../api/connection";
import { server } from "./server";
import { changeUser } from "./user";

configure({ asyncUtilTimeout: 60_000 }); // a machine that is busy with other things as well

beforeEach(() => {
  server.reset();
  connection.answered();
  connection.admitted();
  changeUser();
});
afterEach(() => {
  cleanup();
  localStorage.clear();
  sessionStorage.clear();
});

// Plain functions: `restoreMocks` would take the answer from a mock before the first test.
window.matchMedia ??= () => ({ matches: false, addEventListener: () => undefined }) as unknown as MediaQueryList;
HTMLCanvasElement.prototype.getContext = () => null; // jsdom's complains, and axe asks often
HTMLDialogElement.prototype.showModal ??= function (this: HTMLDialogElement) {
  this.open = true;
};
HTMLDialogElement.prototype.close ??= function (this: HTMLDialogElement) {
  this.open = false;
};
