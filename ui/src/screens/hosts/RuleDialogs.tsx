import { type FormEvent, type ReactNode, useState } from "react";
import { asProblem, type Problem } from "../../api/problem";
import type { HostRule } from "../../api/types";
import { Button } from "../../look/Button";
import { Confirm } from "../../look/Confirm";
import { Dialog } from "../../look/Dialog";
import { Field } from "../../look/Field";
import { notice } from "../../look/Notice";
import { duration, milliseconds } from "../../words/format";
import { blockDomain, removeRule, replaceRule } from "./ruleCalls";
import { blockBody, delayBody, isBlocked, OWN, SPANS, spanMs } from "./rules";

interface Props {
  host: string;
  onClose: () => void;
}

const NO_TIME = "type a time such as 90 s, 30 min, 2 h or 3 d";

/** The error of a field is the server's word about it, or ours before anything is sent. */
function fieldError(problem: Problem | null, field: string, label: string): string | null {
  return problem?.field === field ? problem.under(label) : null;
}

export function BlockDialog({ host, onClose }: Props) {
  const [choice, setChoice] = useState<string>(SPANS[0].name);
  const [own, setOwn] = useState("");
  const [reason, setReason] = useState("");
  const [wrong, setWrong] = useState("");
  const run = async () => {
    const ms = spanMs(choice, own);
    setWrong(ms === null ? NO_TIME : "");
    if (ms === null) return false;
    await replaceRule(host, (rule) => blockBody(rule, ms, reason.trim()));
    notice(`${host} is blocked for ${duration(ms)}`);
    return true;
  };
  return (
    <RuleForm title={`Block ${host}`} action="Block it" danger run={run} onClose={onClose}>
      {(problem) => (
        <>
          <p className="text-dim">
            No crawl asks it for anything until the time is over. Its URLs stay queued. A delay that is set for it
            stays.
          </p>
          <SpanChoice choice={choice} onChoice={setChoice} />
          {choice === OWN && (
            <TimeField
              label="Own time"
              text={own}
              onText={setOwn}
              error={wrong || fieldError(problem, "blocked_in_ms", "Own time")}
            />
          )}
          <ReasonField text={reason} onText={setReason} error={fieldError(problem, "reason", "Reason")} />
        </>
      )}
    </RuleForm>
  );
}

export function DelayDialog({ host, onClose }: Props) {
  const [text, setText] = useState("");
  const [reason, setReason] = useState("");
  const [wrong, setWrong] = useState("");
  const run = async () => {
    const ms = milliseconds(text);
    setWrong(ms === null ? NO_TIME : "");
    if (ms === null) return false;
    await replaceRule(host, (rule) => delayBody(rule, ms, reason.trim()));
    notice(`${host}: at least ${duration(ms)} between two requests`);
    return true;
  };
  return (
    <RuleForm title={`Delay of ${host}`} action="Set the delay" run={run} onClose={onClose}>
      {(problem) => (
        <>
          <p className="text-dim">
            The least time between two requests to it, in all crawls. What its robots.txt or a crawl asks for stays
            where that is longer. A block that is set for it stays.
          </p>
          <TimeField
            label="Delay"
            text={text}
            onText={setText}
            error={wrong || fieldError(problem, "delay_ms", "Delay")}
          />
          <ReasonField text={reason} onText={setReason} error={fieldError(problem, "reason", "Reason")} />
        </>
      )}
    </RuleForm>
  );
}

/** What goes is named: the rule may hold a block and a delay. */
export function RemoveRule({ host, rule, onClose }: Props & { rule: HostRule }) {
  const run = async () => {
    await removeRule(host);
    notice(`the rule of ${host} is removed`);
  };
  return (
    <Confirm title={`Remove the rule of ${host}?`} action="Remove it" run={run} onClose={onClose}>
      {isBlocked(rule) && <p>Its block ends now: it is asked again, at its own pace.</p>}
      {rule.delay_ms !== null && <p>Its delay of {duration(rule.delay_ms)} no longer holds.</p>}
      <p>Its clock stays as it is.</p>
    </Confirm>
  );
}

export function BlockDomain({ host, onClose }: Props) {
  const [reason, setReason] = useState("");
  const run = async () => {
    await blockDomain(host, reason.trim());
    notice(`${host} and all below it are blocked`);
  };
  return (
    <Confirm title={`Block ${host} everywhere?`} action="Block the domain" danger run={run} onClose={onClose}>
      <p>
        No crawl admits or asks for a URL of {host} or of any name below it; those that are queued end as excluded. The
        rule has no end: remove it under Admin.
      </p>
      <ReasonField text={reason} onText={setReason} />
    </Confirm>
  );
}

interface FormProps extends Omit<Props, "host"> {
  title: string;
  action: string;
  danger?: boolean;
  run: () => Promise<boolean>; // false: something typed is wrong, nothing was sent
  children: (problem: Problem | null) => ReactNode;
}

const SHOWN_AT_FIELDS = new Set(["delay_ms", "blocked_in_ms", "reason"]);

function RuleForm({ title, action, danger = false, run, onClose, children }: FormProps) {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem | null>(null);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    setProblem(null);
    try {
      if (await run()) onClose();
    } catch (error) {
      setProblem(asProblem(error));
    }
    setBusy(false);
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <form onSubmit={submit} noValidate className="flex flex-col gap-3">
        {children(problem)}
        {problem && !SHOWN_AT_FIELDS.has(problem.field ?? "") && (
          <p role="alert" className="text-danger">
            {problem.message}
          </p>
        )}
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Keep it as it is</Button>
          <Button type="submit" kind={danger ? "danger" : "primary"} busy={busy}>
            {action}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

function SpanChoice({ choice, onChoice }: { choice: string; onChoice: (name: string) => void }) {
  return (
    <fieldset>
      <legend className="mb-1 font-medium">For how long</legend>
      <div className="flex flex-wrap gap-x-4 gap-y-1">
        {[...SPANS, { name: OWN, text: "other" }].map(({ name, text }) => (
          <label key={name} className="flex items-center gap-1.5">
            <input type="radio" name="span" value={name} checked={choice === name} onChange={() => onChoice(name)} />
            {text}
          </label>
        ))}
      </div>
    </fieldset>
  );
}

interface TextProps {
  text: string;
  onText: (text: string) => void;
  error?: string | null;
}

function TimeField({ label, text, onText, error }: TextProps & { label: string }) {
  return (
    <Field label={label} error={error} help="such as 500 ms, 2 s, 30 min, 6 h, 3 d">
      {(attributes) => (
        <input
          {...attributes}
          value={text}
          onChange={(event) => onText(event.target.value)}
          autoComplete="off"
          className="input font-mono"
        />
      )}
    </Field>
  );
}

function ReasonField({ text, onText, error }: TextProps) {
  return (
    <Field label="Reason" error={error} help="for those who find the rule later">
      {(attributes) => (
        <input
          {...attributes}
          value={text}
          maxLength={500}
          onChange={(event) => onText(event.target.value)}
          autoComplete="off"
          className="input"
        />
      )}
    </Field>
  );
}
