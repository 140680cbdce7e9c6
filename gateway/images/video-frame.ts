import { access, constants } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { invalidImage, notImplemented } from '#kernel/errors/catalogue.ts';
import type { ObjectStore } from '#objects/object-store.ts';
import { SparseFile } from './fetched-file.ts';
import { mostPixels } from './picture-process.ts';
import { runProgram } from './run-program.ts';

const mebibyte = 1024 * 1024;
/** A video of this size is read as a whole, and of a larger one its ends, and what lies around the frame. Bytes. */
const wholeBytes = 24 * mebibyte;
const endBytes = 8 * mebibyte;
const frameBytes = 8 * mebibyte;
/** The index of a video may say a position slightly after the first byte that is needed. */
const beforeFrame = 64 * 1024;
const probeTime = 10_000;
const frameTime = 20_000;
/** Of a frame, which is made smaller. Pixels. */
const frameSide = 4096;

/** Only our file is read: neither playlists nor addresses in a video are followed. */
const containers = 'mov,matroska,avi,mpeg,mpegts,ogg,flv';
const input = [
  '-protocol_whitelist',
  'file',
  '-format_whitelist',
  containers,
  '-max_pixels',
  `${mostPixels}`,
];

export interface VideoPrograms {
  readonly ffmpeg: string;
  readonly ffprobe: string;
}

/** Looks for the programs on the PATH; null: they are not there. */
export async function findVideoPrograms(path = process.env.PATH ?? ''): Promise<VideoPrograms | null> {
  const [ffmpeg, ffprobe] = await Promise.all(['ffmpeg', 'ffprobe'].map((name) => findProgram(name, path)));
  return ffmpeg != null && ffprobe != null ? { ffmpeg, ffprobe } : null;
}

async function findProgram(name: string, path: string): Promise<string | null> {
  for (const folder of path.split(delimiter).filter(Boolean)) {
    const program = join(folder, name);
    const found = await access(program, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (found) return program;
  }
  return null;
}

export const noFfmpeg = () =>
  notImplemented('Making pictures of videos, for which the server needs ffmpeg on its PATH,');

interface FrameOrder {
  readonly store: Pick<ObjectStore, 'read'>;
  readonly video: { readonly objectKey: string; readonly size: number };
  /** Paths of files that are made: for the bytes of the video that are read, and for the frame. */
  readonly videoPath: string;
  readonly framePath: string;
  /** Bytes, resident. */
  readonly memoryLimit: number;
}

/**
 * Makes a picture of the frame at a third of a video. Of a large video at most 24 MiB are read: its ends, which have the
 * index, tell where the bytes of the frame are. When they do not, the picture is of the first frame.
 */
export class VideoFrame {
  readonly #programs: VideoPrograms;
  readonly #order: FrameOrder;
  readonly #signal: AbortSignal;

  constructor(programs: VideoPrograms, order: FrameOrder, signal: AbortSignal) {
    this.#programs = programs;
    this.#order = order;
    this.#signal = signal;
  }

  /** Writes the frame. Rejects with a 422 when there is none. */
  async write(): Promise<void> {
    const { store, video, videoPath } = this.#order;
    const file = await SparseFile.create(store, video, videoPath);
    try {
      const { size } = video;
      if (size <= wholeBytes) await file.fetch({ start: 0, end: size - 1 }, this.#signal);
      else {
        await file.fetch({ start: 0, end: endBytes - 1 }, this.#signal);
        await file.fetch({ start: size - endBytes, end: size - 1 }, this.#signal);
      }
      const third = (await this.#duration()) / 3;
      if (size > wholeBytes && third > 0) {
        const position = await this.#positionAt(third);
        if (position !== null)
          await file.fetch({ start: position - beforeFrame, end: position + frameBytes }, this.#signal);
      }
      if (third > 0 && (await this.#frameAt(third))) return;
      if (!(await this.#frameAt(0))) throw invalidImage('its first frame can’t be read');
    } finally {
      await file.close();
    }
  }

  /** Seconds; 0: unknown. */
  async #duration(): Promise<number> {
    const { format } = await this.#probe(['-show_entries', 'format=duration']);
    const seconds = Number(format?.duration ?? 0);
    return Number.isFinite(seconds) && seconds > 0 ? seconds : 0;
  }

  /** Where the bytes of the key frame before a time begin; null: unknown. */
  async #positionAt(seconds: number): Promise<number | null> {
    const at = ['-select_streams', 'v:0', '-read_intervals', `${seconds.toFixed(3)}%+#1`];
    const { packets } = await this.#probe([...at, '-show_entries', 'packet=pos']).catch(this.#unlessOver);
    const position = Number(packets?.[0]?.pos);
    return Number.isSafeInteger(position) && position >= 0 ? position : null;
  }

  async #probe(what: readonly string[]): Promise<Probed> {
    const { videoPath, memoryLimit } = this.#order;
    const args = ['-v', 'error', ...input, ...what, '-of', 'json', `file:${videoPath}`];
    const limits = { timeLimit: probeTime, memoryLimit };
    return JSON.parse(await runProgram(this.#programs.ffprobe, args, limits, this.#signal)) as Probed;
  }

  /** Whether there is a frame, which is written then. */
  async #frameAt(seconds: number): Promise<boolean> {
    const { videoPath, framePath, memoryLimit } = this.#order;
    const args = [
      ...['-v', 'error', '-nostdin', '-y', '-threads', '1', ...input],
      // the key frame before that time: what follows it may not be there
      ...['-ss', seconds.toFixed(3), '-noaccurate_seek', '-i', `file:${videoPath}`],
      ...['-map', '0:v:0', '-frames:v', '1', '-an', '-sn', '-dn'],
      ...[
        '-vf',
        `scale=w='min(iw,${frameSide})':h='min(ih,${frameSide})':force_original_aspect_ratio=decrease`,
      ],
      ...['-threads', '1', '-c:v', 'png', '-compression_level', '1', '-f', 'image2', `file:${framePath}`],
    ];
    try {
      await runProgram(this.#programs.ffmpeg, args, { timeLimit: frameTime, memoryLimit }, this.#signal);
      await access(framePath);
      return true;
    } catch (error) {
      this.#unlessOver(error);
      return false;
    }
  }

  readonly #unlessOver = (error: unknown): Probed => {
    if (this.#signal.aborted) throw error;
    return {};
  };
}

interface Probed {
  readonly format?: { readonly duration?: string };
  readonly packets?: readonly { readonly pos?: string }[];
}
