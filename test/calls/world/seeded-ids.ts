// In place of the functions of `node:crypto`. Ids decide the order of rows with the same time, so they follow the seed of `Math.random` too.

/** So many bytes from `Math.random`. */
export const randomBytes = (size: number): Buffer =>
  Buffer.from(Array.from({ length: size }, () => Math.floor(Math.random() * 256)));

/** An id in the form of a UUID from `Math.random`. */
export const randomUUID = (): string =>
  randomBytes(16)
    .toString('hex')
    .replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
