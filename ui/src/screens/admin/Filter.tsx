interface Props {
  label: string;
  value: string;
  onChange: (value: string) => void;
}

/** The key `/` goes here. */
export function Filter({ label, value, onChange }: Props) {
  return (
    <input
      data-filter
      type="search"
      aria-label={label}
      placeholder={label}
      value={value}
      onChange={(event) => onChange(event.target.value)}
      className="input max-w-72"
    />
  );
}
