/** The example space of the documentation and of the first start. */
export const exampleStructure = {
  name: 'People',
  description: '',
  projectSlug: 'demo',
  slug: 'people',
  recordStructure: [
    { name: 'name', slug: 'name', type: 'TEXT', required: true },
    { name: 'age', slug: 'age', type: 'NUMBER', required: false },
  ].map((field) => ({ ...field, unique: false, hashed: false, description: '', comment: '' })),
};
