import { CommandError } from '#kernel/errors/command-error.ts';
import { failStart } from '#process/lifecycle/command-line.ts';
import { Progress } from './progress.ts';
import { RemoteServer } from './remote-server.ts';

/** Does the work of a command on a running server, and ends the process when it fails. A signal stops it. */
export async function runTransfer(
  url: string,
  work: (deps: { readonly server: RemoteServer; readonly progress: Progress }) => Promise<void>,
): Promise<void> {
  const stopped = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM'] as const)
    process.once(name, () => stopped.abort(new CommandError('it was stopped: the same command goes on')));
  const { SLUICE_TOKEN: token = '' } = process.env;
  const progress = new Progress();
  try {
    if (token === '') throw new CommandError('SLUICE_TOKEN is missing: it is the access token to ask with');
    const server = new RemoteServer({ url, token, signal: stopped.signal, warn: progress.say });
    await work({ server, progress });
  } catch (error) {
    progress.clear();
    failStart(stopped.signal.aborted ? stopped.signal.reason : error);
  }
}

/** Of a command without `--url`. */
export function usualUrl(): string {
  return process.env.SLUICE_URL ?? 'http://127.0.0.1:8080';
}
