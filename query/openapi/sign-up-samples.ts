import { typeOfFlags, typeOfTexts } from '#records/types/field-types.ts';
import { curl } from '#server/openapi/curl.ts';
import type { Sample } from './operation-sample.ts';

const structure = {
  name: 'Members',
  description: '',
  projectSlug: 'demo',
  slug: 'members',
  recordStructure: [
    { name: 'email', slug: 'email', type: typeOfTexts, unique: true, required: true },
    { name: 'password', slug: 'password', type: typeOfTexts, hashed: true, required: true },
    { name: 'verified', slug: 'verified', type: typeOfFlags },
  ],
};

/** Without a mail server of its own, the sample calls a webhook. */
const rules = {
  find: { id: '$user.id' },
  insert: true,
  signUp: {
    verified: 'verified',
    pages: {
      verifyEmail: 'https://app.example.com/verify',
      resetPassword: 'https://app.example.com/password',
    },
    webhook: 'https://hooks.example.com/mails',
  },
};

export const signUpBody = { email: 'ada@example.com', password: 'correct horse' };

function makeMembers(base: string): string {
  const made = curl({ url: `${base}/demo/members/set-structure`, body: structure });
  const ruled = curl({ method: 'PUT', url: `${base}/_projects_/demo/spaces/members/rules`, body: rules });
  return `${made}\n${ruled}\n`;
}

const headers = { 'function-resources': { mustExistSpaceStructures: [{ slug: 'members' }] } };

export const signUpSample: Sample = { first: makeMembers, headers };
export const mailSample: Sample = { first: makeMembers, headers };
