import type { Config } from './read-config.ts';

/** The secrets of the environment, which must not appear in a log. */
export function secretsOf(config: Config): readonly string[] {
  const { redis, s3, clickhouse } = config;
  return [
    config.bootstrapToken,
    config.metricsToken,
    config.loginTokenSecret,
    clickhouse?.password,
    s3?.credentials?.secretAccessKey,
    ...(config.tracing?.secrets ?? []),
    redis?.password,
    redis?.mode === 'sentinel' ? redis.sentinelPassword : undefined,
  ].filter((secret) => secret !== undefined);
}
