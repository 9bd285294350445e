import { expect, it } from 'vitest';

import { setStage } from '../../harness/phone-stage.ts';

const about = (callConnectionId: string, kind = 'CallConnected') => ({
  id: '1',
  source: 's',
  type: `Microsoft.Communication.${kind}`,
  specversion: '1.0',
  data: { callConnectionId },
});

it('callbacks of foreign calls cost one request to speak for each call id', async () => {
  const stage = await setStage();
  for (const batch of [
    Array.from({ length: 10 }, (_, index) => about(`nobody-${index}`)),
    Array.from({ length: 50 }, () => about('always-the-same')),
    Array.from({ length: 50 }, () => about('another', 'Nonsense')),
  ]) {
    expect((await stage.callback('AnomalyCallback', batch)).status).toBe(200);
  }
  expect((await stage.fetch(`${stage.url}/api/health`)).status).toBe(200);
  // All are refused: the simulator knows none of these calls. A call that is gone is not hung up.
  const asked = stage.acs.log().refused.map(({ request }) => request);
  expect([asked.length, new Set(asked).size]).toEqual([11, 11]);
  expect(asked).toContain('POST /calling/callConnections/always-the-same:play');
  expect(stage.logged('unexpected error')).toEqual([]);
});
