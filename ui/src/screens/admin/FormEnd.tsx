import { Button } from "../../look/Button";

interface Props {
  wrong: string | undefined; // with the whole, not with a field
  busy: boolean;
  children: string; // what its button says
}

export function FormEnd({ wrong, busy, children }: Props) {
  return (
    <>
      {wrong && (
        <p role="alert" className="text-danger">
          {wrong}
        </p>
      )}
      <div className="flex justify-end">
        <Button kind="primary" type="submit" busy={busy}>
          {children}
        </Button>
      </div>
    </>
  );
}
