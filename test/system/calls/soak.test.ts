import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { it, type TestContext } from 'vitest';

import { startAzurite } from '../../../infra/local/azurite.ts';
import { randomFrom } from '../../../infra/local/demo/random.ts';
import { soakForm, soakSeed } from './soak/form.ts';
import { fateOf, seenOutcome, twentyPeople } from './soak/people.ts';
import { type NotificationState, setStage, type Stage, type StageOptions } from './stage.ts';
import { until } from './until.ts';

const INSTANCES = 3;
const timeout = soakForm.withinMs + 120_000;

/** A storage that can be stopped. */
interface Storage {
  readonly connectionString: string;
  stop(): Promise<void>;
  start(): Promise<void>;
}

/** Twenty people, two lines, three instances; every few seconds one of these is killed and started again. */
const soak = async (whenOver: TestContext['onTestFinished'], storage?: Storage) => {
  const random = randomFrom(soakSeed);
  const numbers = twentyPeople(random);
  const options: StageOptions = {
    instances: INSTANCES,
    bundle: 'release',
    seed: soakSeed,
    acs: { lines: 2 },
    pace: soakForm.pace,
    environment: { CALL_RETRY_SECONDS: '5', SWEEP_SCHEDULE: '*/5 * * * * *' },
    ...(storage === undefined ? {} : { tablesConnectionString: storage.connectionString }),
  };
  const stage = await setStage(options, whenOver);
  const { notification_id } = await stage.alert('ConfirmedFire', numbers);
  const run = { isOver: false };
  const kills = (async () => {
    for (;;) {
      await sleep(soakForm.killEveryMs);
      if (run.isOver) return;
      await stage.apps[Math.floor(random() * INSTANCES)]?.restart();
    }
  })();
  const outage = (async () => {
    if (storage === undefined) return;
    await sleep(soakForm.tablesStopAfterMs);
    await storage.stop();
    await sleep(soakForm.tablesStopForMs);
    await storage.start();
  })();
  try {
    const isCompleted = async () => {
      // To ask all the time would be the larger part of the load.
      await sleep(1_000);
      return (await stage.notification(notification_id).catch(() => undefined))?.status === 'completed';
    };
    await until(isCompleted, 'the notification is completed', soakForm.withinMs);
  } finally {
    run.isOver = true;
    await Promise.all([kills, outage]);
  }
  await stage.acs.settled();
  return { stage, numbers, notification_id };
};

type RecipientState = NotificationState['recipients'][number];

/** What the service tells of a recipient, beside what the simulator saw. */
const toldAndSeen = (stage: Stage, number: string, recipient: RecipientState | undefined) => {
  const { heardWhole = 0, openLines = 0 } = stage.callees().get(number) ?? {};
  const seen = stage.callsTo(number).map((call, index) => ({ id: call.id, outcome: seenOutcome(call, index) }));
  const told = (recipient?.attempts ?? []).map(({ call_connection_id: id, outcome }) => ({ id, outcome }));
  return { number, status: recipient?.status, heardWhole, openLines, seen, told };
};

/** For every person, and as every instance tells it: what should have become of them, and what has. */
async function* everybody({ stage, numbers, notification_id }: Awaited<ReturnType<typeof soak>>) {
  for (const app of stage.apps) {
    const { status, recipients } = await stage.notification(notification_id, app.url);
    for (const [index, number] of numbers.entries()) {
      yield { notification: status, ...fateOf(number), facts: toldAndSeen(stage, number, recipients[index]) };
    }
  }
}

// Concurrent: most of the time they wait for somebody to pick up, or for the end of a message.
it.concurrent(
  'tells everybody once, whichever instance is killed when',
  { timeout },
  async ({ expect, onTestFinished }) => {
    for await (const { notification, status, outcomes, facts } of everybody(await soak(onTestFinished))) {
      const { number, seen, told, ...rest } = facts;
      const heardWhole = outcomes.at(-1) === 'heard' ? 1 : 0;
      expect({ number, notification, ...rest, told }).toEqual({
        number,
        notification: 'completed',
        status,
        heardWhole,
        openLines: 0,
        told: seen,
      });
      // An attempt that was lost with an instance is made up for.
      const known = outcomes.includes('unknown') ? told : told.filter(({ outcome }) => outcome !== 'unknown');
      expect([number, ...known.map(({ outcome }) => outcome)]).toEqual([number, ...outcomes]);
    }
  },
);

it.concurrent(
  'tells everybody, perhaps twice, when the tables are gone for a while in between',
  { timeout },
  async ({ expect, onTestFinished }) => {
    const dataDir = await mkdtemp(join(tmpdir(), 'wildfire-camera-activity-'));
    onTestFinished(async () => rm(dataDir, { recursive: true, force: true }));
    let azurite = await startAzurite({ dataDir });
    const { connectionString, port } = azurite;
    onTestFinished(async () => azurite.stop());
    const people = await soak(onTestFinished, {
      connectionString,
      stop: async () => azurite.stop(),
      start: async () => {
        azurite = await startAzurite({ dataDir, port });
      },
    });
    for await (const { notification, status, outcomes, facts } of everybody(people)) {
      const { number, seen, told, ...rest } = facts;
      const heard = rest.heardWhole > 0;
      expect({ number, notification, ...rest, heardWhole: heard }).toEqual({
        number,
        notification: 'completed',
        status,
        heardWhole: outcomes.at(-1) === 'heard',
        openLines: 0,
      });
      // What is told did happen; but what is unknown may have been anything, and what is cut short may have been heard whole.
      const seenOf = new Map(seen.map(({ id, outcome }) => [id, outcome]));
      const belied = told.filter(({ id = '', outcome }) => {
        const actual = seenOf.get(id);
        return outcome !== actual && outcome !== 'unknown' && !(outcome === 'cut_short' && actual === 'heard');
      });
      expect([number, belied]).toEqual([number, []]);
      if (status === 'not_reached') {
        const known = told.map(({ outcome }) => outcome).filter((outcome) => outcome !== 'unknown');
        expect([number, ...known]).toEqual([number, ...outcomes.filter((outcome) => outcome !== 'unknown')]);
      }
    }
  },
);
