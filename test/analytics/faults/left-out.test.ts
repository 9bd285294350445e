import { TableClient } from '@azure/data-tables';
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';

import { Between } from '../../harness/between.ts';
import { CountingProcess } from '../counting.ts';
import { toEventMessage } from '../event-message.ts';
import type { PlainMessage } from '../oracle.ts';
import { countOf, Ledger } from './ledger.ts';
import { MIDNIGHT } from './messages.ts';

const HOUR = 3_600_000_000n;
/** A page without rows after which there is none: the real service promises not to do that. */
const NO_ROWS = {
  status: 200,
  headers: { 'content-type': 'application/json;odata=minimalmetadata' },
  body: JSON.stringify({ 'odata.metadata': 'rows', value: [] }),
};
const CAMERAS = ['ridge-0', 'ridge-1', 'ridge-2', 'ridge-7'];

/** A frame of each camera in an hour of the day. */
const frames = (hour: bigint, eventId: string): readonly PlainMessage[] =>
  CAMERAS.map((cameraId, at) => {
    const ts = MIDNIGHT + hour * HOUR + BigInt(at);
    return { cameraId, eventId, ts, time: ts, detections: { smoke: 1 } };
  });

describe('a storage that leaves out rows of a query', () => {
  let proxy: Between;
  beforeEach(async () => {
    proxy = await Between.start(inject('tablesConnectionString'));
  });
  afterEach(async () => {
    await proxy.stop();
  });

  it('never makes a counter lose what it held', async () => {
    const ledger = new Ledger(inject('tablesConnectionString'));
    const process = (): CountingProcess =>
      new CountingProcess(
        TableClient.fromConnectionString(proxy.connectionString, ledger.table, {
          allowInsecureConnection: true,
          retryOptions: { maxRetries: 0 },
        }),
        1,
      );
    const [early, late, more] = [frames(8n, 'early'), frames(9n, 'late'), frames(8n, 'more')];
    await process().record(early);

    // This process knows the rows of the cameras with hour 9 only.
    const restarted = process();
    await restarted.record(late);
    let left = 3;
    proxy.rule = ({ method, path }, carryOut) =>
      method === 'GET' && path.includes('()') && path.includes('camera') && left-- > 0 ? NO_ROWS : carryOut();
    await restarted.recorder.record(more.map(toEventMessage));

    expect(left).toBeLessThan(3);
    expect(await ledger.count()).toEqual(countOf([...early, ...late, ...more]));
  });
});
