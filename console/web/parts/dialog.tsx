import type { ComponentChildren, JSX } from 'preact';
import { useId, useLayoutEffect, useRef } from 'preact/hooks';
import { IconButton } from './button.tsx';

export interface DialogProps {
  readonly title: string;
  readonly children: ComponentChildren;
  readonly actions?: ComponentChildren;
  /** For previews and tables. */
  readonly wide?: boolean;
  /** Called by its button, Escape, or a click outside. */
  readonly onClose: () => void;
}

/** A modal dialog: render it to open it. The browser keeps the focus inside, and restores it afterwards. */
export function Dialog({ title, children, actions, wide = false, onClose }: DialogProps): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  // before paint, so that the next key press goes to the dialog
  useLayoutEffect(() => {
    const element = dialog.current;
    const before = document.activeElement;
    if (element !== null && !element.open) element.showModal();
    return () => {
      element?.close();
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: on the keyboard it is Escape, by the cancel event
    <dialog
      ref={dialog}
      class={`dialog${wide ? ' wide' : ''}`}
      aria-labelledby={titleId}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onClick={(event) => {
        if (event.target === dialog.current) onClose();
      }}
    >
      <div class="dialog-box">
        <header class="dialog-head">
          <h2 id={titleId}>{title}</h2>
          <IconButton icon="close" label="Close" onClick={onClose} />
        </header>
        <div class="dialog-body">
          <div class="stack">{children}</div>
        </div>
        {actions !== undefined && <footer class="row dialog-actions">{actions}</footer>}
      </div>
    </dialog>
  );
}
