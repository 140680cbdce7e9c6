import type { Examples } from '../common/lifecycle/first-start-text.ts';

export const gatewayExamples: Examples = (curl, baseUrl) => `Upload a file:
${curl} -F 'file=@README.md' ${baseUrl}/_f_/demo/upload
`;
