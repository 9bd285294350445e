/**
 * The text in percent-encoded UTF-8. A stray percent sign stands for itself.
 *
 * @returns undefined if it encodes no UTF-8
 */
export const percentDecoded = (encoded: string): string | undefined => {
  try {
    return decodeURIComponent(encoded.replaceAll(/%(?![0-9a-f]{2})/gi, '%25'));
  } catch {
    return undefined;
  }
};
