import type { Examples } from '../common/lifecycle/first-start-text.ts';

const structure = JSON.stringify({
  name: 'People',
  description: '',
  projectSlug: 'demo',
  slug: 'people',
  recordStructure: [
    { name: 'name', slug: 'name', type: 'TEXT', required: true, unique: false, hashed: false },
    { name: 'age', slug: 'age', type: 'NUMBER', required: false, unique: false, hashed: false },
  ].map((field) => ({ ...field, description: '', comment: '' })),
});

export const queryExamples: Examples = (curl, baseUrl) => `Insert records:
${curl} -H 'structure: ${structure}' -H 'Content-Type: application/json' -d '[{"name":"Ada","age":36},{"name":"Grace","age":45}]' ${baseUrl}/demo/people

Find records:
${curl} -H 'structure: ${structure}' '${baseUrl}/demo/people?age=36'
`;
