import { type ReactNode, useEffect, useId, useRef } from "react";

interface Props {
  title: string;
  onClose: () => void;
  children: ReactNode;
  wide?: boolean;
}

/** The browser's own modal: it holds the focus, closes on Esc and gives the focus back. */
export function Dialog({ title, onClose, children, wide = false }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const shown = dialog.current;
    shown?.showModal();
    return () => shown?.close();
  }, []);
  return (
    <dialog
      ref={dialog}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      className={`max-h-[90dvh] w-full overflow-auto rounded border border-line bg-raised p-4 text-text ${wide ? "max-w-3xl" : "max-w-md"}`}
    >
      <h2 id={id} className="mb-3 text-title font-semibold">
        {title}
      </h2>
      {children}
    </dialog>
  );
}
