import { send } from '../session.ts';
import { embeddedThumbnail } from './embedded-thumbnail.ts';
import type { FileProps } from './file-api.ts';
import { mediaSource, readBeginning } from './file-links.ts';
import type { GridPreset } from './grid-preset.ts';
import { type MediaKind, mediaKind } from './media-kind.ts';

export interface Picture {
  readonly address: string;
  /** For `srcset`, with widths. */
  readonly sources?: string | undefined;
  /** Clockwise rotation for display. */
  readonly degrees: number;
}

/** A list of large pictures could be gigabytes: a larger original is not its own thumbnail. */
const largestBytes = 262_144;
/** An embedded thumbnail ends here at the latest: the Exif segment comes first, and has at most 64 KiB. */
const beginningBytes = 68_000;
/** How often a picture is asked for that a busy server has not made yet. */
const mostAttempts = 5;
const longestPauseMs = 30_000;

/** Whether the server makes pictures of images, and of videos. */
const isMade = new Map<MediaKind, Promise<boolean>>();

/** Pictures of a file, the best one first; the next one is for when the browser can't show the one before. */
export async function* picturesOf(
  { project, file }: FileProps,
  preset: GridPreset | null,
  signal: AbortSignal,
): AsyncGenerator<Picture, void> {
  const kind = mediaKind(file);
  if (preset !== null && (kind === 'image' || kind === 'video'))
    yield* madePictures({ project, file }, { preset, kind, signal });
  if (kind !== 'image') return;
  if (file.contentType === 'image/jpeg' && file.size > beginningBytes) {
    const beginning = await readBeginning(project, file.name, { bytes: beginningBytes, signal });
    const found = embeddedThumbnail(beginning);
    if (found !== null) {
      const address = `data:image/jpeg;base64,${btoa(String.fromCharCode(...found.bytes))}`;
      yield { address, degrees: found.degrees };
    }
  }
  if (file.size <= largestBytes) yield { address: await mediaSource(project, file.name), degrees: 0 };
}

/** The picture by a preset, again while the server is busy. */
async function* madePictures(
  { project, file }: FileProps,
  { preset, kind, signal }: { preset: GridPreset; kind: MediaKind; signal: AbortSignal },
): AsyncGenerator<Picture, void> {
  const source = await mediaSource(project, file.name);
  const addressOf = (name: string): string => `${source}&preset=${encodeURIComponent(name)}`;
  const address = addressOf(preset.name);
  // one picture tells whether there are any, so that a server without them is not asked for each
  if (!isMade.has(kind)) {
    const made = statusOf(address).then(({ status }) => status !== 501);
    isMade.set(kind, made);
    made.catch(() => isMade.delete(kind));
  }
  const widths = [preset, ...(preset.larger === null ? [] : [preset.larger])];
  const sources =
    widths.length === 1
      ? undefined
      : widths.map(({ name, width }) => `${addressOf(name)} ${width}w`).join(', ');
  for (let attempt = 0; attempt < mostAttempts && !signal.aborted; attempt += 1) {
    if (!(await isMade.get(kind))) return;
    yield { address, sources, degrees: 0 };
    const { status, retryAfter } = await statusOf(address, signal);
    // 200: the connection broke
    if (status !== 503 && status !== 200) return;
    await pause(Math.min(longestPauseMs, (retryAfter ?? attempt) * 1000), signal);
  }
}

async function statusOf(address: string, signal?: AbortSignal) {
  // as browsers ask for images, so that no picture is made for this request alone
  const call = { method: 'HEAD', headers: { accept: 'image/avif,image/webp,image/*' }, signal };
  const { status, headers } = await send(address, call, 'omit');
  const retryAfter = Number(headers.get('retry-after') ?? Number.NaN);
  return { status, retryAfter: Number.isFinite(retryAfter) ? retryAfter : undefined };
}

/** Rejects when it is aborted. */
function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      reject(signal.reason);
    });
  });
}
