import type { Examples } from '../common/lifecycle/first-start-text.ts';
import { exampleStructure } from './structure/example-structure.ts';

const structure = JSON.stringify(exampleStructure);

export const queryExamples: Examples = (curl, baseUrl) => `Insert records:
${curl} -H 'structure: ${structure}' -H 'Content-Type: application/json' -d '[{"name":"Ada","age":36},{"name":"Grace","age":45}]' ${baseUrl}/demo/people

Find records:
${curl} -H 'structure: ${structure}' '${baseUrl}/demo/people?age=36'
`;
