import type { ButtonHTMLAttributes, ReactNode } from "react";

type Kind = "plain" | "primary" | "danger" | "quiet";

const KINDS: Record<Kind, string> = {
  plain: "border-line-strong bg-raised text-text hover:bg-hover",
  primary: "border-accent bg-accent text-on-accent hover:opacity-90",
  danger: "border-danger bg-raised text-danger hover:bg-danger-ground",
  quiet: "border-transparent text-dim hover:bg-hover hover:text-text",
};

export const buttonClass = (kind: Kind = "plain") =>
  `inline-flex items-center gap-1.5 rounded border px-2.5 py-1 font-medium whitespace-nowrap disabled:opacity-55 ${KINDS[kind]}`;

interface Props extends ButtonHTMLAttributes<HTMLButtonElement> {
  kind?: Kind;
  busy?: boolean;
  children: ReactNode;
}

export function Button({ kind = "plain", busy = false, disabled, className = "", children, ...rest }: Props) {
  return (
    <button
      type="button"
      {...rest}
      disabled={disabled || busy}
      aria-busy={busy || undefined}
      className={`${buttonClass(kind)} ${className}`}
    >
      {children}
    </button>
  );
}
