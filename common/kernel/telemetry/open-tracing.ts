import {
  type Context,
  DiagLogLevel,
  defaultTextMapGetter,
  diag,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import {
  defaultResource,
  detectResources,
  envDetector,
  resourceFromAttributes,
} from '@opentelemetry/resources';
import { BasicTracerProvider, BatchSpanProcessor, type SpanExporter } from '@opentelemetry/sdk-trace-base';
import type { TracingConfig } from '../config/read-tracing.ts';
import { settledWithin } from '../limits/deadline.ts';
import type { Log } from '../log/log.ts';
import { type ActiveSpan, activeSpan, withActiveSpan } from './active-span.ts';
import type { FinishedRequest } from './http-observer.ts';
import { outcomeOf, type System } from './observe-call.ts';
import type { RequestSpan, TracedExchange, Tracing } from './tracing.ts';

/** The longest that a shutdown waits for a collector. Milliseconds. */
const closeTimeout = 3000;
/** A collector that does not respond is logged at most this often. Milliseconds. */
const complaintInterval = 60_000;
const propagator = new W3CTraceContextPropagator();
const knownMethods = new Set(['GET', 'POST', 'DELETE', 'QUERY', 'HEAD', 'OPTIONS', 'PUT', 'PATCH']);

/** Names of other systems in spans, by OpenTelemetry's semantic conventions. */
const systems: Readonly<Record<System, Readonly<Record<string, string>>>> = {
  engine: { 'db.system.name': 'clickhouse' },
  s3: { 'rpc.system.name': 'aws-api', 'rpc.service': 'S3' },
  redis: { 'db.system.name': 'redis' },
  webhook: {},
  smtp: {},
};

/** Starts tracing. The SDK reads all other settings from OpenTelemetry's environment variables. */
export async function openTracing(config: TracingConfig, log: Pick<Log, 'warn'>): Promise<Tracing> {
  diag.setLogger(complaints(log), { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true });
  const resource = resourceFromAttributes({ 'service.name': 'sluice' }).merge(
    detectResources({ detectors: [envDetector] }),
  );
  const provider = new BasicTracerProvider({
    resource: defaultResource().merge(resource),
    spanProcessors: [new BatchSpanProcessor(await openExporter(config))],
  });
  const tracer = provider.getTracer('sluice');
  return {
    serve(exchange, begin) {
      exchange.span = beginRequest(tracer, exchange);
      withActiveSpan(exchange.span, () => begin(exchange));
    },
    traced: (observe) => (system, call, work, options) => {
      const parent = activeSpan();
      if (!(parent instanceof TracedSpan)) return observe(system, call, work, options);
      const span = tracer.startSpan(
        `${system} ${call}`,
        { kind: SpanKind.CLIENT, attributes: { ...systems[system], ...operationOf(system, call) } },
        parent.context,
      );
      return observe(system, call, () => withActiveSpan(new TracedSpan(span), work), options).then(
        (result) => {
          span.end();
          return result;
        },
        (error: unknown) => {
          const outcome = outcomeOf(error, options);
          // the message may quote a client's text
          if (outcome === 'error') fail(span, errorType(error));
          else span.setAttribute('sluice.outcome', outcome);
          span.end();
          throw error;
        },
      );
    },
    async close() {
      await settledWithin(provider.shutdown(), closeTimeout);
      diag.disable();
    },
  };
}

class TracedSpan implements ActiveSpan {
  readonly span: Span;
  readonly context: Context;

  constructor(span: Span, parent: Context = ROOT_CONTEXT) {
    this.span = span;
    this.context = trace.setSpan(parent, span);
  }

  get traceId(): string {
    return this.span.spanContext().traceId;
  }

  get traceparent(): string {
    const { traceId, spanId, traceFlags } = this.span.spanContext();
    return `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`;
  }
}

class TracedRequest extends TracedSpan implements RequestSpan {
  end(request: FinishedRequest, code: string | undefined): void {
    const { span } = this;
    const { operation, route, status } = request;
    if (span.isRecording()) {
      if (route !== '') span.updateName(`${methodOf(request.method)} ${route}`);
      span.setAttributes({
        ...(route === '' ? {} : { 'http.route': route }),
        ...(status === null ? {} : { 'http.response.status_code': status }),
        ...(request.userId === null ? {} : { 'user.id': request.userId }),
        'http.request.body.size': request.bytesIn,
        'http.response.body.size': request.bytesOut,
        'sluice.operation': operation === '' ? 'none' : operation,
        'sluice.request_id': request.id,
      });
      if (status === null || status >= 500) fail(span, code ?? `${status}`);
      else if (code !== undefined) span.setAttribute('error.type', code);
    }
    span.end();
  }
}

function beginRequest(tracer: Tracer, exchange: TracedExchange): TracedRequest {
  const [traceparent, tracestate] = [exchange.header('traceparent'), exchange.header('tracestate')];
  const parent =
    traceparent === undefined
      ? ROOT_CONTEXT
      : propagator.extract(ROOT_CONTEXT, { traceparent, tracestate }, defaultTextMapGetter);
  const known = methodOf(exchange.method);
  const span = tracer.startSpan(
    known,
    { kind: SpanKind.SERVER, attributes: { 'http.request.method': known } },
    parent,
  );
  return new TracedRequest(span, parent);
}

function methodOf(method: string): string {
  return knownMethods.has(method) ? method : '_OTHER';
}

function operationOf(system: System, call: string): Record<string, string> {
  return system === 's3' ? { 'rpc.method': call } : { 'db.operation.name': call };
}

function fail(span: Span, type: string): void {
  span.setAttribute('error.type', type);
  span.setStatus({ code: SpanStatusCode.ERROR });
}

function errorType(error: unknown): string {
  return error instanceof Error ? error.name : 'unknown';
}

async function openExporter({ protocol }: TracingConfig): Promise<SpanExporter> {
  const { OTLPTraceExporter } =
    protocol === 'http/json'
      ? await import('@opentelemetry/exporter-trace-otlp-http')
      : await import('@opentelemetry/exporter-trace-otlp-proto');
  return new OTLPTraceExporter();
}

/** Logs the SDK's errors, mostly about spans that it could not send, but not for every batch. */
function complaints(log: Pick<Log, 'warn'>) {
  let last = Number.NEGATIVE_INFINITY;
  const complain = (message: string): void => {
    const now = performance.now();
    if (now - last < complaintInterval) return;
    last = now;
    log.warn({ said: message.slice(0, 500) }, 'OpenTelemetry: traces may be missing');
  };
  const silent = (): void => {};
  return { error: complain, warn: complain, info: silent, debug: silent, verbose: silent };
}
