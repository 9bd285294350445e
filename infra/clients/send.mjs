const LONGEST_WAIT = 600; // seconds; a date in Retry-After may come from a wrong clock

/** The seconds to wait by a Retry-After header: a number or a date (RFC 9110). NaN if it is missing or neither. */
const retryAfter = (header) => {
  const text = String(header ?? '').trim();
  if (/^\d{1,9}$/.test(text)) return Number(text);
  const date = /^[A-Z][a-z]{2,8},? .*\d\d:\d\d:\d\d/.test(text)
    ? Date.parse(text.endsWith('GMT') ? text : `${text} GMT`)
    : NaN;
  return (date - Date.now()) / 1000;
};

/** The answer of the service; undefined if another server answered, such as a proxy. */
const answerIn = (text) => {
  try {
    const { recorded, code } = JSON.parse(text);
    return recorded === undefined && code === undefined ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
};

/** Sends CloudEvents to the service until they are answered. Fulfills with the answer, even if some events are wrong. */
export const send = async (events, url = 'http://localhost:7071', key = '', pause = 5) => {
  const headers = { 'content-type': 'application/cloudevents-batch+json', 'x-functions-key': key };
  const body = Buffer.from(JSON.stringify(events));
  if (body.length > 4 * 1024 * 1024) throw new Error('more than 4 MiB: send the halves');
  for (;;) {
    const request = { method: 'POST', headers, body, redirect: 'manual', signal: AbortSignal.timeout(240_000) };
    const answer = await fetch(`${url}/api/events`, request).catch(() => undefined);
    const said = await answer?.text().catch(() => undefined);
    if (said !== undefined) {
      const result = answer.status === 200 || answer.status === 400 ? answerIn(said) : undefined;
      if (result !== undefined) return result;
      if (![429, 500, 502, 503, 504].includes(answer.status)) throw new Error(`answered with ${answer.status}`);
    } // no answer, or half an answer: send them again
    const asked = Math.min(retryAfter(answer?.headers.get('retry-after')), LONGEST_WAIT);
    await new Promise((done) => setTimeout(done, (asked > pause ? asked : pause) * 1000));
  }
};
