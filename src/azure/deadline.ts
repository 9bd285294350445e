/**
 * Runs a request with an abort signal that fires after this time, in milliseconds, and stops waiting then. The signal alone does not end a request
 * that waits for a token.
 *
 * @throws {DOMException} `TimeoutError`
 * @example await withDeadline(4_000, async (abortSignal) => client.createCall(invite, address, { abortSignal }));
 */
export const withDeadline = async <Answer>(
  ms: number,
  send: (abortSignal: AbortSignal) => Promise<Answer>,
): Promise<Answer> => {
  const signal = AbortSignal.timeout(ms);
  const late = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
  return Promise.race([send(signal), late]);
};
