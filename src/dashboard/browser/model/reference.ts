/** A part of a notification's reference, and what it leads to. */
export interface ReferencePart {
  readonly text: string;
  readonly to: 'camera' | 'address' | undefined;
}

/**
 * The parts of a reference: its sender may have written a camera, an https address, both or anything else.
 *
 * @example linksOf('ridge-04 https://example.org/4', ['ridge-04']) // a camera, ' ', an address
 */
export const linksOf = (reference: string, cameraIds: readonly string[]): readonly ReferencePart[] => {
  const cameras = new Set(cameraIds);
  if (cameras.has(reference)) return [{ text: reference, to: 'camera' }];
  return reference
    .split(/(\s+)/)
    .filter((text) => text !== '')
    .map((text) => ({ text, to: cameras.has(text) ? 'camera' : isAddress(text) ? 'address' : undefined }));
};

/** Only https: another scheme might run something. An address that holds a password is none to follow. */
const isAddress = (text: string): boolean => {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  return url?.protocol === 'https:' && url.username === '' && url.password === '';
};
