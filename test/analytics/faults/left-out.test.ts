import { TableClient } from '@azure/data-tables';
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';

import { CountingProcess } from '../counting.ts';
import { toEventMessage } from '../event-message.ts';
import type { PlainMessage } from '../oracle.ts';
import { FaultProxy, NO_FAULT } from './fault-proxy.ts';
import { countOf, Ledger } from './ledger.ts';
import { MIDNIGHT } from './messages.ts';

const HOUR = 3_600_000_000n;
const CAMERAS = ['ridge-0', 'ridge-1', 'ridge-2', 'ridge-7'];

/** A frame of each camera in an hour of the day. */
const frames = (hour: bigint, eventId: string): readonly PlainMessage[] =>
  CAMERAS.map((cameraId, at) => {
    const ts = MIDNIGHT + hour * HOUR + BigInt(at);
    return { cameraId, eventId, ts, time: ts, detections: { smoke: 1 } };
  });

describe('a storage that leaves out rows of a query', () => {
  let proxy: FaultProxy;
  beforeEach(async () => {
    proxy = await FaultProxy.start(inject('tablesConnectionString'));
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
    proxy.rule = ({ isQuery, path }) =>
      isQuery && path.includes('camera') && left-- > 0 ? { kind: 'rows left out' } : NO_FAULT;
    await restarted.recorder.record(more.map(toEventMessage));

    expect(left).toBeLessThan(3);
    expect(await ledger.count()).toEqual(countOf([...early, ...late, ...more]));
  });
});
