export * from './client.ts';
export * from './space.ts';
