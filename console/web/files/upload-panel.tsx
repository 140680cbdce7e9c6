import type { JSX } from 'preact';
import { Button, IconButton } from '../parts/button.tsx';
import { countOf, formatBytes, formatDuration } from '../parts/format.ts';
import { Icon } from '../parts/icon.tsx';
import { ProgressBar } from '../parts/progress.tsx';
import { to } from '../router.ts';
import type { UnfinishedUpload } from './unfinished-uploads.ts';
import {
  cancelUpload,
  canPause,
  canRetry,
  dropUnfinished,
  forgetFinished,
  isActive,
  isOpen,
  pauseUpload,
  retryUpload,
  type Upload,
  unfinishedOf,
  uploads,
} from './uploads.ts';

/** Most bars that are shown of a large folder. */
const mostBars = 100;

/** The uploads of a project, and unfinished ones from earlier pages. */
export function UploadPanel({ project }: { readonly project: string }): JSX.Element | null {
  const mine = uploads.value.filter((upload) => upload.project === project);
  const unfinished = unfinishedOf(project);
  if (mine.length + unfinished.length === 0) return null;
  const active = mine.filter(isActive);
  const open = mine.filter(isOpen);
  const failed = mine.filter((upload) => upload.state.value === 'failed' && canRetry(upload));
  const done = mine.filter(({ state }) => state.value === 'done');
  // in the order of choice; if there are too many, starting with the first unfinished one
  const first = mine.findIndex(({ state }) => state.value !== 'done');
  const bars = mine.slice(Math.min(Math.max(0, first), Math.max(0, mine.length - mostBars)));
  return (
    <section class="card uploads" aria-label="Uploads">
      <div class="row apart">
        <h2>
          {mine.length === 0
            ? 'Uploads'
            : `${heading(active.length, open.length)}: ${done.length} of ${mine.length}`}
        </h2>
        <div class="row">
          {failed.length > 1 && (
            <Button small onClick={() => failed.forEach(retryUpload)}>
              Retry {failed.length} failed
            </Button>
          )}
          {open.length > 1 && (
            <Button small onClick={() => open.forEach(cancelUpload)}>
              Cancel all
            </Button>
          )}
          {open.length < mine.length && (
            <Button small onClick={forgetFinished}>
              Clear finished
            </Button>
          )}
        </div>
      </div>
      <ul class="bars">
        {bars.slice(0, mostBars).map((upload) => (
          <Bar upload={upload} key={upload.id} />
        ))}
        {unfinished.slice(0, mostBars).map((upload) => (
          <UnfinishedBar upload={upload} key={upload.address} />
        ))}
        {mine.length > mostBars && <li class="quiet">… and {mine.length - mostBars} more</li>}
      </ul>
    </section>
  );
}

function heading(active: number, open: number): string {
  if (active > 0) return 'Uploading';
  return open > 0 ? 'Paused' : 'Uploaded';
}

const tools = [
  { icon: 'pause', verb: 'Pause', when: canPause, run: pauseUpload },
  { icon: 'play', verb: 'Resume', when: ({ state }: Upload) => state.value === 'paused', run: retryUpload },
  { icon: 'close', verb: 'Cancel', when: isOpen, run: cancelUpload },
  { icon: 'retry', verb: 'Retry', when: canRetry, run: retryUpload },
] as const;

function Bar({ upload }: { readonly upload: Upload }): JSX.Element {
  const { path, file, state, sent, problem } = upload;
  return (
    <li class={`bar ${state.value}`}>
      <span class="bar-name cut" title={path}>
        {path}
      </span>
      <span class="bar-tool">
        {tools
          .filter(({ when }) => when(upload))
          .map(({ icon, verb, run }) => (
            <IconButton
              key={verb}
              icon={icon}
              label={`${verb} the upload of ${path}`}
              onClick={() => run(upload)}
            />
          ))}
        {state.value === 'done' && <Icon name="check" />}
      </span>
      <ProgressBar label={path} done={state.value === 'done' ? file.size : sent.value} total={file.size} />
      <span class="hint bar-state">{problem.value?.message ?? stateWords(upload)}</span>
    </li>
  );
}

/** An upload without its file: a page can't open a file that was chosen on an earlier one. */
function UnfinishedBar({ upload }: { readonly upload: UnfinishedUpload }): JSX.Element {
  const { address, name, size } = upload;
  return (
    <li class="bar">
      <span class="bar-name cut" title={name}>
        {name}
      </span>
      <span class="bar-tool">
        <IconButton
          icon="close"
          label={`Discard the upload of ${name}`}
          onClick={() => void dropUnfinished(address)}
        />
      </span>
      <span class="hint bar-state">{formatBytes(size)} · unfinished: choose the file again to resume</span>
    </li>
  );
}

function stateWords({ state, sent, rate, file }: Upload): string {
  switch (state.value) {
    case 'waiting':
      return `${formatBytes(file.size)} · waiting`;
    case 'paused':
      return `${formatBytes(sent.value)} of ${formatBytes(file.size)} · paused`;
    case 'cancelled':
      return 'Cancelled';
    case 'failed':
      return 'Failed';
    case 'done':
      return formatBytes(file.size);
    case 'sending': {
      if (sent.value >= file.size) return `${formatBytes(file.size)} · being stored`;
      const amount = `${formatBytes(sent.value)} of ${formatBytes(file.size)}`;
      if (rate.value === 0) return amount;
      const left = formatDuration((file.size - sent.value) / rate.value);
      return `${amount} · ${formatBytes(Math.round(rate.value))}/s · ${left} left`;
    }
  }
}

/** Progress in the navigation, with a link, while uploads are under way. */
export function UploadStatus(): JSX.Element | null {
  const active = uploads.value.filter(isActive);
  const first = active[0];
  if (first === undefined) return null;
  const total = active.reduce((sum, { file }) => sum + file.size, 0);
  const sent = active.reduce((sum, upload) => sum + upload.sent.value, 0);
  return (
    <a class="upload-status" href={to`/projects/${first.project}/files`}>
      <span>{countOf(active.length, 'upload')}</span>
      <ProgressBar label="Uploads" done={sent} total={total} />
    </a>
  );
}
