import type { Http1Answer } from './http1/answer-reader.ts';
import { S3Failure } from './s3-failure.ts';

/**
 * What an answer that is not a success says:
 * https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html, section "REST error responses".
 */
export function readFailure({
  status,
  reason,
  headers,
  text,
}: Pick<Http1Answer, 'status' | 'reason' | 'headers' | 'text'>): S3Failure {
  const code = element(text, 'Code') ?? `Http${status}`;
  const message = element(text, 'Message') ?? (reason || 'no message');
  const region = headers.get('x-amz-bucket-region') ?? element(text, 'Region');
  return new S3Failure(status, code, message, region);
}

/** Text of the first such element. Errors are flat, and only their codes are acted on, so no XML parser is needed. */
function element(xml: string, name: string): string | undefined {
  return new RegExp(`<${name}>([^<]{0,1000})</${name}>`).exec(xml)?.[1];
}
