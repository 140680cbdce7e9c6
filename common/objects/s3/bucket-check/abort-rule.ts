import { element, type OwnRule, type RuleKind, rulesOf, valuesOf } from './rule-document.ts';

/** https://docs.aws.amazon.com/AmazonS3/latest/API/API_PutBucketLifecycleConfiguration.html */
export const lifecycleKind: RuleKind = {
  parameter: 'lifecycle',
  root: 'LifecycleConfiguration',
  rule: 'Rule',
};

const day = 24 * 3_600_000;
/** The store counts from the beginning of an upload, while a resumable one may go on for days. */
const fewestDays = 7;

/** Days after which the store may abort an upload that the janitor has not. @param staleAfter milliseconds */
export function abortDays(staleAfter: number): number {
  return Math.max(fewestDays, Math.ceil(staleAfter / day) + 1);
}

export function abortXml(args: {
  readonly name: string;
  readonly prefix: string;
  readonly days: number;
}): OwnRule {
  const filter = `<Filter>${element('Prefix', args.prefix)}</Filter>`;
  const action = `<AbortIncompleteMultipartUpload>${element('DaysAfterInitiation', `${args.days}`)}</AbortIncompleteMultipartUpload>`;
  const id = args.name;
  return { id, xml: `<Rule>${element('ID', id)}${filter}${element('Status', 'Enabled')}${action}</Rule>` };
}

/** Days of the earliest rule for all uploads with the prefix; null: there is no such rule. */
export function daysOfRules(text: string | null, prefix: string): number | null {
  const days = rulesOf(text ?? '', lifecycleKind).flatMap((rule) => {
    const [action] =
      rule.match(/<AbortIncompleteMultipartUpload>.*?<\/AbortIncompleteMultipartUpload>/s) ?? [];
    const isNarrow = /<Tag>|<ObjectSize/.test(rule);
    const [of = ''] = valuesOf(rule, 'Prefix');
    if (action === undefined || isNarrow || !prefix.startsWith(of)) return [];
    return valuesOf(rule, 'Status').includes('Enabled')
      ? valuesOf(action, 'DaysAfterInitiation').map(Number)
      : [];
  });
  return days.length === 0 ? null : Math.min(...days);
}

/** The least time after which a rule may abort an upload. Milliseconds. */
export function isTooEarly(days: number, staleAfter: number): boolean {
  return days * day <= staleAfter;
}
