/**
 * The program of a PictureProcess (picture-process.ts): makes one picture at a time. It is JavaScript, because a TypeScript
 * loader takes longer to start than the first picture.
 */
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { setPriority } from 'node:os';

const [, , missing, pixelLimit, priority] = process.argv;

// requests go first, and when memory is short, the kernel kills this process rather than the server
try {
  setPriority(10);
  writeFileSync('/proc/self/oom_score_adj', '1000');
  // sched(7): a request that wakes up takes the core from SCHED_IDLE at once, and from a nice process after milliseconds
  const chrt = ['--all-tasks', '--idle', '--pid', '0', `${process.pid}`];
  if (priority === 'idle') execFileSync('chrt', chrt, { stdio: 'ignore', timeout: 5000 });
} catch {}

/** @type {import('sharp')} */
let sharp;
try {
  sharp = createRequire(import.meta.url)('sharp');
} catch {
  process.exit(Number(missing));
}
sharp.cache(false);
sharp.concurrency(1);

/** Decoders of formats that browsers show. None of the others runs, above all none of SVG. */
const decoders = ['Jpeg', 'Png', 'Webp', 'Nsgif', 'Heif'];
sharp.block({ operation: ['VipsForeignLoad'] });
sharp.unblock({ operation: decoders.map((name) => `VipsForeignLoad${name}`) });

/** AVIF takes seconds for more pixels than this, unless it takes less trouble. */
const largeAvif = 4_000_000;

/** A failure that the client may read about. */
class Unfit extends Error {}

async function make({ path, width, height, fit, format }) {
  const limitInputPixels = Number(pixelLimit);
  const head = await readHead(path);
  // the frames of an animation lie one below the other, and only the first is read
  const pixels = head.width * (head.pageHeight ?? head.height);
  if (pixels > limitInputPixels)
    throw new Unfit(`it has ${head.width} x ${head.height} pixels, and the limit is ${limitInputPixels}`);
  const sized = sharp(path, { limitInputPixels, failOn: 'error', pages: 1, autoOrient: true }).resize(
    width,
    height,
    { fit, withoutEnlargement: true },
  );
  const encode = encoders[format === 'jpeg' && head.hasAlpha ? 'transparent' : format];
  const { data, info } = await encode(sized, width * height);
  return { bytes: data, type: `image/${info.format === 'heif' ? 'avif' : info.format}` };
}

/** Sharp says nothing more of what no decoder knows, or is blocked. */
async function readHead(path) {
  try {
    return await sharp(path, { limitInputPixels: false }).metadata();
  } catch (error) {
    if (!/unsupported image format/.test(error.message)) throw error;
    throw new Unfit('its format is not JPEG, PNG, WebP, GIF or AVIF');
  }
}

const whole = { resolveWithObject: true };
/** Sharp converts the colours to sRGB, and leaves all metadata away, unless it is asked not to. */
const encoders = {
  avif: (sized, pixels) => sized.avif({ quality: 55, effort: pixels > largeAvif ? 0 : 2 }).toBuffer(whole),
  webp: (sized) => sized.webp({ quality: 80 }).toBuffer(whole),
  jpeg: (sized) => sized.jpeg({ quality: 80 }).toBuffer(whole),
  /** Many pictures have an alpha channel that hides nothing. */
  async transparent(sized) {
    const png = await sized.png().toBuffer(whole);
    const { isOpaque } = await sharp(png.data).stats();
    return isOpaque ? encoders.jpeg(sharp(png.data).flatten()) : png;
  },
};

/** The end of the server ends a decoder at once, too. */
process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'));
process.on('message', async (job) => {
  try {
    process.send(await make(job));
  } catch (error) {
    process.send({ problem: error instanceof Unfit ? error.message : '', cause: String(error.message) });
  }
});
