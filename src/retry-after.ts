/** The headers of an answer. */
export interface AnswerHeaders {
  get(name: string): string | null | undefined;
}

/** The three forms of a date in HTTP (RFC 9110, 5.6.7). The third form has no zone: it is UTC. */
const HTTP_DATE =
  /^(?:[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} [\d:]{8} GMT|[A-Z][a-z]{5,8}, \d{2}-[A-Z][a-z]{2}-\d{2} [\d:]{8} GMT|[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d [\d:]{8} \d{4})$/;

const dateOf = (text: string): number =>
  HTTP_DATE.test(text) ? Date.parse(text.endsWith('GMT') ? text : `${text} GMT`) : Number.NaN;

/**
 * How long an answer asks to wait, in milliseconds: `Retry-After` in seconds or as a date. Azure's headers in milliseconds take precedence.
 *
 * @param now in milliseconds since 1970, for a date
 * @returns 0 for a date that has passed; undefined without a valid header
 */
export const retryAfterMs = (headers: AnswerHeaders, now: number): number | undefined => {
  for (const name of ['retry-after-ms', 'x-ms-retry-after-ms']) {
    const value = headers.get(name)?.trim() ?? '';
    if (/^\d{1,9}$/.test(value)) return Number(value);
  }
  const value = headers.get('retry-after')?.trim() ?? '';
  if (/^\d{1,9}$/.test(value)) return Number(value) * 1_000;
  const date = dateOf(value);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
};
