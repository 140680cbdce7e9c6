import type { EnvReader } from './validators.ts';

/** Where traces go. OpenTelemetry's SDK reads everything else, from the same variables. */
export interface TracingConfig {
  readonly protocol: (typeof protocols)[number];
  /** Values of headers that the collector wants. Never logged. */
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
const highest = 3_600_000;

/**
 * The OTEL_* variables (https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/), as far as
 * they concern traces. undefined: nothing is traced, because no collector is named, or because it is switched off.
 */
export function readTracing(reader: EnvReader): TracingConfig | undefined {
  const general = reader.baseUrl('OTEL_EXPORTER_OTLP_ENDPOINT');
  const own = reader.baseUrl('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT');
  const everywhere = reader.oneOf('OTEL_EXPORTER_OTLP_PROTOCOL', 'http/protobuf', protocols);
  const protocol = reader.oneOf('OTEL_EXPORTER_OTLP_TRACES_PROTOCOL', everywhere, protocols);
  const headers = [
    reader.text('OTEL_EXPORTER_OTLP_HEADERS'),
    reader.text('OTEL_EXPORTER_OTLP_TRACES_HEADERS'),
  ];
  for (const key of ['OTEL_EXPORTER_OTLP_TIMEOUT', 'OTEL_EXPORTER_OTLP_TRACES_TIMEOUT']) {
    reader.integer(key, 10_000, 1, highest);
  }
  for (const key of ['OTEL_BSP_SCHEDULE_DELAY', 'OTEL_BSP_EXPORT_TIMEOUT']) {
    reader.integer(key, 5000, 1, highest);
  }
  const queue = reader.integer('OTEL_BSP_MAX_QUEUE_SIZE', 2048, 1, 1_000_000);
  reader.integer('OTEL_BSP_MAX_EXPORT_BATCH_SIZE', Math.min(512, queue), 1, queue);
  reader.text('OTEL_SERVICE_NAME');
  reader.text('OTEL_RESOURCE_ATTRIBUTES');
  readSampler(reader);
  const exporter = reader.oneOf('OTEL_TRACES_EXPORTER', 'otlp', ['otlp', 'none']);
  const disabled = reader.boolean('OTEL_SDK_DISABLED', false);
  if (disabled || exporter === 'none' || (general ?? own) === undefined) return undefined;
  return { protocol, secrets: headers.flatMap(headerValues) };
}

function readSampler(reader: EnvReader): void {
  const sampler = reader.oneOf('OTEL_TRACES_SAMPLER', 'parentbased_always_on', samplers);
  const text = reader.text('OTEL_TRACES_SAMPLER_ARG');
  if (text === undefined || !sampler.endsWith('traceidratio')) return;
  const ratio = /^\d*\.?\d+$/.test(text) ? Number(text) : Number.NaN;
  if (!(ratio >= 0 && ratio <= 1)) {
    reader.problems.push(
      `OTEL_TRACES_SAMPLER_ARG is ${JSON.stringify(text)}: it should be a number from 0 to 1`,
    );
  }
}

/** `name=value` separated by commas, values percent-encoded. */
function headerValues(list: string | undefined): string[] {
  if (list === undefined) return [];
  const values = list.split(',').map((header) => header.slice(header.indexOf('=') + 1).trim());
  return values.flatMap((value) => [value, decoded(value)]);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
