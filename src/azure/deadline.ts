/**
 * Runs a request that gets an abort signal for this time, in milliseconds, and does not wait longer. The signal alone does not end a request
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
