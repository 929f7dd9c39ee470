import { type InputHTMLAttributes, useId } from "react";
import { useTyping } from "../../useTyping";

interface Props extends Omit<InputHTMLAttributes<HTMLInputElement>, "value" | "onChange"> {
  label: string;
  value: string;
  onCommit: (value: string) => void;
  digits?: boolean; // nothing else can be typed
}

/** An input that speaks when the typing pauses. */
export function Typed({ label, value, onCommit, digits = false, className = "", ...rest }: Props) {
  const id = useId();
  const [text, type] = useTyping(value, onCommit);
  return (
    <>
      <label htmlFor={id} className="sr-only">
        {label}
      </label>
      <input
        {...rest}
        id={id}
        type="search"
        autoComplete="off"
        spellCheck={false}
        placeholder={label}
        value={text}
        inputMode={digits ? "numeric" : undefined}
        onChange={({ target }) => type(digits ? target.value.replace(/\D/g, "") : target.value)}
        className={`input font-mono ${className}`}
      />
    </>
  );
}
