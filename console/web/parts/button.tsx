import type { ComponentChildren, JSX, Ref } from 'preact';

export interface ButtonProps {
  readonly children?: ComponentChildren;
  /** primary: the one thing that this page is for. danger: destroys. quiet: beside others, without a border. */
  readonly kind?: 'primary' | 'plain' | 'danger' | 'quiet';
  readonly small?: boolean;
  readonly type?: 'button' | 'submit';
  readonly disabled?: boolean;
  /** Under way: can't be pressed again, and says so. */
  readonly busy?: boolean;
  /** What it does, where its text is an icon. */
  readonly label?: string | undefined;
  readonly onClick?: ((event: MouseEvent) => void) | undefined;
  readonly buttonRef?: Ref<HTMLButtonElement>;
  readonly expanded?: boolean;
  readonly pressed?: boolean;
}

export function Button({
  children,
  kind = 'plain',
  small = false,
  type = 'button',
  disabled = false,
  busy = false,
  label,
  onClick,
  buttonRef,
  expanded,
  pressed,
}: ButtonProps): JSX.Element {
  return (
    <button
      type={type}
      class={`button ${kind}${small ? ' small' : ''}`}
      disabled={disabled}
      // not disabled while busy: the focus would be lost
      aria-disabled={busy || undefined}
      aria-busy={busy || undefined}
      aria-label={label}
      title={label}
      aria-expanded={expanded}
      aria-pressed={pressed}
      ref={buttonRef ?? null}
      onClick={(event) => {
        if (busy) event.preventDefault();
        else onClick?.(event);
      }}
    >
      {children}
    </button>
  );
}
