import { createHash } from 'node:crypto';
import type { RedisScript } from './redis-connection.ts';

export function redisScript(source: string): RedisScript {
  return { source, sha1: createHash('sha1').update(source).digest('hex') };
}
