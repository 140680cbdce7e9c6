import type { ComponentChildren, JSX } from 'preact';
import { Icon, type IconName } from './icon.tsx';

export interface ButtonProps {
  readonly icon?: IconName;
  readonly children?: ComponentChildren;
  /** primary: the main action of the page. danger: destructive. quiet: without a border. */
  readonly kind?: 'primary' | 'plain' | 'danger' | 'quiet';
  readonly small?: boolean;
  readonly type?: 'button' | 'submit';
  readonly disabled?: boolean;
  /** The action is under way, so the button can't be pressed. */
  readonly busy?: boolean;
  /** The label of a button without text. */
  readonly label?: string | undefined;
  readonly onClick?: ((event: MouseEvent) => void) | undefined;
  readonly pressed?: boolean;
}

export function Button(props: ButtonProps): JSX.Element {
  const { icon, children, kind = 'plain', small = false, type = 'button', busy = false, label } = props;
  return (
    <button
      type={type}
      class={`button ${kind}${small ? ' small' : ''}`}
      disabled={props.disabled}
      // not disabled while busy: the focus would be lost
      aria-disabled={busy || undefined}
      aria-busy={busy || undefined}
      aria-label={label}
      title={label}
      aria-pressed={props.pressed}
      onClick={(event) => {
        if (busy) event.preventDefault();
        else props.onClick?.(event);
      }}
    >
      {icon && <Icon name={icon} />}
      {children}
    </button>
  );
}

interface IconButtonProps extends Pick<ButtonProps, 'busy' | 'disabled' | 'onClick'> {
  readonly icon: IconName;
  readonly label: string;
}

/** A quiet button with only an icon; its label is the tooltip and the accessible name. */
export function IconButton(props: IconButtonProps): JSX.Element {
  return <Button kind="quiet" small {...props} />;
}
