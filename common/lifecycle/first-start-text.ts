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

/** What the first start on an empty store prints: the access token, this once, and three commands to copy. */
export function firstStartText(baseUrl: string, token: string): string {
  const auth = `-H 'Authorization: Bearer ${token}'`;
  return `
Base URL:     ${baseUrl}
Access token: ${token}
              (shown this once; \`npm run -s token\` makes another)

Upload a file:
curl ${auth} -F 'file=@README.md' ${baseUrl}/_f_/demo/upload

Insert records:
curl ${auth} -H 'structure: ${structure}' -H 'Content-Type: application/json' -d '[{"name":"Ada","age":36},{"name":"Grace","age":45}]' ${baseUrl}/demo/people

Find records:
curl ${auth} -H 'structure: ${structure}' '${baseUrl}/demo/people?age=36'

`;
}
