/** `npm ci` builds the web app of the dashboard, and the client for pages. Without esbuild's binary, which `--omit=optional` leaves out, it can't. */
import { spawnSync } from 'node:child_process';

const works = await import('esbuild')
  .then(
    ({ transform }) => transform('').then(() => true),
    () => false,
  )
  .catch(() => false);
if (!works) {
  console.warn(
    'The dashboard and the client for pages are not built: esbuild is not installed completely. Everything else works.',
  );
} else {
  for (const script of ['console/web/build.ts', 'client/build.ts']) {
    const { status } = spawnSync(process.execPath, ['--import', 'tsx', script], { stdio: 'inherit' });
    process.exitCode ||= status ?? 1;
  }
}
