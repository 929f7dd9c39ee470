import { type ReactNode, useId } from "react";

interface Props {
  label: string;
  help?: string;
  error?: string | null;
  children: (attributes: FieldAttributes) => ReactNode;
}

export interface FieldAttributes {
  id: string;
  "aria-describedby": string | undefined;
  "aria-invalid": boolean | undefined;
}

/** A labelled control with its help and its error beside it, tied together for screen readers. */
export function Field({ label, help, error, children }: Props) {
  const id = useId();
  const described = [help && `${id}-help`, error && `${id}-error`].filter(Boolean).join(" ");
  return (
    <div className="flex min-w-0 flex-col gap-1">
      <label htmlFor={id} className="font-medium">
        {label}
      </label>
      {children({ id, "aria-describedby": described || undefined, "aria-invalid": error ? true : undefined })}
      {error && (
        <p id={`${id}-error`} role="alert" className="text-danger">
          {error}
        </p>
      )}
      {help && (
        <p id={`${id}-help`} className="text-dim">
          {help}
        </p>
      )}
    </div>
  );
}
