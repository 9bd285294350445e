import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { expect, it, onTestFinished } from 'vitest';

import { startAzurite } from '../../../infra/local/azurite.ts';
import { setStage } from './stage.ts';
import { until } from './until.ts';

// The callees' last two digits: answered, busy and then answered, no answer and then answered, never answering, declining.
const ENDINGS = ['00', '06', '07', '00', '01', '00', '03', '00', '08', '00'];

/** Twenty people, two lines, three instances; one of them is killed every few seconds and started again. */
const soak = async (
  attempts: number,
  interlude?: {
    stop: () => Promise<void>;
    start: () => Promise<void>;
    connectionString: string;
  },
) => {
  const stage = await setStage({
    instances: 3,
    bundle: 'release',
    seed: 'soak',
    acs: { lines: 2 },
    pace: { ringMs: 400, speakMs: 1_500 },
    environment: {
      CALL_RETRY_SECONDS: '5',
      CALL_ATTEMPTS: String(attempts),
      SWEEP_SCHEDULE: '*/5 * * * * *',
      NOTIFICATION_DEADLINE_MINUTES: '10',
    },
    ...(interlude === undefined ? {} : { tablesConnectionString: interlude.connectionString }),
  });
  const numbers = Array.from({ length: 20 }, (_, index) => `+1206555${String(index + 10)}${ENDINGS[index % 10]}`);
  const { notification_id } = await stage.alert('ConfirmedFire', numbers);
  const run = { isOver: false };
  const kills = (async () => {
    for (let round = 0; !run.isOver; round += 1) {
      await sleep(4_000);
      if (round === 2) await interlude?.stop();
      if (round === 4) await interlude?.start();
      if (!run.isOver) await stage.apps[round % 3]?.restart();
    }
  })();
  try {
    const isCompleted = async () =>
      (await stage.notification(notification_id).catch(() => undefined))?.status === 'completed';
    await until(isCompleted, 'the notification is completed', 400_000);
  } finally {
    run.isOver = true;
    await kills;
  }
  return { stage, numbers, notification_id };
};

it('tells everybody once, whichever instance is killed when', { timeout: 500_000 }, async () => {
  const { stage, numbers, notification_id } = await soak(3);
  const callees = stage.callees();
  for (const app of stage.apps) {
    const { status, recipients } = await stage.notification(notification_id, app.url);
    expect(status).toBe('completed');
    for (const [index, number] of numbers.entries()) {
      const { heardWhole = 0, openLines } = callees.get(number) ?? {};
      const picksUp = !/(01|03)$/.test(number);
      expect([number, heardWhole, openLines]).toEqual([number, picksUp ? 1 : 0, 0]);
      expect([number, recipients[index]?.status]).toEqual([number, picksUp ? 'heard' : 'not_reached']);
    }
  }
});

it(
  'tells everybody, perhaps twice, when the tables are gone for a while in between',
  { timeout: 500_000 },
  async () => {
    // What an instance alone knew when it was killed counts as unknown, and that takes an attempt: so there are more of them.
    const dataDir = await mkdtemp(join(tmpdir(), 'wildfire-camera-activity-'));
    onTestFinished(async () => rm(dataDir, { recursive: true, force: true }));
    const azurite = await startAzurite({ dataDir });
    onTestFinished(async () => azurite.stop());
    const { stage, numbers, notification_id } = await soak(8, {
      connectionString: azurite.connectionString,
      stop: async () => azurite.stop(),
      start: async () => {
        const again = await startAzurite({ dataDir, port: azurite.port });
        onTestFinished(async () => again.stop());
      },
    });
    const { recipients } = await stage.notification(notification_id);
    for (const [index, number] of numbers.entries()) {
      const { heardWhole = 0, openLines } = stage.callees().get(number) ?? {};
      const picksUp = !/(01|03)$/.test(number);
      expect([number, heardWhole >= (picksUp ? 1 : 0), openLines]).toEqual([number, true, 0]);
      expect([number, recipients[index]?.status]).toEqual([number, picksUp ? 'heard' : 'not_reached']);
    }
  },
);
