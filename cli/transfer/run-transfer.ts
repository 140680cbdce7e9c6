import { CommandError } from '#kernel/errors/command-error.ts';
import { failStart } from '#process/lifecycle/command-line.ts';
import { Progress } from './progress.ts';
import { RemoteServer } from './remote-server.ts';

/** Runs a command's work on a server, and exits if it fails. A signal stops it. */
export async function runTransfer(
  url: string,
  work: (deps: { readonly server: RemoteServer; readonly progress: Progress }) => Promise<void>,
): Promise<void> {
  const stopped = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM'] as const)
    process.once(name, () =>
      stopped.abort(new CommandError('stopped: run the same command again to continue')),
    );
  const { SLUICE_TOKEN: token = '' } = process.env;
  const progress = new Progress();
  try {
    if (token === '')
      throw new CommandError('SLUICE_TOKEN is missing: set it to an access token of the server');
    const server = new RemoteServer({ url, token, signal: stopped.signal, warn: progress.say });
    await work({ server, progress });
  } catch (error) {
    progress.clear();
    failStart(stopped.signal.aborted ? stopped.signal.reason : error);
  }
}

/** The server of a command without `--url`. */
export function usualUrl(): string {
  return process.env.SLUICE_URL ?? 'http://127.0.0.1:8080';
}
