import { createRequire } from 'node:module';

/**
 * Runs inside the server, before its own modules: remembers the last statement whose result was streamed, so that the
 * engine alone can be asked the same. Told over the message channel.
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
