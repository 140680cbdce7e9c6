import { signal } from '@preact/signals';
import type { JSX } from 'preact';
import { toProblem } from '../problem.ts';
import { IconButton } from './button.tsx';
import { Icon } from './icon.tsx';

interface Toast {
  readonly id: number;
  readonly text: string;
  readonly kind: 'done' | 'failed';
}

const shown = signal<readonly Toast[]>([]);
const spoken = signal('');
const doneMs = 6_000;
const mostShown = 4;
let lastId = 0;

/** Confirms an action for a while, also to screen readers. */
export function toast(text: string): void {
  add(text, 'done');
}

/** Shows a failure until it is closed. */
export function toastProblem(thrown: unknown): void {
  add(toProblem(thrown).message, 'failed');
}

/** Only for screen readers: "20 more files". */
export function announce(text: string): void {
  // makes a repeated text a new one, so that it is announced again
  spoken.value = spoken.value === text ? `${text}\u00a0` : text;
}

function add(text: string, kind: Toast['kind']): void {
  lastId += 1;
  const id = lastId;
  shown.value = [...shown.value, { id, text, kind }].slice(-mostShown);
  if (kind === 'done') setTimeout(remove, doneMs, id);
}

function remove(id: number): void {
  shown.value = shown.value.filter((toast) => toast.id !== id);
}

export function Toasts(): JSX.Element {
  return (
    <div class="toasts">
      <div role="status" class="unseen">
        {spoken.value}
      </div>
      <div role="status">{shown.value.filter(({ kind }) => kind === 'done').map(showToast)}</div>
      <div role="alert">{shown.value.filter(({ kind }) => kind === 'failed').map(showToast)}</div>
    </div>
  );
}

function showToast({ id, text, kind }: Toast): JSX.Element {
  return (
    <div class={`toast ${kind}`} key={id}>
      <Icon name={kind === 'done' ? 'check' : 'warning'} />
      <span>{text}</span>
      <IconButton icon="close" label="Dismiss" onClick={() => remove(id)} />
    </div>
  );
}
