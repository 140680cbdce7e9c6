import { baseUrl, flag, integer, oneOf, type ReadContext, text, type Values } from './variable.ts';

/** The destination of traces. OpenTelemetry's SDK reads everything else, from the same variables. */
export interface TracingConfig {
  readonly protocol: (typeof protocols)[number];
  /** Values of the headers for the collector. Never logged. */
  readonly secrets: readonly string[];
}

const protocols = ['http/protobuf', 'http/json'] as const;
const samplers = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const;
const time = [1, 3_600_000] as const;
const longestQueue = 1_000_000;

/** OpenTelemetry's own: https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/ */
const variables = {
  endpoint: baseUrl('OTEL_EXPORTER_OTLP_ENDPOINT'),
  tracesEndpoint: baseUrl('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'),
  protocol: oneOf('OTEL_EXPORTER_OTLP_PROTOCOL', 'http/protobuf', protocols),
  tracesProtocol: oneOf(
    'OTEL_EXPORTER_OTLP_TRACES_PROTOCOL',
    undefined,
    protocols,
    'OTEL_EXPORTER_OTLP_PROTOCOL',
  ),
  headers: text('OTEL_EXPORTER_OTLP_HEADERS'),
  tracesHeaders: text('OTEL_EXPORTER_OTLP_TRACES_HEADERS'),
  timeout: integer('OTEL_EXPORTER_OTLP_TIMEOUT', 10_000, time),
  tracesTimeout: integer('OTEL_EXPORTER_OTLP_TRACES_TIMEOUT', 10_000, time),
  serviceName: text('OTEL_SERVICE_NAME', { shown: 'sluice' }),
  attributes: text('OTEL_RESOURCE_ATTRIBUTES'),
  sampler: oneOf('OTEL_TRACES_SAMPLER', 'parentbased_always_on', samplers),
  samplerArg: text('OTEL_TRACES_SAMPLER_ARG', { shown: '1' }),
  exporter: oneOf('OTEL_TRACES_EXPORTER', 'otlp', ['otlp', 'none']),
  disabled: flag('OTEL_SDK_DISABLED', false),
  delay: integer('OTEL_BSP_SCHEDULE_DELAY', 5000, time),
  exportTimeout: integer('OTEL_BSP_EXPORT_TIMEOUT', 30_000, time),
  queue: integer('OTEL_BSP_MAX_QUEUE_SIZE', 2048, [1, longestQueue]),
  batch: integer('OTEL_BSP_MAX_EXPORT_BATCH_SIZE', undefined, [1, longestQueue], '512'),
};

export const traces = {
  title: 'Traces',
  variables: { tracing: variables },
};

/** The OTEL_* variables that concern traces. undefined: tracing is off. */
export function readTracing(
  read: Values<typeof variables>,
  { problems }: ReadContext,
): TracingConfig | undefined {
  const { batch, queue, sampler, samplerArg } = read;
  if (batch !== undefined && batch > queue) {
    problems.push(
      `${variables.batch.name} is "${batch}": it should be a whole number from 1 to ${queue}, which is ${variables.queue.name}`,
    );
  }
  if (samplerArg !== undefined && sampler.endsWith('traceidratio') && !isShare(samplerArg)) {
    problems.push(
      `${variables.samplerArg.name} is ${JSON.stringify(samplerArg)}: it should be a number from 0 to 1`,
    );
  }
  if (read.disabled || read.exporter === 'none' || (read.endpoint ?? read.tracesEndpoint) === undefined) {
    return undefined;
  }
  return {
    protocol: read.tracesProtocol ?? read.protocol,
    secrets: [read.headers, read.tracesHeaders].flatMap(headerValues),
  };
}

function isShare(given: string): boolean {
  return /^\d*\.?\d+$/.test(given) && Number(given) <= 1;
}

/** `name=value` separated by commas, values percent-encoded. */
function headerValues(given: string | undefined): string[] {
  if (given === undefined) return [];
  const values = given.split(',').map((header) => header.slice(header.indexOf('=') + 1).trim());
  return values.flatMap((value) => [value, decoded(value)]);
}

function decoded(given: string): string {
  try {
    return decodeURIComponent(given);
  } catch {
    return given;
  }
}
