import { element, type OwnRule, type RuleKind } from './rule-document.ts';

/** https://docs.aws.amazon.com/AmazonS3/latest/API/API_PutBucketCors.html */
export const corsKind: RuleKind = { parameter: 'cors', root: 'CORSConfiguration', rule: 'CORSRule' };

/** A rule as the AWS CLI takes it. */
export interface CorsRule {
  readonly ID: string;
  readonly AllowedOrigins: readonly string[];
  readonly AllowedMethods: readonly string[];
  readonly AllowedHeaders: readonly string[];
  readonly ExposeHeaders: readonly string[];
  readonly MaxAgeSeconds: number;
}

/** Headers that a page needs to read, or that help it: the ETag of a part, checksums to compare, ranges. */
const exposed = [
  ...['ETag', 'x-amz-checksum-crc32c', 'x-amz-checksum-crc64nvme'],
  ...['Content-Range', 'Accept-Ranges'],
];
/** How long a browser may keep the answer to a preflight: one for all parts. Chromium keeps it for two hours at most. */
const maxAge = 3600;

/**
 * The rules that pages need. A fetch that is redirected to another origin sends `Origin: null`, hence `*` for reading:
 * the addresses themselves say who may read.
 * @param args.name of the rules, unique in the bucket
 */
export function neededCors(args: {
  readonly name: string;
  readonly origins: readonly string[];
  readonly redirects: boolean;
}): readonly CorsRule[] {
  const shared = { AllowedHeaders: ['*'], ExposeHeaders: exposed, MaxAgeSeconds: maxAge };
  const rules: CorsRule[] = [
    { ID: args.name, AllowedOrigins: args.origins, AllowedMethods: ['PUT', 'GET', 'HEAD'], ...shared },
  ];
  if (args.redirects)
    rules.push({
      ID: `${args.name}-reads`,
      AllowedOrigins: ['*'],
      AllowedMethods: ['GET', 'HEAD'],
      ...shared,
    });
  return rules;
}

export function corsXml(rule: CorsRule): OwnRule {
  const lists = [
    ...rule.AllowedHeaders.map((text) => element('AllowedHeader', text)),
    ...rule.AllowedMethods.map((text) => element('AllowedMethod', text)),
    ...rule.AllowedOrigins.map((text) => element('AllowedOrigin', text)),
    ...rule.ExposeHeaders.map((text) => element('ExposeHeader', text)),
  ].join('');
  const age = element('MaxAgeSeconds', `${rule.MaxAgeSeconds}`);
  return { id: rule.ID, xml: `<CORSRule>${element('ID', rule.ID)}${lists}${age}</CORSRule>` };
}
