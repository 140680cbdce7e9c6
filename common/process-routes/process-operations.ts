import type { ErrorCode } from '../errors/error-codes.ts';
import {
  type ApiOperation,
  doorErrors,
  header,
  jsonAnswer,
  jsonContent,
  noStore,
} from '../openapi/api-operation.ts';
import { dateTime, exactObject, type Schema, string as text } from '../openapi/schema.ts';

/** How the description of the API shows what every process answers of itself. */

const tag = 'Health';
const status: Schema = { type: 'string', enum: ['ok'] };
const errors: readonly ErrorCode[] = [
  'malformed_request',
  'headers_too_large',
  'unknown_host',
  'shutting_down',
];

function health(id: string, summary: string, more: readonly ErrorCode[], schema: Schema): ApiOperation {
  return {
    id,
    tag,
    summary,
    description: 'Needs neither a token nor HTTPS.',
    access: 'none',
    answers: { 200: jsonAnswer('Yes', schema) },
    errors: [...errors, ...more],
    sample: (base) => `curl -sS ${base}/${id}`,
  };
}

export const frontPage: ApiOperation = {
  id: 'frontPage',
  tag: 'Description',
  summary: 'Name the service',
  description: 'JSON. Browsers are sent to the dashboard, or see a page if the process has none.',
  access: 'none',
  answers: {
    200: {
      description: 'What the service is, and links',
      headers: {
        Vary: header('accept'),
        'Content-Security-Policy': { description: 'Of the page: it runs nothing', schema: text },
      },
      content: {
        ...jsonContent(
          exactObject(
            { name: text, description: text, documentation: text, dashboard: text, health: text },
            { optional: ['dashboard'] },
          ),
        ),
        'text/html': { schema: text },
      },
    },
    302: {
      description: 'To the dashboard',
      headers: { Location: header('/_console_/'), Vary: header('accept') },
    },
  },
  errors: doorErrors,
  sample: (base) => `curl -sS ${base}/`,
};

export const healthz = health('healthz', 'Is the process alive?', [], exactObject({ status }));
export const healthWithTime = health(
  'health',
  'Is the process alive, and what time is it?',
  [],
  exactObject({ status, timestamp: dateTime }),
);
export const readyz = health('readyz', 'Do the stores answer?', ['not_ready'], exactObject({ status }));

export const metrics: ApiOperation = {
  id: 'metrics',
  tag,
  summary: 'Read the metrics of all workers',
  description:
    'For Prometheus. Without METRICS_TOKEN only the machine itself may ask; others get 404. Not for web pages.',
  access: 'metrics',
  answers: {
    200: {
      description: 'The text format of Prometheus',
      headers: noStore,
      content: { 'text/plain': { schema: { type: 'string' } } },
    },
  },
  errors: [...errors, 'unauthorized', 'not_found', 'internal_error', 'deadline_exceeded'],
  sample: (base) => `curl -sS ${base}/metrics`,
};
