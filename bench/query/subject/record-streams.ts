import { createRequire } from 'node:module';

/**
 * Runs inside the server, before its own modules: records the last statement with a streamed result, so that it can be run
 * on only the engine. Reports it over the message channel.
 */
const { Session } = createRequire(import.meta.url)('chdb') as typeof import('chdb');
let last: string | null = null;
const original = Reflect.get(Session.prototype, 'queryStream') as (...args: unknown[]) => unknown;
Reflect.set(Session.prototype, 'queryStream', function remembering(this: object, ...args: unknown[]) {
  last = String(args[0]);
  return original.apply(this, args);
});
process.on('message', () => {
  process.send?.({ last });
});
// the channel must not keep the server alive when it should stop
process.channel?.unref();
