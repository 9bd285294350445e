/** Sends CloudEvents to the service until they are answered. Fulfils with the answer, even if some events are wrong. */
export const send = async (events, url = 'http://localhost:7071', key = '', pause = 5) => {
  const headers = { 'content-type': 'application/cloudevents-batch+json', 'x-functions-key': key };
  const body = Buffer.from(JSON.stringify(events));
  if (body.length > 4 * 1024 * 1024) throw new Error('more than 4 MiB: send the halves');
  for (;;) {
    const request = { method: 'POST', headers, body, signal: AbortSignal.timeout(240_000) };
    const answer = await fetch(`${url}/api/events`, request).catch(() => undefined);
    const said = await answer?.text().catch(() => undefined);
    if (said !== undefined) {
      if (answer.status === 200 || answer.status === 400) return JSON.parse(said);
      if (![429, 500, 502, 503, 504].includes(answer.status)) throw new Error(`answered with ${answer.status}`);
    } // no answer, or half an answer: send them again
    const seconds = Number(answer?.headers.get('retry-after') ?? pause);
    await new Promise((done) => setTimeout(done, seconds * 1000));
  }
};
