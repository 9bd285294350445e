import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';

interface PopoverProps {
  readonly label: string;
  readonly button: ComponentChildren;
  readonly children: (close: () => void) => ComponentChildren;
}

/** A button with a panel under it. Escape, a click elsewhere or the last tab stop closes it. */
export const Popover = ({ label, button, children }: PopoverProps) => {
  const [isOpen, setOpen] = useState(false);
  const all = useRef<HTMLDivElement>(null);
  const opener = useRef<HTMLButtonElement>(null);
  const close = (): void => {
    setOpen(false);
    opener.current?.focus();
  };
  useEffect(() => {
    if (!isOpen) return undefined;
    const leave = ({ target }: Event): void => {
      if (target instanceof Node && all.current?.contains(target) !== true) setOpen(false);
    };
    document.addEventListener('pointerdown', leave);
    document.addEventListener('focusin', leave);
    return () => {
      document.removeEventListener('pointerdown', leave);
      document.removeEventListener('focusin', leave);
    };
  }, [isOpen]);
  return (
    <div
      class="popover"
      ref={all}
      onKeyDown={(event) => {
        if (event.key !== 'Escape' || !isOpen) return;
        event.stopPropagation();
        close();
      }}
    >
      <button
        type="button"
        class="button"
        ref={opener}
        aria-expanded={isOpen}
        aria-label={label}
        onClick={() => setOpen(!isOpen)}
      >
        {button} <span aria-hidden="true">▾</span>
      </button>
      {isOpen ? <div class="panel">{children(close)}</div> : null}
    </div>
  );
};
