import { readConfig } from '../../common/config/read-config.ts';

/** Other settings that processes read, of Node and of the image. */
export const ofTheRuntime: readonly string[] = [
  'NODE_ENV',
  'UV_THREADPOOL_SIZE',
  'MALLOC_ARENA_MAX',
  'MALLOC_MMAP_THRESHOLD_',
];

/** The name of every environment variable that the configuration looks at. */
export function knownVariables(): ReadonlySet<string> {
  const asked = new Set<string>(ofTheRuntime);
  const valid: Record<string, string> = {
    // with these set, the variables that hang on them are looked at as well
    CLICKHOUSE_URL: 'http://clickhouse:8123',
    S3_BUCKET: 'files',
    REDIS_URL: 'redis://redis',
  };
  const spy = new Proxy(valid, {
    get(target, key) {
      if (typeof key === 'string') asked.add(key);
      return Reflect.get(target, key);
    },
  });
  readConfig(spy);
  // without them, too
  readConfig(new Proxy({}, { get: (_, key) => void (typeof key === 'string' && asked.add(key)) }));
  return asked;
}
