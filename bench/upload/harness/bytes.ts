export const kibibyte = 1024;
export const mebibyte = 1024 ** 2;
export const gibibyte = 1024 ** 3;
