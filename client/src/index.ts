export * from './client.ts';
export * from './download.ts';
export * from './files.ts';
export * from './space.ts';
export * from './upload.ts';
