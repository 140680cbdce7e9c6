import type { Examples } from '#process/lifecycle/first-start-text.ts';

export const gatewayExamples: Examples = (curl, baseUrl) => `Upload a file:
${curl} -F 'file=hello;filename=hello.txt' ${baseUrl}/_f_/demo/upload
`;
