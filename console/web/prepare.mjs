/** `npm ci` builds the web app of the dashboard. Without esbuild's binary, which `--omit=optional` leaves out, it can't. */
import { spawnSync } from 'node:child_process';

const works = await import('esbuild')
  .then(
    ({ transform }) => transform('').then(() => true),
    () => false,
  )
  .catch(() => false);
if (!works) {
  console.warn('The dashboard is not built: esbuild is not installed completely. Everything else works.');
} else {
  const { status } = spawnSync(process.execPath, ['--import', 'tsx', 'console/web/build.ts'], {
    stdio: 'inherit',
  });
  process.exitCode = status ?? 1;
}
