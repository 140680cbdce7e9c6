import { Session } from 'node:inspector/promises';

/**
 * Runs inside a server, before its own modules: on the message `start` its main thread is sampled, and on `stop` the
 * profile goes back over the message channel.
 */
const session = new Session();
session.connect();

process.on('message', (command: 'start' | 'stop') => {
  void (command === 'start' ? start() : stop()).catch((error: unknown) => {
    process.send?.({ type: 'failed', message: String(error) });
  });
});
// the channel must not keep the server alive when it should stop
process.channel?.unref();

async function start(): Promise<void> {
  await session.post('Profiler.enable');
  await session.post('Profiler.setSamplingInterval', { interval: 500 });
  await session.post('Profiler.start');
  process.send?.({ type: 'started' });
}

async function stop(): Promise<void> {
  const { profile } = await session.post('Profiler.stop');
  process.send?.({ type: 'profile', profile });
}
