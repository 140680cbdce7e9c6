import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { Button } from '../parts/button.tsx';
import { CodeBlock, copyText } from '../parts/copy.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { SelectField } from '../parts/field.tsx';
import { useForm } from '../parts/form.ts';
import { formatBytes, formatTime } from '../parts/format.ts';
import { Icon } from '../parts/icon.tsx';
import { useLoad } from '../parts/load.ts';
import { ProblemNote } from '../parts/problem-note.tsx';
import { Skeleton } from '../parts/skeleton.tsx';
import { toast } from '../parts/toast.tsx';
import { session } from '../session.ts';
import { createLink, type ExpiringLink, type FileProps, mediaSource, readBeginning } from './file-api.ts';
import { mediaKind } from './media-kind.ts';

interface PreviewDialogProps extends FileProps {
  readonly onClose: () => void;
  /** Null: not granted. */
  readonly onDelete: (() => void) | null;
}

/** A file: a preview, its properties and its links. */
export function PreviewDialog({ project, file, onClose, onDelete }: PreviewDialogProps): JSX.Element {
  return (
    <Dialog
      wide
      title={file.originalName}
      onClose={onClose}
      actions={
        <>
          {onDelete !== null && (
            <Button icon="trash" onClick={onDelete}>
              Delete
            </Button>
          )}
          <DownloadLink project={project} file={file} />
        </>
      }
    >
      <Content project={project} file={file} />
      <dl class="facts">
        <dt>Type</dt>
        <dd>{file.contentType}</dd>
        <dt>Size</dt>
        <dd>{formatBytes(file.size)}</dd>
        <dt>Uploaded</dt>
        <dd>{formatTime(file.createdAt)}</dd>
        <dt>Name</dt>
        <dd>
          <code>{file.name}</code>
        </dd>
      </dl>
      <LinkFields project={project} file={file} />
    </Dialog>
  );
}

function Content({ project, file }: FileProps): JSX.Element {
  const kind = mediaKind(file);
  if (kind === 'text') return <TextContent project={project} file={file} />;
  if (kind === 'file') return <p class="quiet">No preview for this type. Download the file to open it.</p>;
  return <MediaContent project={project} file={file} kind={kind} />;
}

function MediaContent({
  project,
  file,
  kind,
}: FileProps & { readonly kind: 'image' | 'audio' | 'video' }): JSX.Element {
  const { data, problem, reload } = useLoad(() => mediaSource(project, file.name), [project, file.name]);
  const [failed, setFailed] = useState(false);
  if (problem !== null) return <ProblemNote problem={problem} onRetry={reload} />;
  if (failed)
    return <p class="quiet">This browser can't show the file. It may be damaged, or of another type.</p>;
  const onError = (): void => setFailed(true);
  return (
    <div class={`preview ${kind}`}>
      {data !== null && kind === 'image' && <img src={data} alt={file.originalName} onError={onError} />}
      {data !== null && kind === 'audio' && (
        // biome-ignore lint/a11y/useMediaCaption: an uploaded file may have none
        <audio src={data} controls preload="metadata" onError={onError} />
      )}
      {data !== null && kind === 'video' && (
        // biome-ignore lint/a11y/useMediaCaption: an uploaded file may have none
        <video src={data} controls preload="metadata" onError={onError} />
      )}
    </div>
  );
}

const previewBytes = 65_536;

/** Shows any content as text: markup is never rendered. */
function TextContent({ project, file }: FileProps): JSX.Element {
  const { data, problem, reload } = useLoad(
    (signal) =>
      file.size === 0
        ? Promise.resolve(new Uint8Array())
        : readBeginning(project, file.name, { bytes: previewBytes, signal }),
    [project, file.name],
  );
  if (problem !== null) return <ProblemNote problem={problem} onRetry={reload} />;
  if (data === null) return <Skeleton lines={6} />;
  if (data.byteLength === 0) return <p class="quiet">The file is empty.</p>;
  return (
    <div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard has to reach it */}
      <pre class="preview text" tabIndex={0}>
        {new TextDecoder().decode(data)}
      </pre>
      {file.size > data.byteLength && (
        <p class="hint">
          The first {formatBytes(data.byteLength)} of {formatBytes(file.size)}. Download the file to read the
          rest.
        </p>
      )}
    </div>
  );
}

function DownloadLink({ project, file }: FileProps): JSX.Element {
  const { data } = useLoad(() => mediaSource(project, file.name), [project, file.name]);
  // until there is an address, show a disabled button
  if (data === null) return <Button disabled>Download</Button>;
  return (
    <a class="button primary" href={data} download={file.originalName}>
      <Icon name="download" />
      Download
    </a>
  );
}

/** Lifetimes of links, by seconds. */
const lifetimes = Object.entries({ 3600: '1 hour', 86400: '1 day', 604800: '7 days' });

function LinkFields({ project, file }: FileProps): JSX.Element {
  const [lifetime, setLifetime] = useState('3600');
  const [created, setCreated] = useState<ExpiringLink | null>(null);
  const form = useForm(async (signal) => {
    const link = await createLink(project, file.name, Number(lifetime), signal);
    setCreated(link);
    await copyText(link.link);
    toast('The link was created and copied.');
  });
  return (
    <div class="stack">
      <div class="field">
        <h3>Permanent link</h3>
        <p class="hint">
          {session.value?.filesArePublic
            ? 'Anyone with this link can read the file.'
            : 'This server keeps files private: reading it takes an access token of this account.'}
        </p>
        <CodeBlock code={file.s3Link} label="Copy the link" />
      </div>
      <div class="field">
        <h3>Expiring link</h3>
        <p class="hint">Anyone with this link can open the file until it expires. It can't be revoked.</p>
        {form.problem !== null && <ProblemNote problem={form.problem} />}
        <form class="row" onSubmit={form.submit}>
          <div class="grow">
            <SelectField
              label="Valid for"
              hideLabel
              value={lifetime}
              onInput={setLifetime}
              options={lifetimes}
            />
          </div>
          <Button type="submit" busy={form.busy}>
            Create and copy
          </Button>
        </form>
        {created !== null && (
          <>
            <CodeBlock code={created.link} label="Copy the expiring link" />
            <p class="hint">Until {formatTime(created.expiresAt)}.</p>
          </>
        )}
      </div>
    </div>
  );
}
