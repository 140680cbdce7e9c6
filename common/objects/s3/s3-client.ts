import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { S3Client, type S3ClientConfig } from '@aws-sdk/client-s3';
import { traceHeaders } from '#kernel/telemetry/active-span.ts';
import type { ObserveCall } from '#kernel/telemetry/observe-call.ts';
import { type S3Place, usesPathStyle } from './s3-address.ts';
import { isStatus } from './s3-failure.ts';
import type { S3StoreOptions, S3Timing } from './s3-options.ts';

/** Idle connections are closed before S3 would close them. Milliseconds. */
const idleConnection = 10_000;

/**
 * The SDK's client on one agent. Retries and deadlines are ours, so that the same rules apply to the SDK's requests and
 * our own. Only the options decide where requests go.
 */
export function connectS3(
  options: S3Place & {
    readonly credentials: S3ClientConfig['credentials'];
    readonly maxSockets: number;
    readonly timing: Pick<S3Timing, 'connect'>;
    readonly log: S3StoreOptions['log'];
    readonly observe: ObserveCall;
  },
): { readonly client: S3Client; readonly agent: HttpAgent } {
  const { endpoint, region, credentials, maxSockets, timing, log, observe } = options;
  const secure = endpoint === undefined || endpoint.startsWith('https:');
  const agentOptions = { keepAlive: true, maxSockets, timeout: idleConnection };
  const agent = secure ? new HttpsAgent(agentOptions) : new HttpAgent(agentOptions);
  const silent = () => {};
  const client = new S3Client({
    region,
    ...(endpoint !== undefined && { endpoint }),
    ...(credentials !== undefined && { credentials }),
    forcePathStyle: usesPathStyle(options),
    ignoreConfiguredEndpointUrls: true,
    useFipsEndpoint: false,
    useDualstackEndpoint: false,
    maxAttempts: 1,
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    expectContinueHeader: false,
    requestHandler: {
      ...(secure ? { httpsAgent: agent as HttpsAgent } : { httpAgent: agent }),
      connectionTimeout: timing.connect,
      logger: {
        debug: silent,
        info: silent,
        warn: (text: string) => log.warn({ s3: text }, 'a warning of the S3 client'),
        error: silent,
      },
    },
  });
  client.middlewareStack.add(
    (next, { commandName = 'unknown' }) =>
      // the SDK names commands after their classes
      (args) =>
        observe('s3', commandName.replace(/Command$/, ''), () => next(args), {
          isMissing: (error) => isStatus(error, 404),
        }),
    { step: 'initialize', name: 'observe' },
  );
  client.middlewareStack.add(
    (next) => (args) => {
      Object.assign((args.request as { headers: Record<string, string> }).headers, traceHeaders());
      return next(args);
    },
    // before it is signed
    { step: 'build', name: 'trace' },
  );
  return { client, agent };
}
