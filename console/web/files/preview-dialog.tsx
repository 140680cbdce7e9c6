import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { Button } from '../parts/button.tsx';
import { CodeBlock } from '../parts/copy.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { formatBytes, formatTime } from '../parts/format.ts';
import { Icon } from '../parts/icon.tsx';
import { useLoad } from '../parts/load.ts';
import { ProblemNote } from '../parts/problem-note.tsx';
import { Skeleton } from '../parts/skeleton.tsx';
import { session } from '../session.ts';
import { ExpiringLinkForm } from './expiring-link-form.tsx';
import type { FileProps } from './file-api.ts';
import { mediaSource, readBeginning } from './file-links.ts';
import { formatPlayTime, mediaKind } from './media-kind.ts';

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
      <Facts file={file} />
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

function LinkFields({ project, file }: FileProps): JSX.Element {
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
        <ExpiringLinkForm {...{ project, name: file.name }} />
      </div>
    </div>
  );
}

/** What the server knows of the file. */
function Facts({ file }: Pick<FileProps, 'file'>): JSX.Element {
  const { width, height, duration, folder, path, expiresAt } = file;
  return (
    <dl class="facts">
      <dt>Type</dt>
      <dd>{file.contentType}</dd>
      <dt>Size</dt>
      <dd>{formatBytes(file.size)}</dd>
      {width !== undefined && (
        <>
          <dt>Picture</dt>
          <dd>
            {width} × {height} pixels
          </dd>
        </>
      )}
      {duration !== undefined && (
        <>
          <dt>Duration</dt>
          <dd>{formatPlayTime(duration)}</dd>
        </>
      )}
      <dt>Uploaded</dt>
      <dd>{formatTime(file.createdAt)}</dd>
      {expiresAt !== undefined && (
        <>
          <dt>Gone</dt>
          <dd>{formatTime(expiresAt)}</dd>
        </>
      )}
      <dt>Name</dt>
      <dd>
        <code>{file.name}</code>
      </dd>
      {folder !== undefined && (
        <>
          <dt>Folder</dt>
          <dd>
            <code>{folder}</code>
          </dd>
          <dt>Path</dt>
          <dd>
            <code>{path}</code>
          </dd>
        </>
      )}
    </dl>
  );
}
