import type { Config } from './read-config.ts';

/** The secrets of the environment, which must not appear in a log. */
export function secretsOf(config: Config): readonly string[] {
  const { redis, s3, clickhouse, smtpUrl } = config;
  const { password } = new URL(smtpUrl ?? 'smtp://localhost');
  return [
    config.bootstrapToken,
    config.metricsToken,
    config.loginTokenSecret,
    config.oidc?.clientSecret,
    // as it is written, and as a server may repeat it
    ...(password === '' ? [] : [smtpUrl, password, decodeURIComponent(password)]),
    clickhouse?.password,
    s3?.credentials?.secretAccessKey,
    ...(config.tracing?.secrets ?? []),
    redis?.password,
    redis?.mode === 'sentinel' ? redis.sentinelPassword : undefined,
  ].filter((secret) => secret !== undefined);
}
