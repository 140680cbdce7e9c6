import type { RedisClient } from './redis-client.ts';
import type { RedisListener } from './redis-connection.ts';

/** Shortest time between two reconnections that are asked for. Milliseconds. */
const pause = 1000;

/** Hears a channel over a client that does nothing else, and subscribes anew whenever that is connected. */
export function createRedisListener(
  client: RedisClient,
  channel: string,
  onMessage: (message: string) => void,
): RedisListener {
  let reconnectedAt = performance.now();
  const reconnect = (): void => {
    if (client.status !== 'ready' || performance.now() - reconnectedAt < pause) return;
    reconnectedAt = performance.now();
    client.disconnect(true);
  };
  client.on('ready', () => {
    client.subscribe(channel).catch(reconnect);
  });
  // a failure here also hits the commands beside it, and is logged there
  client.on('error', () => {});
  client.on('message', (from: string, message: string) => {
    if (from === channel) onMessage(message);
  });
  client.connect().catch(() => {});
  return { reconnect, close: () => client.disconnect() };
}
