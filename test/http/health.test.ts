import { expect, it } from 'vitest';

import { health } from '../../src/http/health.ts';
import { askRoute } from './asking.ts';

it('health asks storage once a second for all callers, and says only whether it answers', async () => {
  let [now, probes] = [0, 0];
  const get = async () => {
    probes += 1;
    if (probes === 2) throw new Error('storage is away');
    return undefined;
  };
  const route = health({ get }, () => now);
  const answers = async () =>
    Promise.all(Array.from({ length: 20 }, async () => askRoute(route, '/api/health?probe=1&probe=2&=')));
  const well = await answers();
  now = 999;
  for (const { status, body } of [...well, ...(await answers())]) {
    expect([status, body, probes]).toEqual([200, { status: 'ok' }, 1]);
  }
  now = 1_000;
  for (const { status, body, headers } of await answers()) {
    expect([status, headers.get('retry-after'), headers.get('x-request-id'), probes]).toEqual([503, '5', 'unknown', 2]);
    expect(body).toMatchObject({ code: 'unhealthy', detail: 'The service cannot read its storage.' });
  }
});
